package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/internal/testkit"
)

// Behind a proxy that has the bot below a path of its own, every link, picture and stream of the page goes by that path: all else is
// refused there, and would be a fault of the browser.
func TestPageBelowAPath(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Kill()
		bot := &url.URL{Scheme: "http", Host: s.address}
		mux := http.NewServeMux()
		mux.Handle("/bot/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(bot)
			r.Out.Host = r.In.Host
		}, FlushInterval: -1})
		proxy := httptest.NewServer(mux)
		t.Cleanup(proxy.Close)
		settings, err := os.ReadFile(s.Config)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, s.Config, strings.Replace(string(settings), "[server]\n", fmt.Sprintf("[server]\npublic_url = %q\n", proxy.URL+"/bot"), 1))
		s.Ready()

		ada := s.signedIn(t, "root")
		ada.writes("hello there")
		ada.reads("heard: hello there")
		ada.Await("the address of the chat", `location.pathname.startsWith("/bot/c/")`)
		ada.Run(chromedp.Reload())
		ada.writes("and again")
		ada.reads("heard: and again")
		for _, path := range pagetest.Evaluate[[]string](ada.Page, `[...document.querySelectorAll("#side footer a")].map((e) => e.pathname)`) {
			if !strings.HasPrefix(path, "/bot/") {
				t.Errorf("the menu leads to %s", path)
			}
			ada.Run(chromedp.Navigate(proxy.URL + path))
			ada.Await(path, `document.querySelector("#main h1") && document.querySelector("#live") && `+settled)
		}
		ada.clicks(`#sessions a`)
		ada.reads("heard: and again")
		ada.refused = "401 (Unauthorized)" // what is open may be asked for once more
		ada.clicks(`form[action$="/signout"] button`)
		ada.Await("the way in", `location.pathname === "/bot/signin"`)
	})
}
