package telegramtest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Call is one request of a bot that reached the platform.
type Call struct {
	Bot      int64 // the bot's ID; 0 when the token is no bot's
	Method   string
	Values   map[string]string
	Files    []string // names of the uploaded files
	At       time.Time
	Rejected *Rejection // why it was not carried out; nil when it was
	Fault    bool       // a Fault met it
}

// A method carries a call out, under the lock. Its result counts unless it rejects the
// call in p, and then it has no effect.
type method func(s *Server, b *Bot, p *params) any

// methods are all that the platform knows, in lower case: it does not tell cases
// apart.
var methods = map[string]method{
	"getme":  (*Server).getMe,
	"logout": (*Server).logOut,
	"close":  (*Server).logOut,

	"setwebhook":     (*Server).setWebhook,
	"deletewebhook":  (*Server).deleteWebhook,
	"getwebhookinfo": (*Server).getWebhookInfo,

	"sendmessage":         (*Server).sendMessage,
	"sendmessagedraft":    (*Server).sendMessageDraft,
	"sendchataction":      (*Server).sendChatAction,
	"setmessagereaction":  (*Server).setMessageReaction,
	"answercallbackquery": (*Server).answerCallbackQuery,

	"editmessagetext":        (*Server).editMessageText,
	"editmessagecaption":     (*Server).editMessageCaption,
	"editmessagereplymarkup": (*Server).editMessageReplyMarkup,
	"deletemessage":          (*Server).deleteMessage,
	"deletemessages":         (*Server).deleteMessages,

	"senddocument":   sendFile("document"),
	"sendphoto":      sendFile("photo"),
	"sendaudio":      sendFile("audio"),
	"sendvideo":      sendFile("video"),
	"sendvoice":      sendFile("voice"),
	"sendmediagroup": (*Server).sendMediaGroup,
	"getfile":        (*Server).getFile,

	"setmycommands":    (*Server).setMyCommands,
	"getmycommands":    (*Server).getMyCommands,
	"deletemycommands": (*Server).deleteMyCommands,

	"getchat":       (*Server).getChat,
	"getchatmember": (*Server).getChatMember,
	"leavechat":     (*Server).leaveChat,
}

// serveCall serves /bot<token>/<method>.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	token, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	p, err := parse(r)
	rejected, isRejection := errors.AsType[*Rejection](err)
	if err != nil && !isRejection {
		panic(http.ErrAbortHandler) // the caller went away in the middle
	}
	if p == nil {
		p = &params{}
	}
	call := Call{Method: name, Values: maps.Clone(p.values), At: s.time(), Rejected: rejected}
	for _, field := range slices.Sorted(maps.Keys(p.files)) {
		call.Files = append(call.Files, p.files[field].name)
	}
	if !ok {
		call.Rejected = notFound("Not Found")
	}
	s.mu.Lock()
	b := s.byToken(token)
	if b != nil {
		call.Bot = b.User.ID
	} else if call.Rejected == nil {
		call.Rejected = unauthorized()
	}
	fault := s.meet(call)
	call.Fault = fault != nil
	s.calls = append(s.calls, call)
	at := len(s.calls) - 1
	s.wake()
	s.mu.Unlock()
	if !fault.before(w, r) {
		return
	}
	var answer []byte
	code := http.StatusOK
	if call.Rejected == nil {
		answer, call.Rejected = s.carryOut(r, b, strings.ToLower(name), p)
	}
	if call.Rejected != nil {
		answer, code = call.Rejected.encode(), call.Rejected.Code
		w.Header().Set("X-Rejected-By", call.Rejected.Page)
	}
	s.change(func() { s.calls[at].Rejected = call.Rejected })
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // an empty answer would be one
	}
	w.Header().Set("Content-Type", "application/json")
	fault.answer(w, r, code, answer)
}

// carryOut returns the encoded answer, or why there is none.
func (s *Server) carryOut(r *http.Request, b *Bot, name string, p *params) ([]byte, *Rejection) {
	if name == "getupdates" {
		updates, rejected := s.getUpdates(r.Context(), b, p)
		if rejected != nil {
			return nil, rejected
		}
		return slices.Concat([]byte(`{"ok":true,"result":[`), joined(updates), []byte(`]}`)), nil
	}
	do := methods[name]
	if do == nil {
		return nil, notFound("Not Found: method not found")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result := do(s, b, p)
	if p.wrong != nil {
		return nil, p.wrong
	}
	s.wake()
	return success(result), nil
}

func notFound(description string) *Rejection {
	return &Rejection{Code: http.StatusNotFound, Description: description, Page: docs + "#making-requests"}
}

// success is encoded under the lock, for what it holds may change.
func success(result any) []byte {
	data, err := json.Marshal(map[string]any{"ok": true, "result": result})
	if err != nil {
		panic(err) // only our own types come here
	}
	return data
}

func (r *Rejection) encode() []byte {
	answer := map[string]any{"ok": false, "error_code": r.Code, "description": r.Description}
	if r.RetryAfter > 0 {
		answer["parameters"] = map[string]any{"retry_after": r.RetryAfter}
	}
	if r.MigrateTo != 0 {
		answer["parameters"] = map[string]any{"migrate_to_chat_id": r.MigrateTo}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return data
}

// Calls are the calls of these methods that reached the platform, in the order they
// came; without a method, all.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool {
		return len(methods) > 0 && !slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, c.Method) })
	})
}

// Int is a parameter as a number; 0 when it is none.
func (c Call) Int(name string) int64 {
	n, _ := strconv.ParseInt(c.Values[name], 10, 64)
	return n
}
