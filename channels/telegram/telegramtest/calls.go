package telegramtest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"switchboard/channels/platformtest"
)

// A method carries a call out, under the lock. Its result counts unless it rejects the
// call in p, and then it has no effect.
type method func(s *calls, b *Bot, p *params) any

// methods are all that the platform knows, in lower case: it does not tell cases
// apart.
var methods = map[string]method{
	"getme":  (*calls).getMe,
	"logout": (*calls).logOut,
	"close":  (*calls).logOut,

	"setwebhook":     (*calls).setWebhook,
	"deletewebhook":  (*calls).deleteWebhook,
	"getwebhookinfo": (*calls).getWebhookInfo,

	"sendmessage":         (*calls).sendMessage,
	"sendmessagedraft":    (*calls).sendMessageDraft,
	"sendchataction":      (*calls).sendChatAction,
	"setmessagereaction":  (*calls).setMessageReaction,
	"answercallbackquery": (*calls).answerCallbackQuery,

	"editmessagetext":        (*calls).editMessageText,
	"editmessagecaption":     (*calls).editMessageCaption,
	"editmessagereplymarkup": (*calls).editMessageReplyMarkup,
	"deletemessage":          (*calls).deleteMessage,
	"deletemessages":         (*calls).deleteMessages,

	"senddocument":   sendFile("document"),
	"sendphoto":      sendFile("photo"),
	"sendaudio":      sendFile("audio"),
	"sendvideo":      sendFile("video"),
	"sendvoice":      sendFile("voice"),
	"sendmediagroup": (*calls).sendMediaGroup,
	"getfile":        (*calls).getFile,

	"setmycommands":    (*calls).setMyCommands,
	"getmycommands":    (*calls).getMyCommands,
	"deletemycommands": (*calls).deleteMyCommands,

	"getchat":       (*calls).getChat,
	"getchatmember": (*calls).getChatMember,
	"leavechat":     (*calls).leaveChat,
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
	call := Call{Method: name, Values: maps.Clone(p.values)}
	for _, field := range slices.Sorted(maps.Keys(p.files)) {
		call.Files = append(call.Files, p.files[field].name)
	}
	s.Lock()
	b := s.byToken(token)
	s.Unlock()
	switch {
	case !ok:
		call.Rejected = notFound("Not Found")
	case isRejection:
		call.Rejected = rejected
	case b == nil:
		call.Rejected = unauthorized()
	}
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		answer, rejected := s.carryOut(r, b, strings.ToLower(name), p)
		if rejected != nil {
			return nil, rejected
		}
		return answer, nil
	})
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
	s.Lock()
	defer s.Unlock()
	result := do(s.calls, b, p)
	if p.wrong != nil {
		return nil, p.wrong
	}
	s.Wake()
	return success(result), nil
}
