package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"switchboard/channels"
	"switchboard/internal/api"
)

// lived is what happens to Ada while a test runs.
type lived struct {
	mu      sync.Mutex
	events  []channels.SessionEvent // of her session
	revoked atomic.Bool             // every token is
	raised  atomic.Bool             // Ada is an admin
	most    int                     // bytes that were read at once
	api     *API
	stop    func() // ends the engine
}

func (l *lived) since(session string, n int64, limit int) []channels.SessionEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	if session != "api:ada" {
		return nil
	}
	n = min(n, int64(len(l.events)))
	found := slices.Clone(l.events[n:min(n+int64(limit), int64(len(l.events)))])
	bytes := 0
	for _, e := range found {
		bytes += len(e.Message.Text)
	}
	l.most = max(l.most, bytes)
	return found
}

// last is the number of the newest event.
func (l *lived) last() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.events))
}

// says adds a message of so many bytes to the session.
func (l *lived) says(size int) {
	l.mu.Lock()
	n := int64(len(l.events) + 1)
	l.events = append(l.events, channels.SessionEvent{N: n, Kind: "message", Message: &channels.SessionMessage{ID: n, Direction: "out", Text: strings.Repeat("x", size)}})
	l.mu.Unlock()
	l.api.Channel.Wake("ada")
}

// A client is the other end of a WebSocket.
type client struct {
	*websocket.Conn
	testing.TB
}

func dialed(t testing.TB, d *websocket.Dialer, address, token string) *client {
	t.Helper()
	conn, _, err := d.Dial(address, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, t}
}

// open opens a WebSocket of a server that ends with the test.
func open(t testing.TB, query string) (*client, *rows) {
	t.Helper()
	h, r := newTestAPI(t)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return dialed(t, websocket.DefaultDialer, "ws"+strings.TrimPrefix(server.URL, "http")+"/v1/ws"+query, "ada's"), r
}

// says sends a message and reads the one that comes.
func (c *client) says(text string) string {
	c.Helper()
	if err := c.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.Fatal(err)
	}
	return c.hears()
}

func (c *client) hears() string {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, text, err := c.ReadMessage()
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

// closes reads until the socket is closed, and wants that with a code.
func (c *client) closes(code int) {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	for {
		if _, _, err := c.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, code) {
				c.Errorf("it ends with %v, want %d", err, code)
			}
			return
		}
	}
}

func TestSocketFollowsASession(t *testing.T) {
	t.Parallel()
	h, r := newTestAPI(t)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	for range 3 {
		r.says(1)
	}
	at := "ws" + strings.TrimPrefix(server.URL, "http") + "/v1/ws?session=ada"
	for query, want := range map[string][]string{
		"":          {`"last_event":3}`, `"id":4,"event":"message","data":{"kind":"message","id":"4","event":4,`},
		"&after=2":  {`"last_event":2}`, `"id":3,"event":"message"`, `"id":4,`},
		"&after=99": {`"last_event":3}`, `"params":{"event":"reset","data":{"reason":`, `"id":4,`},
	} {
		c := dialed(t, websocket.DefaultDialer, at+query, "ada's")
		if got := c.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","method":"hello","params":{"version":"1","session":"ada",`) || !strings.Contains(got, want[0]) {
			t.Errorf("%s begins with %s", query, got)
		}
		r.says(1)
		for _, w := range want[1:] {
			if got := c.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","method":"event","params":{`) || !strings.Contains(got, w) {
				t.Errorf("%s goes on with %s, want %s", query, got, w)
			}
		}
		r.mu.Lock()
		r.events = r.events[:3]
		r.mu.Unlock()
	}
	c := dialed(t, websocket.DefaultDialer, at, "ada's")
	c.hears()
	r.api.Channel.Stream("ada", 7, "It is")
	if got := c.hears(); !strings.Contains(got, `"params":{"event":"delta","data":{"kind":"delta","turn_id":"7",`) {
		t.Errorf("a text that grows is %s", got)
	}
}

func TestSocketSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	c, r := open(t, "")
	if got := c.hears(); got != `{"jsonrpc":"2.0","method":"hello","params":{"version":"1"}}` {
		t.Errorf("it begins with %s", got)
	}
	r.api.Channel.Wake("bob") // whom the token may not read
	r.says(1)
	if got := c.hears(); got != `{"jsonrpc":"2.0","method":"session","params":{"last_event":1,"session":"ada"}}` {
		t.Errorf("what is new is %s", got)
	}
	r.api.Channel.Wake("")
	if got := c.hears(); got != `{"jsonrpc":"2.0","method":"reset","params":{}}` {
		t.Errorf("all that may be new is %s", got)
	}
}

func TestSocketMakesCalls(t *testing.T) {
	t.Parallel()
	c, r := open(t, "")
	c.hears()
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"whoami"}`:                                                                                 `"id":1,"result":{"token":"ada's"`,
		`{"jsonrpc":"2.0","id":"a","method":"listSessions","params":{"limit":2,"q":"x"}}`:                                            `"id":"a","result":{"sessions":`,
		`{"jsonrpc":"2.0","id":2,"method":"postMessage","params":{"session":"s","user":"ada","content":"hi","Idempotency-Key":"k"}}`: `"id":2,"result":{"message_id":"1","session":"s"`,
		`{"jsonrpc":"2.0","id":3,"method":"changeSession","params":{"id":"ada","title":"t"}}`:                                        `"id":3,"result":{`,
		`{"jsonrpc":"2.0","id":4,"method":"resetSession","params":{"id":"ada"}}`:                                                     `"id":4,"result":{`,
		`{"jsonrpc":"2.0","id":5,"method":"listSessions","params":{"limit":0}}`:                                                      `"id":5,"error":{"code":-32000,"message":"validation failed`,
		`{"jsonrpc":"2.0","id":6,"method":"postMessage","params":{"session":"bob","user":"ada","content":"hi"}}`:                     `"data":{"status":403,"code":"forbidden","hint":"use another name for the session"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"postMessage","params":{"session":"s","user":"ada","content":"hi","role":"admin"}}`:        `"data":{"status":400,"code":"bad_request"`,
		`{"jsonrpc":"2.0","id":8,"method":"postMessage"}`:                                                                            `"data":{"status":400,"code":"bad_request"`,
		`{"jsonrpc":"2.0","id":9,"method":"listChannels"}`:                                                                           `"id":9,"error":{"code":-32000,"message":"this call needs the scope`,
		`{"jsonrpc":"2.0","id":10,"method":"send","params":{"name":"x","to":"bob","text":"x"}}`:                                      `"data":{"status":403,"code":"forbidden"`,
		`{"jsonrpc":"2.0","id":11,"method":"streamEvents","params":{"id":"ada"}}`:                                                    `"id":11,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":12,"method":"upload"}`:                                                                                `"id":12,"error":{"code":-32601`,
		`{"jsonrpc":"2.0","id":13,"method":"getSession"}`:                                                                            `"id":13,"error":{"code":-32602,"message":"id: it is missing"`,
		`{"jsonrpc":"2.0","id":14,"method":"getSession","params":{"id":".."}}`:                                                       `"id":14,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":15,"method":"getSession","params":{"id":"../turns"}}`:                                                 `"data":{"status":400`,
		`{"jsonrpc":"2.0","id":16,"method":"getSession","params":{"id":["ada"]}}`:                                                    `"id":16,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":17,"method":"getSession","params":{"id":"ada","x":1}}`:                                                `"id":17,"error":{"code":-32602,"message":"x: there is no such parameter"`,
		`{"jsonrpc":"2.0","id":18,"method":"whoami","params":["ada"]}`:                                                               `"id":18,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":19,"method":"whoami","params":null}`:                                                                  `"id":19,"error":{"code":-32602`,
		`{"jsonrpc":"2.0","id":20}`:                              `"id":20,"error":{"code":-32600`,
		`{"id":21,"method":"whoami"}`:                            `"id":21,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":{},"method":"whoami"}`:            `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":22,"method":5}`:                   `"id":22,"error":{"code":-32600`,
		`"whoami"`:                                               `"id":null,"error":{"code":-32600`,
		` [{"jsonrpc":"2.0","id":1,"method":"whoami"}]`:          `"id":null,"error":{"code":-32600,"message":"batches are not taken`,
		`{"jsonrpc":"2.0","id":1,"method":"whoami"`:              `"id":null,"error":{"code":-32700`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"x\"}": `"id":null,"error":{"code":-32700`,
	} {
		if got := c.says(message); !strings.HasPrefix(got, `{"jsonrpc":"2.0",`) || !strings.Contains(got, want) {
			t.Errorf("%s is answered %s, want %s", message, got, want)
		}
	}
	// Notifications are run, or not, and get no answer.
	before := len(r.accepted)
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"postMessage","params":{"session":"s","user":"ada","content":"quietly"}}`,
		`{"jsonrpc":"2.0","method":"nothing"}`, `{"jsonrpc":"2.0","method":"getSession"}`, `{"jsonrpc":"2.0","method":"listChannels"}`,
	} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.says(`{"jsonrpc":"2.0","id":"last","method":"postMessage","params":{"session":"s","user":"ada","content":"last"}}`); !strings.Contains(got, `"id":"last","result"`) {
		t.Errorf("after notifications comes %s", got)
	}
	if n := len(r.accepted); n != before+2 || r.accepted[before].Message.Text != "quietly" {
		t.Errorf("%d messages were written", n-before)
	}
}

// What changes something is done in the order in which it was sent.
func TestSocketKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c, r := open(t, "")
	c.hears()
	const n = 60
	for i := range n {
		if err := c.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"postMessage","params":{"session":"s","user":"ada","content":"%d"}}`, i, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if got := c.hears(); !strings.Contains(got, fmt.Sprintf(`"id":%d,"result"`, i)) {
			t.Fatalf("answer %d is %s", i, got)
		}
	}
	for i, e := range r.accepted {
		if e.Message.Text != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, e.Message.Text)
		}
	}
}

// A call of a WebSocket counts for the token's rate as one beside it.
func TestSocketHasTheRateOfItsToken(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "")
	c.hears()
	const n = 6 * tokenBurst
	go func() {
		for range n {
			_ = c.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"whoami"}`))
		}
	}()
	began := time.Now()
	refused := 0
	for range n {
		if strings.Contains(c.hears(), `"code":"rate_limited"`) {
			refused++
		}
	}
	if took := time.Since(began); refused == 0 && took < 3*time.Second {
		t.Errorf("%d calls took %s, and none was refused", n, took)
	}
}

func TestSocketIsRefusedInOurForm(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		query, token, origin string
		status               int
	}{
		"no token":                {"", "", "", 401},
		"wrong token":             {"?session=ada", "x", "", 401},
		"scope missing":           {"", "anybody's", "", 403},
		"a page of elsewhere":     {"", "ada's", "https://evil.example", 403},
		"another's session":       {"?session=bob&delta=0", "ada's", "", 404},
		"no number":               {"?session=ada&after=x", "ada's", "", 400},
		"whole key, and no admin": {"?session=telegram:1", "ada's", "", 403},
	} {
		header := http.Header{"Authorization": {"Bearer " + c.token}}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		conn, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+"/v1/ws"+c.query, header)
		if err == nil {
			conn.Close()
			t.Errorf("%s: it is open", name)
			continue
		}
		var f api.Failure
		if answer == nil || answer.StatusCode != c.status || json.NewDecoder(answer.Body).Decode(&f) != nil || f.Err == nil {
			t.Errorf("%s: %+v, %v", name, answer, f.Err)
		}
	}
	if w := ask(h, "GET", "/v1/ws", "ada's", ""); w.Code != 400 || code(w) != "bad_request" {
		t.Errorf("no WebSocket: %d %s", w.Code, w.Body)
	}
	header := http.Header{"Authorization": {"Bearer ada's"}, "Origin": {"https://bot.example"}}
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+"/v1/ws", header)
	if err != nil {
		t.Fatalf("a page of ours: %v", err)
	}
	conn.Close()
}

func TestSocketTakesNoHugeMessage(t *testing.T) {
	t.Parallel()
	c, _ := open(t, "")
	c.hears()
	_ = c.WriteMessage(websocket.TextMessage, []byte(strings.Repeat(" ", 4*maxBody))) // it may be refused before it is all sent
	c.closes(websocket.CloseMessageTooBig)
}

func TestSocketEndsWithTheEngine(t *testing.T) {
	t.Parallel()
	c, r := open(t, "?session=ada")
	c.hears()
	r.stop()
	c.closes(websocket.CloseGoingAway)
}

// piped opens a WebSocket over a connection in memory, in a bubble with a clock of its own. closed is closed when the server has
// left it.
func piped(t *testing.T, query string) (c *client, r *rows, closed <-chan struct{}) {
	t.Helper()
	h, r := newTestAPI(t)
	line := pipe{make(chan net.Conn), make(chan struct{})}
	done := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { defer close(done); h.ServeHTTP(w, r) })}
	go func() { _ = server.Serve(line) }()
	t.Cleanup(func() { server.Close() })
	return dialed(t, &websocket.Dialer{NetDialContext: line.dial}, "ws://localhost/v1/ws"+query, "ada's"), r, done
}

// A pipe is a listener whose connections have no buffer.
type pipe struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipe) Close() error   { close(p.closed); return nil }
func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipe) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.accepted <- far
	return near, nil
}

// A token that is revoked ends the WebSocket with the next ping, the next call or the next event.
func TestSocketEndsWithItsToken(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ping", "call", "event"} {
		synctest.Test(t, func(t *testing.T) {
			c, r, _ := piped(t, "?session=ada")
			c.hears()
			r.revoked.Store(true)
			began := time.Now()
			switch name {
			case "event":
				time.Sleep(goodFor)
				r.says(10)
			case "call":
				_ = c.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"whoami"}`))
			}
			c.closes(websocket.ClosePolicyViolation)
			if took := time.Since(began); took > pingEvery || name != "ping" && took > goodFor {
				t.Errorf("%s: it took %s", name, took)
			}
		})
	}
}

// A client that takes nothing any more, or does not answer pings, is left; one that does is not.
func TestSocketOfADeadClientIsLeft(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{"reads nothing": pingEvery + api.WriteWait, "does not read an event": api.WriteWait, "no pong": pongWait, "well": 0} {
		synctest.Test(t, func(t *testing.T) {
			c, r, closed := piped(t, "?session=ada")
			c.hears()
			began := time.Now()
			switch name {
			case "does not read an event":
				for range 3 * socketUnsent { // more than wait
					r.says(1000)
				}
			case "no pong":
				c.SetPingHandler(func(string) error { return nil })
				fallthrough
			case "well":
				_ = c.SetReadDeadline(time.Time{})
				go func() { _, _, _ = c.ReadMessage() }()
			}
			select {
			case <-closed:
			case <-time.After(10 * pongWait):
			}
			if took := time.Since(began); want == 0 && took < 10*pongWait || want > 0 && took != want {
				t.Errorf("%s: it was left after %s, want %s", name, took, want)
			}
			_ = c.Close()
			<-closed
		})
	}
}

// These and no others are there for clients of a WebSocket.
func TestMethodsOfASocket(t *testing.T) {
	t.Parallel()
	_, r := newTestAPI(t)
	r.api.built()
	want := []string{
		"addJob", "addMemory", "cancelSession", "cancelTurn", "changeJob", "changeMemory", "changeMemorySettings", "changeSession", "decideApproval", "deleteSession", "dropDelivery", "erase", "executeTool",
		"explainTurn", "forkSession", "getErasure", "getJob", "getMemory", "getMemorySettings", "getSession", "getTurn", "importMemories", "listApprovals", "listChannels", "listDeliveries", "listJobs", "listMemories",
		"listRuns", "listSessions", "listTools", "listTurns", "postMessage", "resetSession", "retryDelivery", "send", "whoami",
	}
	if got := slices.Sorted(maps.Keys(rpcMethods(r.api.huma.OpenAPI()))); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Whatever is sent, it is a fault with a code, or the call that the method names and no other.
func FuzzSocketMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"whoami"}`,
		`{"jsonrpc":"2.0","id":"a","method":"getSession","params":{"id":"..%2f?x#/","after":-1e9,"wait":"1s"}}`,
		`{"jsonrpc":"2.0","method":"changeJob","params":{"id":"../../messages","action":"{id}"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"postMessage","params":{"Idempotency-Key":"k\r\nX: y","session":{}}}`,
		`{"jsonrpc":"2.0","id":[1],"method":5,"params":[]}`, `[]`, `null`, `{`, "\xff", "",
	} {
		f.Add([]byte(seed))
	}
	_, r := newTestAPI(f)
	r.api.built()
	s := &socket{methods: rpcMethods(r.api.huma.OpenAPI())}
	f.Fuzz(func(t *testing.T, text []byte) {
		id, call, fault := s.decode(text)
		answer, err := json.Marshal(rpcMessage{Version: "2.0", ID: id, Error: fault})
		if err != nil || !json.Valid(answer) {
			t.Fatalf("%q is answered %s, %v", text, answer, err)
		}
		if fault != nil {
			if fault.Code > rpcRefused || fault.Message == "" {
				t.Errorf("%q: %+v", text, fault)
			}
			return
		}
		var in struct{ Method string }
		if err := json.Unmarshal(text, &in); err != nil {
			t.Fatalf("%q is a call, and %v", text, err)
		}
		made, err := http.NewRequestWithContext(t.Context(), call.Method, "http://engine"+call.Path, nil)
		if err != nil {
			t.Fatalf("%q is no request: %v", text, err)
		}
		if _, pattern := r.api.mux.Handler(made); pattern != s.methods[in.Method].method+" "+s.methods[in.Method].path {
			t.Errorf("%q calls %q", text, pattern)
		}
	})
}
