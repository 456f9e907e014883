package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

const (
	// maxContent bounds a message, in bytes, maxMetadata what is sent along.
	maxContent  = 64 << 10
	maxMetadata = 4 << 10
)

// messageIn is a call of POST /v1/messages.
type messageIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"Makes a repeated call harmless for 24 hours. The same key with another body is a conflict."`
	Body messageBody
}

type messageBody struct {
	Session     string          `json:"session" minLength:"1" doc:"Which conversation: 1 to 128 letters, digits, dots, underscores or dashes."`
	User        string          `json:"user" minLength:"1" maxLength:"256" doc:"Who writes: a person's name or identity."`
	Content     string          `json:"content" doc:"What they write, at most 64 KB."`
	Attachments []string        `json:"attachments,omitempty" maxItems:"10" doc:"IDs of uploads."`
	Webhook     string          `json:"webhook,omitempty" doc:"Not available in this build."`
	Metadata    json.RawMessage `json:"metadata,omitempty" doc:"Up to 4 KB of JSON that come back with the message and that no model reads."`
}

func (a *API) messageCalls() {
	register(a, Call{
		Scope: Messages, Method: http.MethodPost, Path: api.MessagesPath, ID: "postMessage", Tag: "messages", Status: http.StatusAccepted,
		Summary: "Write to the bot. The answer comes when the message is stored; what the bot says comes with the session's events.",
	}, a.post)
}

// post takes a message in.
func (a *API) post(ctx context.Context, in *messageIn) (*api.Receipt, error) {
	c, body := CallerOf(ctx), &in.Body
	switch {
	case body.Webhook != "":
		return nil, api.Failed(http.StatusNotImplemented, "read the session's events instead", "webhooks are not available in this build")
	case len(body.Content) > maxContent && !c.Local:
		return nil, tooLong()
	case strings.TrimSpace(body.Content) == "" && len(body.Attachments) == 0:
		return nil, api.Failed(http.StatusBadRequest, "", "content: the message is empty")
	case len(body.Metadata) > maxMetadata:
		return nil, api.Failed(http.StatusRequestEntityTooLarge, "", "metadata: it is longer than %d KB", maxMetadata>>10)
	case !utf8.Valid(body.Metadata):
		return nil, api.Failed(http.StatusBadRequest, "", "metadata: it is not valid UTF-8")
	case strings.ContainsRune(body.Content, 0) && !c.Local: // a terminal is told by the receipt
		return nil, api.Failed(http.StatusBadRequest, "", "content: it has characters that cannot be kept")
	}
	at, err := a.place(c, body.Session, body.User)
	if err != nil {
		return nil, err
	}
	if at.channel == nil || strings.Contains(body.Session, ":") {
		return nil, api.Failed(http.StatusBadRequest, "POST /v1/channels/{name}/send says something there", "session: messages are written in sessions of this API alone")
	}
	key := cmp.Or(in.Key, rand.Text())
	posted := digest(c.Token, key, body) // another body has another one
	event := at.message(c.as(body.User), body.Content, key, at.key+":"+key)
	event.Message.Metadata = body.Metadata
	if !c.Local { // the dot ends it, and a key that is used again after a day is another message
		event.Message.ID = channels.MessageID(posted + "." + rand.Text())
		// Neither a token's length nor a colon in it can make two messages one: the digest has a fixed length.
		event.Key = channels.EventKey("token:" + digest(c.Token, key))
		if event.Sender, err = a.sender(c, body.User); err != nil {
			return nil, err
		}
	}
	uploads, err := a.uploads(ctx, c, body.Attachments)
	if err != nil {
		return nil, err
	}
	for _, f := range uploads {
		event.Message.Attachments = append(event.Message.Attachments, attached(&f.Attachment))
	}
	return a.accept(ctx, at, event, posted)
}

// digest is a short name of values, which no others have.
func digest(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // they are strings and bodies of calls
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// sender is who a token writes for. Whom it may not speak for is a stranger: the answer is the same, and nothing is done.
func (a *API) sender(c *Caller, user string) (channels.Sender, error) {
	s := channels.Sender{ID: c.Token, Label: user, Token: c.Token}
	p := a.who(c, user)
	switch {
	case p == nil && len(c.People) > 0:
		return s, a.otherPerson(c, user)
	case p == nil:
		s.ID += "/" + user
	default:
		s.Person = p.Name
	}
	return s, nil
}

// otherPerson says that the caller may not speak for somebody, and for whom it may.
func (a *API) otherPerson(c *Caller, user string) error {
	hint := ""
	if len(c.People) > 0 {
		hint = "it may speak for: " + strings.Join(c.People, ", ")
	}
	return api.Failed(http.StatusForbidden, hint, "the token %q may not speak for %.100q", c.Token, user)
}

// speaks refuses a caller who may not speak for a person.
func (a *API) speaks(c *Caller, person string) error {
	if c.SpeaksFor(a.People.Named(person)) {
		return nil
	}
	return a.otherPerson(c, person)
}

// order gives a command in a session, in the name of its person.
func (a *API) order(ctx context.Context, c *Caller, at place, person, command string) (*api.Receipt, error) {
	key := rand.Text()
	return a.accept(ctx, at, at.message(c.as(person), command, key, at.key+":"+key), key)
}

// accept hands a message in.
func (a *API) accept(ctx context.Context, at place, event channels.Event, posted string) (*api.Receipt, error) {
	got, err := at.channel.Accept(ctx, event)
	if err != nil {
		if _, ok := errors.AsType[*api.Failure](err); ok {
			return nil, err
		}
		a.Log.ErrorContext(ctx, "message not accepted", "session", at.key, "request_id", requestID(ctx), "error", err)
		status := http.StatusServiceUnavailable
		if event.Sender.Token == "" { // a terminal takes that for an engine which starts or ends
			status = http.StatusInternalServerError
		}
		return nil, api.Failed(status, "try again with the same Idempotency-Key", "the message could not be stored")
	}
	if got.Taken {
		return nil, sessions.ErrTaken
	}
	token := event.Sender.Token != ""
	if token && (got.Duplicate || got.Busy != "") {
		first, err := a.Sessions.Posted(ctx, event.Conversation, posted)
		switch {
		case err == nil:
			first.Silent = event.Sender.Person == ""
			return receiptFor(&event, first), nil
		case !errors.Is(err, core.ErrNotFound):
			return nil, err
		case got.Duplicate:
			return nil, api.Failed(http.StatusConflict, "use a new key for a new message", "this Idempotency-Key was used for another message")
		}
		f := api.Failed(http.StatusTooManyRequests, "try again in a moment, with the same Idempotency-Key", "%s", got.Busy)
		f.Err.RetryAfter = 3 * time.Second
		return nil, f
	}
	answer := receiptFor(&event, got)
	if !token {
		_, answer.Session, _ = strings.Cut(string(at.conv), "/")
	}
	return answer, nil
}

// receiptFor is what a caller is told. Of whom nobody serves it looks as where somebody is served.
func receiptFor(event *channels.Event, got channels.Receipt) *api.Receipt {
	r := &api.Receipt{
		MessageID: got.MessageID, Session: string(event.Conversation.ID), TurnID: got.TurnID, Event: got.Event, Duplicate: got.Duplicate, Rejected: got.Rejected,
	}
	if event.Sender.Token != "" && got.Silent && r.TurnID == 0 {
		r.Event = 1
		if text := event.Message.Text; !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "/tool ") { // no turn answers another command
			r.TurnID = got.MessageID/2 + 1
		}
	}
	return r
}
