package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRemoteAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1:8484": "", "http://localhost/": "", "http://[::1]:8484": "", "https://bot.example.org/behind": "",
		"http://bot.example.org": "--insecure", "http://192.0.2.1:8484": "--insecure", "http://127.0.0.1.example.org": "--insecure",
		"bot.example.org": "no address", "ftp://x": "no address", "https://": "no address", "https://x?y=z": "no address", "%": "no address", "": "no address",
	} {
		_, err := Remote(address, "t", false)
		if said := errorText(err); want == "" && err != nil || !strings.Contains(said, want) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Remote("http://bot.example.org", "t", true); err != nil {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The token goes to the address alone: redirects are not followed.
func TestRemoteSendsItsToken(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("elsewhere is asked %v", r.Header) }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/behind/v1/moved" {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return
		}
		Reply(w, http.StatusOK, map[string]string{"path": r.URL.Path, "token": r.Header.Get("Authorization")})
	}))
	defer server.Close()
	c, err := Remote(server.URL+"/behind/", "secret", false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got map[string]string
	if err := c.Do(t.Context(), Call{Method: http.MethodGet, Path: "/v1/turns"}, &got); err != nil || got["path"] != "/behind/v1/turns" || got["token"] != "Bearer secret" {
		t.Errorf("%v, %v", got, err)
	}
	if err := c.Do(t.Context(), Call{Method: http.MethodGet, Path: "/v1/moved"}, nil); err == nil {
		t.Error("a redirect is followed")
	}
}
