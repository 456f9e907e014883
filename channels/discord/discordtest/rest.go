package discordtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"switchboard/channels/platformtest"
)

// The routes that faults and calls are named by.
const (
	GetGateway     = "GET /gateway/bot"
	GetMe          = "GET /users/@me"
	GetApplication = "GET /applications/@me"
	OpenDirect     = "POST /users/@me/channels"
	GetChannel     = "GET /channels/{channel}"
	GetMessages    = "GET /channels/{channel}/messages"
	GetMessage     = "GET /channels/{channel}/messages/{message}"
	CreateMessage  = "POST /channels/{channel}/messages"
	EditMessage    = "PATCH /channels/{channel}/messages/{message}"
	DeleteMessage  = "DELETE /channels/{channel}/messages/{message}"
	Typing         = "POST /channels/{channel}/typing"
	PutReaction    = "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me"
	DeleteReaction = "DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me"
	StartThread    = "POST /channels/{channel}/messages/{message}/threads"
	Respond        = "POST /interactions/{interaction}/{token}/callback"
	GetCommands    = "GET /applications/{application}/commands"
	CreateCommand  = "POST /applications/{application}/commands"
	DeleteCommand  = "DELETE /applications/{application}/commands/{command}"
)

// A request is one call, read.
type request struct {
	*http.Request
	s       *Server
	payload []byte // JSON
	files   []platformtest.File
	open    bool // it needs no token
}

// routes are what the REST API does. The functions are called under the lock.
func (s *Server) routes() {
	for pattern, carryOut := range map[string]func(*request) (any, *Rejection){
		GetGateway:     s.getGateway,
		GetMe:          func(*request) (any, *Rejection) { return s.bot, nil },
		GetApplication: s.getApplication,
		OpenDirect:     s.openDirect,
		GetChannel:     s.getChannel,
		GetMessages:    s.getMessages,
		GetMessage:     s.getMessage,
		CreateMessage:  s.createMessage,
		EditMessage:    s.editMessage,
		DeleteMessage:  s.deleteMessage,
		Typing:         s.typing,
		PutReaction:    func(r *request) (any, *Rejection) { return s.react(r, true) },
		DeleteReaction: func(r *request) (any, *Rejection) { return s.react(r, false) },
		StartThread:    s.startThread,
		Respond:        s.respond,
		GetCommands:    func(*request) (any, *Rejection) { return append([]Command{}, s.commands...), nil },
		CreateCommand:  s.createCommand,
		DeleteCommand:  s.deleteCommand,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		s.mux.HandleFunc(method+" /api/v10"+path, func(w http.ResponseWriter, r *http.Request) { s.call(w, r, pattern, carryOut) })
	}
	s.mux.HandleFunc("GET /attachments/{channel}/{id}/{name}", s.serveFile)
	s.mux.HandleFunc("GET /gateway", s.serveGateway)
	s.mux.HandleFunc("GET /gateway-resume", s.serveGateway)
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		status, body := (&Rejection{Status: http.StatusNotFound, Message: "404: Not Found"}).Encode(w.Header())
		w.WriteHeader(status)
		_, _ = w.Write(body)
	})
}

// call reads a request, carries it out and answers.
func (s *Server) call(w http.ResponseWriter, r *http.Request, pattern string, carryOut func(*request) (any, *Rejection)) {
	req := &request{Request: r, s: s, open: pattern == Respond}
	call := Call{Method: pattern, Values: map[string]string{}}
	for _, name := range []string{"channel", "message", "emoji", "interaction", "command"} {
		if v := r.PathValue(name); v != "" {
			call.Values[name] = v
		}
	}
	refused := req.read()
	if refused == nil {
		s.Change(func() { refused = s.admit(req, w.Header(), pattern) })
	}
	call.Values["body"] = string(req.payload)
	for _, f := range req.files {
		call.Files = append(call.Files, f.Name)
	}
	if refused != nil {
		call.Rejected = refused
	}
	s.Answer(w, r, call, func() (answer []byte, _ platformtest.Rejection) {
		var result any
		s.Change(func() { result, refused = carryOut(req) })
		if refused != nil {
			s.count(refused)
			return nil, refused
		}
		if result != nil {
			answer, _ = json.Marshal(result) // it always can be
		}
		return answer, nil
	})
}

// count counts what the platform counts as an invalid request.
func (s *Server) count(r *Rejection) {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || r.Status == http.StatusTooManyRequests && !r.Shared {
		s.Change(func() { s.limits.invalid++ })
	}
}

// admit checks the token and the limits. It is called under the lock.
func (s *Server) admit(r *request, header http.Header, pattern string) *Rejection {
	if r.open {
		return nil
	}
	if r.Header.Get("Authorization") != "Bot "+s.token {
		s.limits.invalid++
		return Unauthorized
	}
	refused := s.limit(header, pattern, r.PathValue("channel"))
	if refused != nil {
		s.limits.invalid++
	}
	return refused
}

// mostBody is the most that one request may hold, in bytes; a file has 10 MiB.
//
// Source: https://docs.discord.com/developers/reference#uploading-files.
const (
	mostBody = 120 << 20
	mostFile = 10 << 20
)

// read reads the body: JSON, or a form with files and the JSON in payload_json.
func (r *request) read() *Rejection {
	if r.Body == nil || r.Method == http.MethodGet {
		return nil
	}
	body := io.LimitReader(r.Body, mostBody+1)
	typ, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if typ != "multipart/form-data" {
		data, err := io.ReadAll(body)
		switch {
		case err != nil:
			return &Rejection{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
		case len(data) > 0 && typ != "application/json":
			return invalid("Content-Type must be application/json or multipart/form-data")
		case len(data) > 0 && !json.Valid(data):
			return &Rejection{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
		}
		r.payload = data
		return nil
	}
	return r.readForm(body, params["boundary"])
}

// decode reads the JSON of the request.
func (r *request) decode(into any) *Rejection {
	if err := json.Unmarshal(r.payload, into); err != nil {
		field := "body"
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			field = wrong.Field
		}
		return invalid(field + " is of the wrong type")
	}
	return nil
}

func (s *Server) getApplication(*request) (any, *Rejection) {
	app := s.app
	if !s.forbidden {
		app.Flags |= flagContent
	}
	return app, nil
}
