package page_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"
)

// What a new chat is to have of its own counts for its first message; what there is not begins none.
func TestFirstMessageHasTheModeThatWasChosen(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		v := s.visitor("ada")
		v.is(http.StatusNotFound, "", "POST", "/chat", url.Values{"text": {"hello"}, "mode": {"all"}})
		v.is(http.StatusNotFound, "", "POST", "/chat", url.Values{"text": {"hello"}, "model": {"none"}})
		v.is(http.StatusConflict, "Write something", "POST", "/chat", url.Values{"mode": {"ask"}})
		began := v.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"hello"}, "mode": {"ask"}, "key": {"k"}})
		again := v.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"hello"}, "key": {"k"}})
		if at := began.Header.Get("Location"); again.Header.Get("Location") != at {
			t.Errorf("sent again it began %s beside %s", again.Header.Get("Location"), at)
		}
		got := s.rows(`SELECT s.mode, s.person, CASE WHEN a.created_at < m.created_at THEN 'before' ELSE 'after' END FROM sessions s
			JOIN messages m ON m.session_id = s.id AND m.direction = 'in' JOIN audit a ON a.session_id = s.id AND a.action = 'session.mode'`)
		if len(got) != 1 || !slices.Equal(got[0], []string{"ask", "ada", "before"}) {
			t.Errorf("got %q", got)
		}
	})
}

// Who is new has nothing of whoever was called so before.
func TestNamesakesSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.visitor("root")
		add := func() *visit {
			root.is(http.StatusSeeOther, "", "POST", "/people/add", url.Values{"name": {"ann"}, "role": {"user"}})
			return s.visitor("ann")
		}
		first := add()
		at := first.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"my diary"}}).Header.Get("Location")
		first.is(http.StatusOK, "my diary", "GET", "/sessions", nil)
		turn := "/turns/" + s.rows(`SELECT max(id) FROM turns WHERE person = 'ann'`)[0][0]
		first.is(http.StatusOK, "my diary", "GET", turn, nil)
		_, page := root.asks("GET", "/people/ann/remove", nil)
		since := regexp.MustCompile(`name="since" value="([^"]*)"`).FindStringSubmatch(page)
		root.is(http.StatusSeeOther, "", "POST", "/people/remove", url.Values{"name": {"ann"}, "since": {html.UnescapeString(since[1])}})
		first.is(http.StatusSeeOther, "", "GET", "/sessions", nil)
		second := add()
		second.is(http.StatusOK, "Your chats will be here", "GET", "/sessions", nil)
		second.is(http.StatusNotFound, "", "GET", at, nil)
		second.is(http.StatusNotFound, "", "GET", turn, nil)
	})
}
