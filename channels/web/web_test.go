package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"switchboard/channels/web"
)

// as calls a page as somebody who is signed in, with a form if that is not empty.
func as(ctx context.Context, page http.Handler, person, method, path, form string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "switchboard", Value: person})
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	return w
}

// Below a path of its own the page finds the same addresses, also where the proxy took the path off.
func TestAddressesBelowAPath(t *testing.T) {
	t.Parallel()
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), PublicURL: "https://example.org/bot"}).Handler()
	for path, want := range map[string]int{
		"/bot/c/web:ada%2Fx": http.StatusSeeOther, "/c/web:ada%2Fx": http.StatusSeeOther, "/bot/people/a%2Fb": http.StatusSeeOther, "/bot": http.StatusSeeOther,
		"/bot/c/web:ada/x": http.StatusNotFound,
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if at := w.Header().Get("Location"); w.Code != want || want == http.StatusSeeOther && at != "/bot/signin" {
			t.Errorf("%s: %d, %q; want %d", path, w.Code, at, want)
		}
	}
}

// A refusal is said in the toast, whatever its button wanted of the page.
func TestRefusalsAreSaidInTheToast(t *testing.T) {
	t.Parallel()
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}}).Handler()
	r := httptest.NewRequest(http.MethodPost, "/now/check", nil)
	r.AddCookie(&http.Cookie{Name: "switchboard", Value: "ada"})
	r.Header.Set("HX-Request", "true")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if h := w.Header(); w.Code != http.StatusForbidden || h.Get("HX-Retarget") != "#toast" || h.Get("HX-Reselect") != "unset" {
		t.Errorf("%d, %v", w.Code, h)
	}
}
