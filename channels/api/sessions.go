package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

const (
	// waitMost is how long a reader may wait for something new.
	waitMost = time.Minute
	// eventsMost is how many events are looked at for one answer, answerBytes how much text it has: no page is begun behind that.
	eventsMost, answerBytes = 1000, 512 << 10
)

// A SessionReader reads what is stored of sessions. ErrNotFound: there is no such session, or message.
type SessionReader interface {
	EventReader
	// SessionInfo is what is known of a session.
	SessionInfo(ctx context.Context, session string) (sessions.Info, error)
	// Sessions lists those that were used last first; next is where the page ends, nil: there are no more.
	Sessions(ctx context.Context, q sessions.Query) (list []sessions.Info, next *sessions.Mark, err error)
	// Posted is what became of the newest message in a conversation whose ID begins so, up to a dot.
	Posted(ctx context.Context, conv channels.Conversation, prefix string) (channels.Receipt, error)
	// Current is the turn that somebody in the session means by "now", with its plans.
	Current(ctx context.Context, session string) (*turns.Turn, error)
	// ForkSession makes the session of conv, which has to be new, with what another has up to the end of a turn.
	// *StateError: it is not new.
	ForkSession(ctx context.Context, from string, turn int64, conv channels.Conversation, person string) error
	// ForgetSession takes all that was said in a session out of the rows. *StateError: a turn of it is open.
	ForgetSession(ctx context.Context, session string, by core.Actor) error
}

// A Changer makes changes and stops turns, by somebody's hand.
type Changer interface {
	Change(ctx context.Context, change core.Change, by core.Actor) error
	Cancel(ctx context.Context, turn int64, by core.Actor) error
}

// A SessionIn names a session in a call's path.
type SessionIn struct {
	ID   string `path:"id" doc:"The session's name, or a whole key, channel:conversation, with the scope admin."`
	User string `query:"user" doc:"On the socket: whose conversation of the terminal."`
}

func (a *API) sessionCalls() {
	a.eventCalls()
	a.watchCall()
	call := callsOf("sessions")
	register(a, call(Read, http.MethodGet, "", "listSessions", "The sessions that the token may read, those that were used last first."), a.listSessions)
	register(a, call(Read, http.MethodGet, "/{id}", "getSession", "What was said in a session after an event, and its newest turn."), a.getSession)
	register(a, call(Messages, http.MethodPatch, "/{id}", "changeSession", "Set title, mode (ask or act) or model. Empty is what the settings say; what is left out stays."), a.changeSession)
	register(a, call(Messages, http.MethodPost, "/{id}/cancel", "cancelSession", "Stop the turn that is worked on. To do it again is harmless."), a.cancelSession)
	register(a, call(Messages, http.MethodPost, "/{id}/reset", "resetSession", "Have the bot forget what was said in the session."), a.resetSession)
	register(a, call(Messages, http.MethodDelete, "/{id}", "deleteSession", "Delete what was said in a session. That there were messages stays in the audit log."), a.deleteSession)
	fork := call(Messages, http.MethodPost, "/{id}/fork", "forkSession", "Begin a new session with what was said up to the end of a turn.")
	fork.Status = http.StatusCreated
	register(a, fork, a.forkSession)
	a.exportCall()
}

// readable refuses who may not read a session. One that a token may not read is to it as one that is not there.
func (a *API) readable(ctx context.Context, c *Caller, at place) (sessions.Info, error) {
	info, err := a.Sessions.SessionInfo(ctx, at.key)
	if err != nil {
		return info, err
	}
	// A name stays its person's when all that was said is deleted: somebody may be reading it still.
	if info.Deleted || !a.mayRead(c, info.Person) {
		return info, fmt.Errorf("session: %w", core.ErrNotFound)
	}
	return info, nil
}

// stillReads refuses to go on with a call that lasts, of a session of that person; empty: it is nobody's yet.
func (a *API) stillReads(ctx context.Context, c *Caller, person string) error {
	if err := c.good(ctx); err != nil || person == "" || a.mayRead(c, person) {
		return err
	}
	return fmt.Errorf("session: %w", core.ErrNotFound)
}

// session finds the session of a call, which its caller may read.
func (a *API) session(ctx context.Context, in *SessionIn) (place, sessions.Info, error) {
	c := CallerOf(ctx)
	at, err := a.place(c, in.ID, in.User)
	if err != nil {
		return at, sessions.Info{}, err
	}
	info, err := a.readable(ctx, c, at)
	return at, info, err
}

// owned finds the session of a call that changes it: its caller speaks for the session's person.
func (a *API) owned(ctx context.Context, in *SessionIn) (place, sessions.Info, error) {
	at, info, err := a.session(ctx, in)
	if err == nil {
		err = a.speaks(CallerOf(ctx), info.Person)
	}
	return at, info, err
}

// actor is who a change is said to be made by: a token in the name of somebody, or whoever runs the program.
func (a *API) actor(c *Caller, person string) core.Actor {
	if c.Local {
		return core.Actor{Person: a.Owner, Rule: audit.RuleMachine}
	}
	return core.Actor{Person: person, Rule: audit.RuleToken + ":" + c.Token}
}

// name is what the caller calls a session of that key.
func (a *API) name(c *Caller, key string) string {
	if own, ok := strings.CutPrefix(key, a.Channel.Name()+":"); ok && !c.Local {
		return own
	}
	return key
}

// sessionInfo is what is known of a session, as the caller calls it.
func (a *API) sessionInfo(ctx context.Context, at place) (*sessions.Info, error) {
	info, err := a.Sessions.SessionInfo(ctx, at.key)
	info.Session = a.name(CallerOf(ctx), info.Session)
	return &info, err
}

type sessionsIn struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" doc:"next of the page before."`
	Text   string `query:"q" maxLength:"200" doc:"Only those with this in the title or a message."`
}

type sessionsOut struct {
	Sessions []sessions.Info `json:"sessions"`
	Next     string          `json:"next,omitempty" doc:"Cursor of the next page; none: this is the last."`
}

func (a *API) listSessions(ctx context.Context, in *sessionsIn) (*sessionsOut, error) {
	c := CallerOf(ctx)
	q := sessions.Query{Channel: a.Channel.Name(), Whose: c.whose(), Text: in.Text, Limit: in.Limit}
	if q.All {
		q.Channel = ""
	}
	var err error
	if q.Before, err = sessions.ReadMark(in.Cursor); err != nil {
		return nil, api.Failed(http.StatusBadRequest, "send next of the page before", "cursor: it is not one of ours")
	}
	list, next, err := a.Sessions.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Session = a.name(c, list[i].Session)
	}
	return &sessionsOut{list, next.Cursor()}, nil
}

type getSessionIn struct {
	SessionIn
	After int64  `query:"after" minimum:"0" doc:"Only messages after this event."`
	Wait  string `query:"wait" doc:"Wait so long for one to come, such as 30s; at most a minute."`
}

// A sessionOut is what was said in a session.
type sessionOut struct {
	Session   string            `json:"session"`
	Title     string            `json:"title"`
	Person    string            `json:"person"`
	Mode      string            `json:"mode,omitempty"`
	Model     string            `json:"model,omitempty"`
	Turn      *turnOut          `json:"turn"`
	Messages  []json.RawMessage `json:"messages"`
	LastEvent int64             `json:"last_event" doc:"Ask for what comes after it; a long session takes several calls."`
}

func (a *API) getSession(ctx context.Context, in *getSessionIn) (*sessionOut, error) {
	at, info, err := a.session(ctx, &in.SessionIn)
	if err != nil {
		return nil, err
	}
	wait, err := time.ParseDuration(cmp.Or(in.Wait, "0s"))
	if err != nil || wait < 0 {
		return nil, api.Failed(http.StatusBadRequest, "", "wait: %.40q is not a time, such as 30s", in.Wait)
	}
	said, last, err := a.messages(ctx, at, min(in.After, info.LastEvent), min(wait, waitMost))
	if err = cmp.Or(err, a.stillReads(ctx, CallerOf(ctx), info.Person)); err != nil {
		return nil, err
	}
	out := &sessionOut{
		Session: a.name(CallerOf(ctx), at.key), Title: info.Title, Person: info.Person, Mode: info.Mode, Model: info.Model, Messages: said, LastEvent: last,
	}
	out.Turn, err = a.currentTurn(ctx, at)
	return out, err
}

// messages lists those after an event, waiting so long for one where there is none. Last is the newest event that was looked at.
func (a *API) messages(ctx context.Context, at place, after int64, wait time.Duration) (list []json.RawMessage, last int64, err error) {
	list, last = []json.RawMessage{}, after
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	events := pager{from: a.Sessions, session: at.key}
	err = at.channel.await(waiting, at.conv, func() (found bool, err error) {
		end := false
		for looked, size := 0, 0; !end && looked < eventsMost && size < answerBytes; {
			var page []channels.SessionEvent
			var bytes int
			if page, bytes, end, err = events.next(context.WithoutCancel(ctx), last); err != nil {
				return false, err
			}
			looked, size = looked+len(page), size+bytes
			for i := range page {
				if last = page[i].N; page[i].Message == nil {
					continue
				}
				view, err := page[i].View()
				if err != nil {
					return false, err
				}
				list = append(list, view)
			}
		}
		return len(list) > 0 || wait == 0 || !end, nil
	})
	return list, last, err
}

type changeSessionIn struct {
	SessionIn
	Body struct {
		Title *string `json:"title,omitempty" maxLength:"60"`
		Mode  *string `json:"mode,omitempty" pattern:"^(ask|act)?$"`
		Model *string `json:"model,omitempty" maxLength:"200" doc:"The alias of a model of the settings."`
	}
}

func (a *API) changeSession(ctx context.Context, in *changeSessionIn) (*sessions.Info, error) {
	at, info, err := a.owned(ctx, &in.SessionIn)
	if err != nil {
		return nil, err
	}
	if m := in.Body.Model; m != nil && *m != "" && !slices.Contains(a.Models(), *m) {
		return nil, api.Failed(http.StatusBadRequest, "name one of [llm.models] in the settings: "+cmp.Or(strings.Join(a.Models(), ", "), "there are none"), "model: there is no %.60q", *m)
	}
	if title := in.Body.Title; title != nil && strings.ContainsRune(*title, 0) {
		return nil, api.Failed(http.StatusBadRequest, "", "title: it has characters that cannot be kept")
	}
	for _, set := range []struct {
		of sessions.Setting
		to *string // nil: it stays
	}{{sessions.Title, in.Body.Title}, {sessions.Mode, in.Body.Mode}, {sessions.Model, in.Body.Model}} {
		if set.to == nil {
			continue
		}
		c := &sessions.Change{Conversation: core.OfSession(at.key), Of: set.of, To: *set.to}
		if err := a.Changer.Change(ctx, c, a.actor(CallerOf(ctx), info.Person)); err != nil {
			return nil, err
		}
	}
	return a.sessionInfo(ctx, at)
}

func (a *API) cancelSession(ctx context.Context, in *SessionIn) (*turnOut, error) {
	at, info, err := a.owned(ctx, in)
	if err != nil {
		return nil, err
	}
	turn, err := a.currentTurn(ctx, at)
	if err != nil || turn == nil || !turns.TurnState(turn.State).Open() {
		return turn, err
	}
	stopErr := a.stop(ctx, turn.ID, info.Person)
	if turn, err = a.currentTurn(ctx, at); stopErr != nil && (err != nil || turn == nil || turns.TurnState(turn.State).Open()) {
		return nil, stopErr // else it ended by itself meanwhile
	}
	return turn, err
}

type resetSessionIn struct {
	SessionIn
	Body *struct { // nil: none
		Level string `json:"level,omitempty" enum:"session,knowledge,all" default:"session" doc:"What is forgotten. More than the session needs the scope admin and is not available in this build."`
	}
}

func (a *API) resetSession(ctx context.Context, in *resetSessionIn) (*api.Receipt, error) {
	c := CallerOf(ctx)
	if in.Body != nil && in.Body.Level != "" && in.Body.Level != "session" {
		if err := c.may(Admin); err != nil {
			return nil, err
		}
		return nil, api.Failed(http.StatusNotImplemented, "", "nothing but the session can be reset in this build")
	}
	at, info, err := a.owned(ctx, &in.SessionIn)
	if err != nil {
		return nil, err
	}
	if at.channel == nil {
		return nil, api.Failed(http.StatusNotImplemented, "write /reset there", "this session is reset in its own chat")
	}
	return a.order(ctx, c, at, info.Person, "/reset")
}

type forkSessionIn struct {
	SessionIn
	Body struct {
		Turn    string `json:"turn" doc:"The last turn that the new session has."`
		Session string `json:"session,omitempty" doc:"Its name; none: one is made."`
	}
}

func (a *API) forkSession(ctx context.Context, in *forkSessionIn) (*sessions.Info, error) {
	at, info, err := a.owned(ctx, &in.SessionIn)
	if err != nil {
		return nil, err
	}
	turn, err := strconv.ParseInt(in.Body.Turn, 10, 64)
	if err != nil || at.channel == nil {
		return nil, api.Failed(http.StatusBadRequest, "GET /v1/sessions/{id} names the turns of a session of this API", "turn: %.40q is no turn of it", in.Body.Turn)
	}
	name := cmp.Or(in.Body.Session, "fork-"+strings.ToLower(rand.Text()[:10]))
	if err := api.CheckSession(name); err != nil {
		return nil, api.Failed(http.StatusBadRequest, "", "%v", err)
	}
	to, err := a.place(CallerOf(ctx), name, info.Person)
	if err != nil {
		return nil, err
	}
	if err := a.Sessions.ForkSession(ctx, at.key, turn, to.conversation(), info.Person); err != nil {
		return nil, err
	}
	return a.sessionInfo(ctx, to)
}

// Done is the answer where there is nothing to say.
type Done struct{}

func (a *API) deleteSession(ctx context.Context, in *SessionIn) (*Done, error) {
	at, info, err := a.owned(ctx, in)
	if err != nil {
		return nil, err
	}
	return &Done{}, a.Sessions.ForgetSession(ctx, at.key, a.actor(CallerOf(ctx), info.Person))
}

// number reads an event's number from a query; -1: it is not there.
func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, api.Failed(http.StatusBadRequest, "", "%s: %.40q is not an event's number", name, text)
	}
	return n, nil
}
