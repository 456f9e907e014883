package web_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"switchboard/channels/web"
)

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
