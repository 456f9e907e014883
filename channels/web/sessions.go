package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
	s.mux.HandleFunc("GET /sessions", s.signedIn(s.sessions))
	s.mux.HandleFunc("POST /c/{key}/title", s.signedIn(s.set(sessions.Title, "title")))
	s.mux.HandleFunc("POST /c/{key}/mode", s.signedIn(s.set(sessions.Mode, "mode")))
	s.mux.HandleFunc("POST /c/{key}/model", s.signedIn(s.set(sessions.Model, "model")))
	s.mux.HandleFunc("POST /c/{key}/pin", s.signedIn(s.pin))
	s.mux.HandleFunc("POST /c/{key}/seen", s.signedIn(s.seen))
	s.mux.HandleFunc("POST /c/{key}/read", s.forAdmins(s.look))
	s.mux.HandleFunc("POST /c/{key}/delete", s.signedIn(s.delete))
}

// sessionList is the list of somebody's sessions.
func (s *Site) sessionList(ctx context.Context, v *visitor, query string) (*sessionList, error) {
	return s.sessionPage(ctx, v, sessions.Query{Text: query})
}

func (s *Site) sessionPage(ctx context.Context, v *visitor, q sessions.Query) (*sessionList, error) {
	q.People, q.Limit = []string{v.person.Name}, listMost
	list, next, err := s.Chats.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &sessionList{Query: q.Text}
	keys := []string{}
	for i := range list {
		keys = append(keys, list[i].Session)
	}
	readings, err := s.Chats.Readings(ctx, v.person.Name, keys)
	if err != nil {
		return nil, err
	}
	for _, info := range list {
		channel, _, _ := strings.Cut(info.Session, ":")
		reading := readings[info.Session]
		out.Rows = append(out.Rows, sessionRow{
			Info: info, Channel: channel, Pinned: reading.Pinned, Unread: info.LastEvent > reading.Event && channel == s.Channel.Name(), Ours: channel == s.Channel.Name(),
		})
	}
	slices.SortStableFunc(out.Rows, func(a, b sessionRow) int {
		switch {
		case a.Pinned == b.Pinned:
			return 0
		case a.Pinned:
			return -1
		}
		return 1
	})
	if next != nil {
		mark, err := json.Marshal(next)
		if err != nil {
			return nil, err
		}
		out.More = s.url("/sessions?" + url.Values{"q": {q.Text}, "before": {base64.RawURLEncoding.EncodeToString(mark)}}.Encode())
	}
	return out, nil
}

// sessions answers with the list, or its next page.
func (s *Site) sessions(w http.ResponseWriter, r *http.Request) {
	q := sessions.Query{Text: r.URL.Query().Get("q")}
	if before := r.URL.Query().Get("before"); before != "" {
		mark, err := base64.RawURLEncoding.DecodeString(before)
		if err != nil || json.Unmarshal(mark, &q.Before) != nil {
			s.refuse(w, r, http.StatusBadRequest, "The address is not right. Load the page again.")
			return
		}
	}
	list, err := s.sessionPage(r.Context(), visitorOf(r), q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list.mark(r.URL.Query().Get("here"))
	s.write(w, r, http.StatusOK, "session-rows", list)
}

// mark notes which session is open.
func (l *sessionList) mark(here string) {
	l.Here = here
	for i := range l.Rows {
		l.Rows[i].Here = l.Rows[i].Session == here
	}
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
func (s *Site) look(w http.ResponseWriter, r *http.Request) {
	v, session := visitorOf(r), r.PathValue("key")
	info, err := s.Chats.SessionInfo(r.Context(), session)
	if err == nil {
		err = s.Changer.Change(r.Context(), &sessions.Look{Session: info.Session, Person: info.Person}, v.actor())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.looks.begin(v.browser.ID, info.Session)
	http.Redirect(w, r, s.chatURL(session), http.StatusSeeOther)
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

// ours is a session that somebody may write in here.
func (s *Site) ours(ctx context.Context, v *visitor, session string) (sessions.Info, error) {
	info, err := s.mine(ctx, v, session)
	if err == nil && !s.own(v, session) {
		err = core.ErrNotFound
	}
	return info, err
}

// set answers a change of what a session has of its own.
func (s *Site) set(of sessions.Setting, field string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, session := visitorOf(r), r.PathValue("key")
		_, err := s.ours(r.Context(), v, session)
		to := strings.TrimSpace(r.PostFormValue(field))
		switch {
		case err != nil:
		case of == sessions.Title && len([]rune(to)) > 60:
			err = &core.StateError{Sentence: "A name has 60 characters at most."}
		default:
			if err = s.settable(of, to); err != nil {
				break
			}
			err = s.Changer.Change(r.Context(), &sessions.Change{Conversation: core.OfSession(session), Of: of, To: to}, v.actor())
		}
		s.changedList(w, r, session, err)
	}
}

// settable says why a session cannot have that of its own; nil: it can.
func (s *Site) settable(of sessions.Setting, to string) error {
	if of == sessions.Mode && to != "" && to != sessions.ModeAsk && to != sessions.ModeAct || of == sessions.Model && to != "" && !slices.Contains(s.Models(), to) {
		return core.ErrNotFound
	}
	return nil
}

// changedList answers what changed the list with the list.
func (s *Site) changedList(w http.ResponseWriter, r *http.Request, here string, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !isPart(r) {
		http.Redirect(w, r, s.chatURL(here), http.StatusSeeOther)
		return
	}
	list, err := s.sessionList(r.Context(), visitorOf(r), "")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list.mark(here)
	s.write(w, r, http.StatusOK, "session-rows", list)
}

func (s *Site) pin(w http.ResponseWriter, r *http.Request) {
	v, session := visitorOf(r), r.PathValue("key")
	_, err := s.mine(r.Context(), v, session)
	if err == nil {
		err = s.Chats.Pin(r.Context(), v.person.Name, session, r.PostFormValue("pinned") != "")
	}
	s.changedList(w, r, session, err)
}

// seen notes how far a session was read.
func (s *Site) seen(w http.ResponseWriter, r *http.Request) {
	v, session := visitorOf(r), r.PathValue("key")
	info, err := s.mine(r.Context(), v, session)
	if err == nil {
		err = s.Chats.Seen(r.Context(), v.person.Name, session, info.LastEvent)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Site) delete(w http.ResponseWriter, r *http.Request) {
	v, session := visitorOf(r), r.PathValue("key")
	_, err := s.ours(r.Context(), v, session)
	if err == nil {
		err = s.Chats.ForgetSession(r.Context(), session, v.actor())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.lead(w, r, "/")
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
