package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels/web"
	"switchboard/router/browsers"
)

// waiting is an address with too many wrong tries.
type waiting struct{}

func (waiting) Address(*http.Request) netip.Addr { return netip.Addr{} }
func (waiting) Failed(netip.Addr) bool           { return true }
func (waiting) Waits(netip.Addr) bool            { return true }

// letsIn signs in whoever comes.
type letsIn struct{ web.Browsers }

func (letsIn) ByLink(context.Context, string, string) (string, *browsers.Browser, error) {
	return "secret", &browsers.Browser{Person: "ada"}, nil
}

func (letsIn) ByCode(context.Context, string, string, string) (string, *browsers.Browser, error) {
	return "secret", &browsers.Browser{Person: "ada"}, nil
}

// Who has guessed too often has no more codes tried or sent, also none that is right; a link, which nobody guesses, is good as ever. The cookie
// goes over https alone where the page was reached so, also where the proxy keeps the name to itself.
func TestCodesAreNotTriedWhileAnAddressWaits(t *testing.T) {
	t.Parallel()
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: letsIn{}, People: household{}, Visits: waiting{}, PublicURL: "https://bot.example.org"}).Handler()
	for path, want := range map[string]int{"/signin/code": http.StatusTooManyRequests, "/signin/ask": http.StatusTooManyRequests, "/signin/link": http.StatusSeeOther} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8484"+path, strings.NewReader("name=ada&code=ABCD-EFGH&secret=x"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://bot.example.org")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
		if c := w.Result().Cookies(); want == http.StatusSeeOther && (len(c) != 1 || !c[0].Secure || c[0].Name != "__Host-switchboard") {
			t.Errorf("%s: %v", path, c)
		}
	}
}

// On https the cookie has a prefix, and one without is nobody's there: another page of the domain may have set it.
func TestCookieOnHTTPS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, address, cookie string
		want                    bool
	}{
		{"https://bot.example.org", "https://bot.example.org/tokens", "__Host-switchboard", true},
		{"https://bot.example.org", "https://bot.example.org/tokens", "switchboard", false},
		{"https://bot.example.org/bot", "https://bot.example.org/bot/tokens", "__Secure-switchboard", true},
		{"https://bot.example.org/bot", "https://bot.example.org/bot/tokens", "__Host-switchboard", false},
		{"https://bot.example.org", "http://127.0.0.1:8484/tokens", "switchboard", true},
		{"https://bot.example.org", "http://127.0.0.1:8484/tokens", "__Host-switchboard", true}, // by a proxy that keeps the name to itself
		{"", "http://127.0.0.1:8484/tokens", "switchboard", true},
	} {
		handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}, PublicURL: c.public}).Handler()
		r := httptest.NewRequest(http.MethodGet, c.address, nil)
		r.AddCookie(&http.Cookie{Name: c.cookie, Value: "ada"})
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if signedIn := w.Code == http.StatusForbidden; signedIn != c.want {
			t.Errorf("%s at %s: %d", c.cookie, c.address, w.Code)
		}
	}
}

// deadlined notes until when the body of a call may come.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetReadDeadline(until time.Time) error { d.until = until; return nil }

// Anybody can begin to send a form that signs in, and has no five minutes for it.
func TestFormsOfNobodyKnownComeSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: letsIn{}, People: household{}, Visits: waiting{}, PublicURL: "https://example.org/bot"}).Handler()
		for path, want := range map[string]time.Duration{"/bot/signin/code": 10 * time.Second, "/signin/link": 10 * time.Second, "/bot/chat": 5 * time.Minute} {
			w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
			if got := time.Until(w.until); got != want {
				t.Errorf("%s may take %v, want %v", path, got, want)
			}
		}
	})
}
