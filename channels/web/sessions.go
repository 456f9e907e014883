package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/router/core"
	"switchboard/router/sessions"
)

// listMost is how many sessions the list shows at once.
const listMost = 50

// A sessionList is the list on the left.
type sessionList struct {
	Query string
	Rows  []sessionRow
	More  string // address of the next page; empty: this is the last
	Here  string // the session that is open
}

// A sessionRow is a session in it.
type sessionRow struct {
	sessions.Info
	Channel string
	Pinned  bool
	Unread  bool
	Here    bool
	Ours    bool // it is of this channel, so that it can be written in
}

func (s *Site) sessionPages() {
	s.forAll("GET /sessions", s.sessions)
	s.inOurs("POST /c/{key}/title", s.set(sessions.Title, "title"))
	s.inOurs("POST /c/{key}/mode", s.set(sessions.Mode, "mode"))
	s.inOurs("POST /c/{key}/model", s.set(sessions.Model, "model"))
	s.forAll("POST /c/{key}/pin", s.pin)
	s.forAll("POST /c/{key}/seen", s.seen)
	s.onlyAdmins("POST /c/{key}/read", s.look)
	s.inOurs("POST /c/{key}/delete", s.delete)
}

// sessionList is a page of the list of the visitor's sessions; here is the one that is open.
func (s *Site) sessionList(r *http.Request, q sessions.Query, here string) (*sessionList, error) {
	person := visitorOf(r).person.Name
	q.People, q.Limit = []string{person}, listMost
	list, next, err := s.Chats.Sessions(r.Context(), q)
	if err != nil {
		return nil, err
	}
	out := &sessionList{Query: q.Text, Here: here}
	keys := []string{}
	for i := range list {
		keys = append(keys, list[i].Session)
	}
	readings, err := s.Chats.Readings(r.Context(), person, keys)
	if err != nil {
		return nil, err
	}
	pinned := 0 // they come first
	for _, info := range list {
		channel, _, _ := strings.Cut(info.Session, ":")
		reading, ours := readings[info.Session], channel == s.Channel.Name()
		row := sessionRow{info, channel, reading.Pinned, ours && info.LastEvent > reading.Event, info.Session == here, ours}
		if row.Pinned {
			out.Rows, pinned = slices.Insert(out.Rows, pinned, row), pinned+1
		} else {
			out.Rows = append(out.Rows, row)
		}
	}
	if next != nil {
		out.More = s.url("/sessions?" + url.Values{"q": {q.Text}, "before": {next.Cursor()}}.Encode())
	}
	return out, nil
}

// sessions answers with the list, or its next page.
func (s *Site) sessions(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	before, err := sessions.ReadMark(query.Get("before"))
	if err != nil {
		return wrong("The address is not right. Load the page again.")
	}
	return s.rows(w, r, sessions.Query{Text: query.Get("q"), Before: before}, query.Get("here"))
}

// rows answers with the rows of the list.
func (s *Site) rows(w http.ResponseWriter, r *http.Request, q sessions.Query, here string) error {
	list, err := s.sessionList(r, q, here)
	if err != nil {
		return err
	}
	return s.part(w, r, "session-rows", list)
}

// lookFor is how long an admin may read what somebody else said, once they said that they want to.
const lookFor = time.Hour

// looks are the sessions of others that admins read. The zero value has none.
type looks struct {
	mu    sync.Mutex
	until map[look]time.Time
}

// A look is a session, and the browser in which it is read.
type look struct {
	browser int64
	session string
}

// begin lets a browser read a session for a while.
func (l *looks) begin(browser int64, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.until, func(_ look, until time.Time) bool { return now.After(until) })
	if l.until == nil {
		l.until = map[look]time.Time{}
	}
	l.until[look{browser, session}] = now.Add(lookFor)
}

func (l *looks) may(browser int64, session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until[look{browser, session}])
}

// errAsk says that an admin has to say first that they want to read what somebody else said.
var errAsk = fmt.Errorf("somebody else's: %w", core.ErrNotFound)

// look lets an admin read what somebody else said, which is noted in the audit log.
func (s *Site) look(w http.ResponseWriter, r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	info, err := s.Chats.SessionInfo(r.Context(), session)
	if err == nil {
		err = s.Changer.Change(r.Context(), &sessions.Look{Session: info.Session, Person: info.Person}, v.actor())
	}
	if err != nil {
		return err
	}
	s.looks.begin(v.browser.ID, info.Session)
	http.Redirect(w, r, s.chatURL(session), http.StatusSeeOther)
	return nil
}

// mine is a session that somebody may read: theirs, and to admins who said so that of others. To others it is as one that is not there.
func (s *Site) mine(ctx context.Context, v *visitor, session string) (sessions.Info, error) {
	info, err := s.Chats.SessionInfo(ctx, session)
	if err != nil {
		return info, err
	}
	switch {
	case info.Person == v.person.Name, v.admin() && s.looks.may(v.browser.ID, info.Session):
		return info, nil
	case v.admin():
		return info, errAsk
	}
	return info, core.ErrNotFound
}

// own says that a session is one of somebody's on this channel.
func (s *Site) own(v *visitor, session string) bool {
	return strings.HasPrefix(session, s.Channel.Name()+":"+v.person.Name+"/")
}

// inOurs adds a page of the sessions that its visitor may write in here.
func (s *Site) inOurs(pattern string, page handler) {
	s.forAll(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := s.ours(r); err != nil {
			return err
		}
		return page(w, r)
	})
}

// ours says why the visitor may not write here in the session of a call.
func (s *Site) ours(r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	_, err := s.mine(r.Context(), v, session)
	if err == nil && !s.own(v, session) {
		err = core.ErrNotFound
	}
	return err
}

// set answers a change of what a session has of its own.
func (s *Site) set(of sessions.Setting, field string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, session := visitorOf(r), r.PathValue("key")
		to := strings.TrimSpace(r.PostFormValue(field))
		err := s.settable(of, to)
		if err == nil {
			err = s.Changer.Change(r.Context(), &sessions.Change{Conversation: core.OfSession(session), Of: of, To: to}, v.actor())
		}
		return s.changedList(w, r, session, err)
	}
}

// settable says why a session cannot have that of its own; nil: it can.
func (s *Site) settable(of sessions.Setting, to string) error {
	if of == sessions.Title && len([]rune(to)) > 60 {
		return &core.StateError{Sentence: "A name has 60 characters at most."}
	}
	if of == sessions.Mode && to != "" && to != sessions.ModeAsk && to != sessions.ModeAct || of == sessions.Model && to != "" && !slices.Contains(s.Models(), to) {
		return core.ErrNotFound
	}
	return nil
}

// changedList answers what changed the list with the list.
func (s *Site) changedList(w http.ResponseWriter, r *http.Request, here string, err error) error {
	switch {
	case err != nil:
		return err
	case isPart(r):
		return s.rows(w, r, sessions.Query{}, here)
	}
	http.Redirect(w, r, s.chatURL(here), http.StatusSeeOther)
	return nil
}

func (s *Site) pin(w http.ResponseWriter, r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	_, err := s.mine(r.Context(), v, session)
	if err == nil {
		err = s.Chats.Pin(r.Context(), v.person.Name, session, r.PostFormValue("pinned") != "")
	}
	return s.changedList(w, r, session, err)
}

// seen notes how far a session was read.
func (s *Site) seen(w http.ResponseWriter, r *http.Request) error {
	v, session := visitorOf(r), r.PathValue("key")
	info, err := s.mine(r.Context(), v, session)
	if err == nil {
		err = s.Chats.Seen(r.Context(), v.person.Name, session, info.LastEvent)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Site) delete(w http.ResponseWriter, r *http.Request) error {
	return s.led(w, r, "/", s.Chats.ForgetSession(r.Context(), r.PathValue("key"), visitorOf(r).actor()))
}

// lead has the browser open another page.
func (s *Site) lead(w http.ResponseWriter, r *http.Request, path string) {
	if isPart(r) {
		w.Header().Set("HX-Redirect", s.url(path))
		w.WriteHeader(http.StatusOK)
		return
	}
	http.Redirect(w, r, s.url(path), http.StatusSeeOther)
}
