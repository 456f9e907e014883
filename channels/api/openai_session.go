package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

// A chatSession is the session that a call means, of which there may be branches.
type chatSession struct {
	place
	name string
	// complete: its calls bring the complete conversation. Else one without earlier messages goes on where the session is.
	complete bool
}

// sessionOf is the session that a call means.
func (a *API) sessionOf(r *http.Request, c *chat, person *core.Person) (chatSession, error) {
	caller, s := CallerOf(r.Context()), chatSession{}
	switch own, theirs := r.Header.Get("X-Session-Id"), r.Header.Get("X-OpenWebUI-Chat-Id"); {
	case own != "":
		if strings.Contains(own, ":") || api.CheckSession(own) != nil {
			return s, api.Failed(http.StatusBadRequest, "", "X-Session-Id: use 1 to 128 letters, digits, dots, underscores or dashes")
		}
		s.name = own
	case theirs != "":
		s.name, s.complete = plainName(theirs), true
	case c.User != "":
		s.name = plainName(c.User)
	default: // chats that begin alike are branches of one
		first := sessions.Line{Text: c.text}
		if len(c.earlier) > 0 {
			first = c.earlier[0]
		}
		s.name, s.complete = "chat-"+digest(caller.Token, person.Name, first.Text), true
	}
	var err error
	s.place, err = a.place(caller, s.name, person.Name)
	return s, err
}

// plainName is a name for a session that somebody else named.
func plainName(name string) string {
	if api.CheckSession(name) == nil {
		return name
	}
	return "chat-" + digest(name)
}

// branch is a session beside s for a call.
func (a *API) branch(r *http.Request, s chatSession, person *core.Person, key []byte, generation int64) (chatSession, error) {
	s.name = fmt.Sprintf("%.100s.%.12s", s.name, digest(string(key), generation))
	var err error
	s.place, err = a.place(CallerOf(r.Context()), s.name, person.Name)
	return s, err
}

// opening finds where a call is answered that is a new one: in the session or a branch of it where the earlier messages are the same,
// else in a new branch that begins with what is the same in one of them.
func (a *API) opening(r *http.Request, c *chat, s chatSession, person *core.Person, generation int64) (*sessions.Opening, error) {
	o := &sessions.Opening{Key: c.key, Person: person.Name, Instructions: c.system}
	in := func(s chatSession) *sessions.Opening {
		o.Conversation = s.conversation()
		return o
	}
	list, err := a.Chats.Branches(r.Context(), s.key)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		o.Lines = c.earlier
		return in(s), nil
	}
	if who := list[0].Person; who != "" && who != person.Name {
		return nil, sessions.ErrTaken
	}
	asked, most := exchanges(c.earlier), 0
	for _, b := range list {
		ours := exchanges(b.Lines)
		n, same := common(asked, ours)
		if same && (len(asked) > 0 || len(ours) == 0 || !s.complete) && b.Person == person.Name {
			o.Conversation = placeOf(s.channel, b.Conversation).conversation()
			return o, nil
		}
		if n > most && b.Person == person.Name {
			most, o.From, o.Upto = n, placeOf(s.channel, b.Conversation).key, ours[n-1].last
		}
	}
	for _, e := range asked[most:] {
		o.Lines = append(o.Lines, e.lines...)
	}
	o.Of = s.key
	branch, err := a.branch(r, s, person, c.key, generation)
	return in(branch), err
}

// An exchange is a message with what it was answered; what stands before the first message is one, too.
type exchange struct {
	asked string // empty: none
	said  []string
	last  int64 // message
	lines []sessions.Line
}

// exchanges are those of a conversation. How space is written makes no difference, nor do thoughts.
func exchanges(lines []sessions.Line) (list []exchange) {
	for _, line := range lines {
		text := strings.Join(strings.Fields(thoughts.ReplaceAllString(line.Text, "")), " ")
		if len(list) == 0 || !line.Out {
			list = append(list, exchange{})
		}
		e := &list[len(list)-1]
		if e.last, e.lines = line.ID, append(e.lines, line); !line.Out {
			e.asked = text
		} else if text != "" {
			e.said = append(e.said, text)
		}
	}
	return list
}

// is says that an exchange of a client's is one of ours. We may have said more: to somebody who was not listening any more, or by
// ourselves.
func (e *exchange) is(ours *exchange) bool {
	if e.asked != ours.asked {
		return false
	}
	rest := strings.Join(e.said, " ")
	for _, said := range ours.said {
		if rest != "" && strings.HasPrefix(said, rest) {
			return true
		}
		rest = strings.TrimSpace(strings.TrimPrefix(rest, said))
	}
	return rest == ""
}

// common says with how many exchanges of ours a client's begins; same: its are the last of ours, all of them.
func common(asked, ours []exchange) (n int, same bool) {
	at := func(skip int) (n int) {
		for n < min(len(asked), len(ours)-skip) && asked[n].is(&ours[n+skip]) {
			n++
		}
		return n
	}
	if skip := len(ours) - len(asked); skip >= 0 && at(skip) == len(asked) {
		return len(asked), true
	}
	return at(0), false
}

// retried says that the client sends a call once more by itself, as the official clients of OpenAI say: all of an answer may be on its way
// and get lost.
//
// Source: X-Stainless-Retry-Count in src/client.ts of github.com/openai/openai-node, and in _base_client.py of openai-python.
func retried(r *http.Request) bool {
	n, err := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count"))
	return err == nil && n > 0
}

// openCall finds the call that is repeated, or begins a new one.
func (a *API) openCall(r *http.Request, c *chat, s chatSession, person *core.Person) (call *sessions.ChatCall, repeated bool, err error) {
	ctx, next := r.Context(), int64(0)
	was, err := a.Chats.ChatCall(ctx, c.key)
	if was != nil && retried(r) { // whatever was sent, its client says that it did not come
		was.Heard = false
	}
	if err != nil || was != nil && was.GoesOn() {
		return was, true, err
	}
	if was != nil {
		next = was.Generation + 1
	}
	o, err := a.opening(r, c, s, person, next)
	if err != nil {
		return nil, false, err
	}
	call, err = a.Chats.OpenChat(ctx, o)
	return call, false, err
}

// postChat hands the new message of a call in; of one that was taken already it finds what became of it.
func (a *API) postChat(ctx context.Context, c *chat, at place, person *core.Person, call *sessions.ChatCall, repeated bool) (*api.Receipt, error) {
	posted := digest(string(c.key), call.Generation)
	event := at.message(CallerOf(ctx).as(person.Name), c.text, posted+"."+rand.Text(), "chat:"+posted)
	first := func() (*api.Receipt, error) {
		got, err := a.Sessions.Posted(ctx, event.Conversation, posted)
		return receiptFor(&event, got), err
	}
	if repeated {
		if receipt, err := first(); !errors.Is(err, core.ErrNotFound) { // else it was cut off before
			return receipt, err
		}
	}
	var err error
	if event.Message.Attachments, err = a.pictures(ctx, c); err != nil {
		return nil, err
	}
	receipt, err := a.accept(ctx, at, event, posted)
	if err == nil && receipt.Duplicate {
		return first()
	}
	return receipt, err
}
