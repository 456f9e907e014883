package discordtest

import (
	"encoding/json"
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

// calls are what bots ask the REST API to do.
type calls struct {
	*events
	nonces   []nonce
	commands []Command
	limits   limits
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
	req := &request{Request: r, open: pattern == Respond}
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
func (s *calls) count(r *Rejection) {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || r.Status == http.StatusTooManyRequests && !r.Shared {
		s.Change(func() { s.limits.invalid++ })
	}
}

// admit checks the token and the limits. It is called under the lock.
func (s *calls) admit(r *request, header http.Header, pattern string) *Rejection {
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

func (s *calls) getApplication(*request) (any, *Rejection) {
	app := s.app
	if !s.forbidden {
		app.Flags |= flagContent
	}
	return app, nil
}

// getGateway tells where the gateway is and how many session starts are left.
//
// Source: https://docs.discord.com/developers/events/gateway#get-gateway-bot.
func (s *calls) getGateway(r *request) (any, *Rejection) {
	g, now := &s.gateway, s.Now()
	g.today(now)
	return map[string]any{
		"url": "ws://" + r.Host + "/gateway", "shards": g.shards,
		"session_start_limit": map[string]any{
			"total": startsADay, "remaining": g.remaining, "reset_after": g.resets.Sub(now).Milliseconds(), "max_concurrency": 1,
		},
	}, nil
}
