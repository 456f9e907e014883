//go:build linux

package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A session is listed, found, named, forked, exported, reset and deleted.
func TestSessions(t *testing.T) {
	t.Parallel()
	eachShop(t, "", func(t *testing.T, s *shop) {
		w := s.web("ada")
		type listed struct {
			Sessions []struct{ Session, Title string }
			Next     string
		}
		list := func(query string) (names string, next string) {
			t.Helper()
			var l listed
			w.Get(t, "/v1/sessions"+query, &l)
			for _, one := range l.Sessions {
				names += one.Session + "=" + one.Title + " "
			}
			return names, l.Next
		}
		first := s.posts("ada", "ada", "one", "hello there")
		s.becomes("ada", first, "done")
		second := s.posts("ada", "ada", "one", "what time is it?")
		s.becomes("ada", second, "done")
		s.becomes("ada", s.posts("ada", "ada", "two", "100% pure"), "done")
		if names, _ := list(""); names != "two=100% pure one=hello there " {
			t.Errorf("the list is %q", names)
		}
		page, next := list("?limit=1")
		rest, none := list("?limit=1&cursor=" + next)
		if page != "two=100% pure " || rest != "one=hello there " || none != "" {
			t.Errorf("pages %q, %q, then %q", page, rest, none)
		}
		for query, want := range map[string]string{"TIME": "one=hello there ", "0%25": "two=100% pure ", "a_b": "", "%25": "two=100% pure "} {
			if names, _ := list("?q=" + query); names != want {
				t.Errorf("%s finds %q", query, names)
			}
		}
		w.Call(t, http.MethodPatch, "/v1/sessions/one", map[string]string{"title": "Time", "mode": "ask"}, http.StatusOK, nil)
		w.Call(t, http.MethodPatch, "/v1/sessions/one", map[string]string{"model": "nothing"}, http.StatusBadRequest, nil)

		// Nobody else learns of it.
		for _, path := range []string{"/v1/sessions/one", "/v1/sessions/one/export", "/v1/sessions/one/events"} {
			s.web("bob").Call(t, http.MethodGet, path, nil, http.StatusNotFound, nil)
		}
		s.web("bob").Call(t, http.MethodDelete, "/v1/sessions/one", nil, http.StatusNotFound, nil)
		s.web("bob").Call(t, http.MethodPost, "/v1/sessions/one/fork", map[string]string{"turn": first}, http.StatusNotFound, nil)

		// A fork has what was said up to the turn.
		var fork struct{ Session string }
		w.Call(t, http.MethodPost, "/v1/sessions/one/fork", map[string]string{"turn": first, "session": "three"}, http.StatusCreated, &fork)
		w.Call(t, http.MethodPost, "/v1/sessions/one/fork", map[string]string{"turn": first, "session": "three"}, http.StatusConflict, nil)
		w.Call(t, http.MethodPost, "/v1/sessions/two/fork", map[string]string{"turn": first}, http.StatusNotFound, nil)
		var read struct {
			Messages []struct{ Text string }
			Mode     string
		}
		w.Get(t, "/v1/sessions/three", &read)
		if len(read.Messages) != 2 || read.Messages[0].Text != "hello there" || read.Mode != "ask" {
			t.Errorf("the fork has %+v", read)
		}

		_, text, err := w.Do(t.Context(), http.MethodGet, "/v1/sessions/one/export?format=markdown", nil)
		if err != nil || !strings.HasPrefix(string(text), "# Time\n") || !strings.Contains(string(text), "> what time is it?") {
			t.Errorf("exported %s, %v", text, err)
		}

		// A reader waits for what comes.
		var now struct {
			LastEvent int64 `json:"last_event"`
		}
		w.Get(t, "/v1/sessions/one", &now)
		go func() {
			time.Sleep(300 * time.Millisecond)
			_, _, _ = w.Do(t.Context(), http.MethodPost, "/v1/sessions/one/reset", nil)
		}()
		w.Get(t, "/v1/sessions/one?wait=30s&after="+strconv.FormatInt(now.LastEvent, 10), &read)
		if len(read.Messages) == 0 || read.Messages[0].Text != "/reset" {
			t.Errorf("what came is %+v", read)
		}

		// What is deleted is nowhere.
		w.Call(t, http.MethodDelete, "/v1/sessions/two", nil, http.StatusOK, nil)
		w.Call(t, http.MethodGet, "/v1/sessions/two", nil, http.StatusNotFound, nil)
		if names, _ := list("?q=pure"); names != "" {
			t.Errorf("deleted and found: %q", names)
		}
		s.web("bob").Call(t, http.MethodPost, "/v1/messages", map[string]string{"session": "two", "user": "bob", "content": "mine?"}, http.StatusForbidden, nil)
		s.becomes("ada", s.posts("ada", "ada", "two", "again"), "done")
		w.Get(t, "/v1/sessions/two", &read)
		if len(read.Messages) != 2 || read.Messages[0].Text != "again" {
			t.Errorf("begun again it has %+v", read)
		}
	})
}

// Of two persons who write at once in a session that is new, one has it, and the other is refused.
func TestNewSessionBelongsToOne(t *testing.T) {
	t.Parallel()
	eachShop(t, "", func(t *testing.T, s *shop) {
		for n := range 15 {
			session, got := fmt.Sprintf("new-%d", n), make(chan int, 2)
			for _, who := range []string{"ada", "bob"} {
				go func() {
					status, _, err := s.web(who).Do(t.Context(), http.MethodPost, "/v1/messages", map[string]any{"session": session, "user": who, "content": "hello"})
					if err != nil {
						t.Error(err)
					}
					got <- status
				}()
			}
			if one, other := <-got, <-got; one+other != http.StatusAccepted+http.StatusForbidden {
				t.Errorf("they were answered %d and %d", one, other)
			}
		}
	})
}
