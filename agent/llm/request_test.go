package llm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
)

// A server may send on to another of its addresses, but neither key nor prompt goes to
// another server.
func TestRedirectsStayAtTheServer(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	for name, to := range map[string]string{"itself": "", "another": srv.URL()} {
		asked := 0
		mux := http.NewServeMux()
		mux.Handle("/old/", http.RedirectHandler(to+"/v1/chat/completions", http.StatusPermanentRedirect))
		mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+key || r.ContentLength <= 0 {
				t.Errorf("%s: %s %v, %d bytes", name, r.Method, r.Header, r.ContentLength)
			}
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`))
		})
		here := httptest.NewServer(mux)
		defer here.Close()
		m := models(t, here.URL+"/old")
		resp, err := m.Complete(t.Context(), "smart", question(nil))
		switch {
		case name == "itself" && (err != nil || resp.Text != "hi" || asked != 1):
			t.Errorf("%s: %q, %v", name, resp.Text, err)
		case name == "another" && (!errors.Is(err, llm.ErrAway) || srv.Count() != 0):
			t.Errorf("%s: error %v, %d requests came there", name, err, srv.Count())
		}
	}
}

// What a server is sent beside the body, and where.
func TestRequestIsWhatTheSettingsSay(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": "/chat/completions", "/": "/chat/completions", "/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions",
		"/a/b?key=x": "/a/b/chat/completions", "/https://a/v1": "/https://a/v1/chat/completions", "/a%2Fb/": "/a%2Fb/chat/completions",
	} {
		var got *http.Request
		here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`))
		}))
		defer here.Close()
		m := models(t, here.URL+path, func(c *llm.Config) {
			p := c.Providers["local"]
			p.Headers = map[string]string{"x-own": "1", "authorization": "Basic own"}
			c.Providers["local"] = p
		})
		if _, err := m.Complete(t.Context(), "smart", question(nil)); err != nil {
			t.Fatal(err)
		}
		if got.RequestURI != want {
			t.Errorf("%q: asked %s, want %s", path, got.RequestURI, want)
		}
		for name, want := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "X-Own": "1", "Authorization": "Basic own"} {
			if value := got.Header.Get(name); value != want {
				t.Errorf("%s: %q, want %q", name, value, want)
			}
		}
	}
}
