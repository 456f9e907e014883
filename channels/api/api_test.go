package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/tokens"
	"switchboard/router/turns"
)

// rows are the little that the calls need of a database.
type rows struct {
	accepted []channels.Event
	changed  []core.Change
	lived
}

func (r *rows) Events(_ context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error) {
	return r.since(session, n, limit), nil
}

func (r *rows) SessionInfo(_ context.Context, session string) (sessions.Info, error) {
	switch session {
	case "api:ada":
		return sessions.Info{Session: session, Person: "ada", FirstEvent: 1, LastEvent: r.last()}, nil
	case "api:bob":
		return sessions.Info{Session: session, Person: "bob", FirstEvent: 1}, nil
	}
	return sessions.Info{}, core.ErrNotFound
}

func (r *rows) Sessions(context.Context, sessions.Query) ([]sessions.Info, *sessions.Mark, error) {
	return nil, nil, nil
}

func (r *rows) Posted(context.Context, channels.Conversation, string) (channels.Receipt, error) {
	return channels.Receipt{}, core.ErrNotFound
}

func (r *rows) Current(context.Context, string) (*turns.Turn, error) { return nil, core.ErrNotFound }

func (r *rows) Change(_ context.Context, c core.Change, _ core.Actor) error {
	r.changed = append(r.changed, c)
	return nil
}

func (r *rows) ForkSession(context.Context, string, int64, channels.Conversation, string) error {
	return nil
}
func (r *rows) ForgetSession(context.Context, string, core.Actor) error { return nil }
func (r *rows) Cancel(context.Context, int64, core.Actor) error         { return nil }
func (r *rows) Marks(context.Context) ([]channels.Mark, error)          { return nil, nil }
func (r *rows) RefusedCall()                                            {}
func (r *rows) ServeHTTP(http.ResponseWriter, *http.Request)            {}
func (r *rows) Received()                                               {}
func (r *rows) Ready(context.Context) error                             { return nil }
func (r *rows) Identified(...string) *core.Person                       { return nil }
func (r *rows) Find(_ context.Context, secret string) (*tokens.Token, error) {
	switch {
	case r.revoked.Load():
		return nil, tokens.ErrRevoked
	case secret == "ada's":
		return &tokens.Token{Name: "ada's", Scopes: []string{"messages", "read"}, People: []string{"ada"}}, nil
	case secret == "readers'":
		return &tokens.Token{Name: "readers'", Scopes: []string{"read"}}, nil
	case secret == "anybody's":
		return &tokens.Token{Name: "anybody's", Scopes: []string{"messages"}}, nil
	}
	return nil, tokens.ErrUnknown
}

func (r *rows) Called(_ context.Context, name string) (string, error) { return name, nil }

func (r *rows) Named(name string) *core.Person {
	role, known := map[string]string{"ada": core.RoleUser, "bob": core.RoleUser, "eve": core.RoleAdmin}[name]
	if !known {
		return nil
	}
	if name == "ada" && r.raised.Load() {
		role = core.RoleAdmin
	}
	return &core.Person{Name: name, Role: role}
}

func (r *rows) Accept(_ context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	if from := batch[0].Sender; batch[0].Conversation.ID == "bob" && from.Token != "" && from.Person != "bob" { // as the ledger does
		return []channels.Receipt{{Taken: true}}, nil
	}
	r.accepted = append(r.accepted, batch...)
	return []channels.Receipt{{MessageID: 1, TurnID: 1, Event: 1, Silent: batch[0].Sender.Person == ""}}, nil
}

// newTestAPI serves what tests call over TCP; it runs until the test ends.
func newTestAPI(t testing.TB) (http.Handler, *rows) {
	t.Helper()
	log, r := slog.New(slog.DiscardHandler), &rows{}
	a := New(Deps{
		Log: log, Ready: r, Channel: NewChannel("api", Kind, Features, log), Console: NewChannel("console", "console", channels.Features{Markdown: true}, log), Owner: "owner",
		People: r, Sessions: r, Changer: r, Models: func() []string { return []string{"big"} }, Metrics: r, Files: shelf{}, Tools: shelf{},
	}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Channel.Run(ctx, r) }()
	r.api, r.stop = a, cancel
	t.Cleanup(func() { cancel(); <-done })
	return a.TCP(Door{Tokens: r, InternalToken: func() string { return "inside" }, Hosts: []string{"bot.example"}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}), r
}

func ask(h http.Handler, method, path, token, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8484"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// code is the code of the error in an answer; empty: it is none.
func code(w *httptest.ResponseRecorder) string {
	var f api.Failure
	if json.Unmarshal(w.Body.Bytes(), &f) != nil || f.Err == nil {
		return ""
	}
	return f.Err.Code
}

func TestDoorRefuses(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	for name, c := range map[string]struct {
		method, path, token, body string
		headers                   []string
		status                    int
		code                      string
	}{
		"no token":             {"GET", "/v1/sessions", "", "", nil, 401, "unauthorized"},
		"wrong token":          {"GET", "/v1/sessions", "x", "", nil, 401, "unauthorized"},
		"token in the address": {"GET", "/v1/sessions?token=ada's", "", "", nil, 401, "unauthorized"},
		"other host":           {"GET", "/v1/sessions", "ada's", "", []string{"Host", "evil.example"}, 403, "forbidden"},
		"host like ours":       {"GET", "/v1/sessions", "ada's", "", []string{"Host", "bot.example.evil"}, 403, "forbidden"},
		"a page elsewhere":     {"GET", "/v1/sessions", "ada's", "", []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		"a page of no place":   {"GET", "/v1/sessions", "ada's", "", []string{"Origin", "null"}, 403, "forbidden"},
		"a page of ours":       {"GET", "/v1/sessions", "ada's", "", []string{"Origin", "https://bot.example"}, 200, ""},
		"our name":             {"GET", "/v1/sessions", "ada's", "", []string{"Host", "Bot.Example:443"}, 200, ""},
		"loopback, IPv6":       {"GET", "/v1/sessions", "ada's", "", []string{"Host", "[::1]:8484"}, 200, ""},
		"other scope":          {"GET", "/v1/sessions", "anybody's", "", nil, 403, "forbidden"},
		"alive":                {"GET", "/healthz", "", "", []string{"Host", "anything"}, 200, ""},
		"alive, for a proxy's": {"GET", "/healthz", "none of ours", "", []string{"Host", "anything"}, 200, ""},
		"no such call":         {"GET", "/v2/x", "ada's", "", nil, 404, "not_found"},
		"wrong method":         {"PUT", "/v1/messages", "ada's", "", nil, 405, "bad_request"},
		"path tricks":          {"GET", "/v1/sessions/..%2f..%2fetc", "ada's", "", nil, 400, "bad_request"},
		"another's session":    {"GET", "/v1/sessions/bob", "ada's", "", nil, 404, "not_found"},
		"whole key, no admin":  {"GET", "/v1/sessions/telegram:1", "ada's", "", nil, 403, "forbidden"},
		"not JSON":             {"POST", "/v1/messages", "ada's", "{", nil, 400, "bad_request"},
		"wrong type":           {"POST", "/v1/messages", "ada's", `{"session":1,"user":"ada","content":"x"}`, nil, 400, "bad_request"},
		"unknown field":        {"POST", "/v1/messages", "ada's", `{"session":"s","user":"ada","content":"x","role":"admin"}`, nil, 400, "bad_request"},
		"empty":                {"POST", "/v1/messages", "ada's", `{"session":"s","user":"ada","content":" \n"}`, nil, 400, "bad_request"},
		"NUL":                  {"POST", "/v1/messages", "ada's", "{\"session\":\"s\\u0000\",\"user\":\"ada\",\"content\":\"x\"}", nil, 400, "bad_request"},
		"too long":             {"POST", "/v1/messages", "ada's", `{"session":"s","user":"ada","content":"` + strings.Repeat("x", maxContent+1) + `"}`, nil, 413, "too_large"},
		"far too long":         {"POST", "/v1/messages", "ada's", `{"session":"s","user":"ada","content":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413, "too_large"},
		"webhook":              {"POST", "/v1/messages", "ada's", `{"session":"s","user":"ada","content":"x","webhook":"https://x.example"}`, nil, 501, "not_available"},
		"not for her":          {"POST", "/v1/messages", "ada's", `{"session":"s","user":"bob","content":"x"}`, nil, 403, "forbidden"},
		"nobody":               {"POST", "/v1/messages", "ada's", `{"session":"s","user":"zoe","content":"x"}`, nil, 403, "forbidden"},
		"his session":          {"POST", "/v1/messages", "ada's", `{"session":"bob","user":"ada","content":"x"}`, nil, 403, "forbidden"},
		"whole key":            {"POST", "/v1/messages", "ada's", `{"session":"api:s","user":"ada","content":"x"}`, nil, 403, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ask(h, c.method, c.path, c.token, c.body, c.headers...)
			if w.Code != c.status || code(w) != c.code {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.code)
			}
			if w.Header().Get("X-Request-Id") == "" || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

// Whom a token may not speak for gets the answer of somebody who is served, and nothing is done for them.
func TestStrangersAndAdminsGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	h, r := newTestAPI(t)
	keys := func(w *httptest.ResponseRecorder) (names []string) {
		var fields map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	served := ask(h, "POST", "/v1/messages", "anybody's", `{"session":"s","user":"ada","content":"x"}`)
	for _, user := range []string{"eve", "zoe", "telegram:99"} {
		w := ask(h, "POST", "/v1/messages", "anybody's", `{"session":"s","user":"`+user+`","content":"x"}`)
		if w.Code != 202 || served.Code != 202 || !slices.Equal(keys(w), keys(served)) {
			t.Errorf("%s: %d %s, served %d %s", user, w.Code, w.Body, served.Code, served.Body)
		}
		if last := r.accepted[len(r.accepted)-1]; last.Sender.Person != "" || last.Sender.Token != "anybody's" {
			t.Errorf("%s: handed in as %+v", user, last.Sender)
		}
	}
}

// All that a call sets is checked before any of it is written, which has one order.
func TestSessionIsChangedInOrderOrNotAtAll(t *testing.T) {
	t.Parallel()
	h, r := newTestAPI(t)
	for _, body := range []string{
		`{"title":"t","mode":"ask","model":"none"}`, `{"title":"t","mode":"never","model":"big"}`, `{"title":"\u0000","mode":"ask","model":"big"}`,
	} {
		if w := ask(h, "PATCH", "/v1/sessions/ada", "ada's", body); w.Code != 400 || len(r.changed) > 0 {
			t.Errorf("%s: %d %s after %d changes", body, w.Code, w.Body, len(r.changed))
		}
	}
	for range 10 {
		r.changed = nil
		if w := ask(h, "PATCH", "/v1/sessions/ada", "ada's", `{"model":"big","mode":"ask","title":"t"}`); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var order []sessions.Setting
		for _, c := range r.changed {
			order = append(order, c.(*sessions.Change).Of)
		}
		if want := []sessions.Setting{sessions.Title, sessions.Mode, sessions.Model}; !slices.Equal(order, want) {
			t.Fatalf("set in the order %v, want %v", order, want)
		}
	}
}

// Right tokens never wait for wrong ones, whoever sends them.
func TestWrongTokensWait(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	for i := range 30 {
		want := 401
		if i >= failuresMost {
			want = 429
		}
		if w := ask(h, "GET", "/v1/sessions", "wrong", ""); w.Code != want || want == 429 && w.Header().Get("Retry-After") == "" {
			t.Errorf("try %d: %d %v", i, w.Code, w.Header())
		}
		if w := ask(h, "GET", "/v1/sessions", "ada's", ""); w.Code != 200 {
			t.Errorf("the right one: %d %s", w.Code, w.Body)
		}
	}
}

func TestAddressIsBeyondOurProxies(t *testing.T) {
	t.Parallel()
	g := &guard{Door: Door{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"1.2.3.4:5", "", "1.2.3.4"},
		{"1.2.3.4:5", "9.9.9.9", "1.2.3.4"}, // nobody we know says so
		{"10.0.0.1:5", "9.9.9.9", "9.9.9.9"},
		{"10.0.0.1:5", "6.6.6.6, 9.9.9.9", "9.9.9.9"}, // the client wrote the first
		{"10.0.0.1:5", "6.6.6.6, 9.9.9.9, 10.0.0.2", "9.9.9.9"},
		{"10.0.0.1:5", "garbage", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:5", "9.9.9.9", "9.9.9.9"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := g.Address(r).String(); got != c.want {
			t.Errorf("%s for %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

// Whatever is sent, the answer is one of ours, and nothing of the inside is in it.
func FuzzCalls(f *testing.F) {
	for _, s := range [][3]string{
		{"POST", "/v1/messages", `{"session":"s","user":"ada","content":"x"}`},
		{"POST", "/v1/messages", `{"session":"s","user":"ada","content":"x","metadata":{"a":[1]},"attachments":["1"]}`},
		{"GET", "/v1/sessions?limit=0&cursor=eyJ9", ""},
		{"GET", "/v1/sessions/ada?after=-1&wait=1ns", ""},
		{"PATCH", "/v1/sessions/ada", `{"title":null,"mode":"ask"}`},
		{"DELETE", "/v1/sessions/ada", ""},
		{"POST", "/v1/sessions/ada/reset", `{"level":"all"}`},
		{"GET", "/v1/sessions/%00/export?format=x", ""},
		{"POST", "/v1/uploads?name=%00%2f..", "x"},
		{"GET", "/v1/attachments/-1", ""},
		{"GET", "/internal/attachments/1/binary", ""},
		{"GET", "/v1/tools?user=bob", ""},
		{"POST", "/v1/tools/none/execute", `{"user":"ada","args":[1]}`},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.Contains(path, "/events") || strings.Contains(path, "wait") {
			t.Skip("no path that is answered at once")
		}
		h, _ := newTestAPI(t)
		r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			t.Skip("no method")
		}
		r.URL, r.RemoteAddr = u, "127.0.0.1:1"
		r.Header.Set("Authorization", "Bearer ada's")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != 501 {
			t.Errorf("%s %s %s: %d %s", method, path, body, w.Code, w.Body)
		}
		if w.Code >= 400 && code(w) == "" && method != http.MethodHead {
			t.Errorf("%s %s %s: %d %s is no error of ours", method, path, body, w.Code, w.Body)
		}
	})
}
