package console

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/internal/api"
)

// nothing is a SessionReader without sessions.
type nothing struct{}

func (nothing) Events(context.Context, string, int64, int) ([]channels.SessionEvent, error) {
	return nil, nil
}

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness {
		channel := New("console", nothing{}, slog.New(slog.DiscardHandler))
		server := httptest.NewServer(handler(channel))
		server.Config.SetKeepAlivesEnabled(false)
		c := &client{
			engine: api.NewClient(func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
			}),
			session: "default", person: "ada", connection: &connection{patience: patience},
		}
		// The person writes as Chat does: a line, and the next when it was taken.
		ctx, cancel := context.WithCancel(context.Background())
		said := make(chan string, 1000)
		var pending, repeat atomic.Int64
		repeat.Store(1)
		var writing sync.WaitGroup
		writing.Go(func() {
			for text := range said {
				key := rand.Text()
				for range repeat.Load() {
					if _, err := c.postAs(ctx, key, text); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
				pending.Add(-1)
			}
		})
		t.Cleanup(func() {
			cancel()
			close(said)
			writing.Wait()
			server.Close()
		})
		return channelstest.Harness{
			Channel:      channel,
			Conversation: channels.Conversation{Channel: "console", ID: "ada/default", Kind: channels.Direct, Place: "ada/default"},
			Say:          func(text string) { pending.Add(1); said <- text },
			Repeat:       func(n int) { repeat.Store(int64(n)) },
			Pending:      func() int { return int(pending.Load()) },
		}
	})
}

func TestConversationIDNamesPersonAndSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ person, session string }{{"ada", "default"}, {"a/b", "x.y_z-1"}, {"Zoë", strings.Repeat("s", 128)}} {
		id, err := conversationID(c.person, c.session)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.person + "/" + c.session; string(id) != want {
			t.Errorf("got %q, want %q", id, want)
		}
	}
	for _, c := range []struct{ person, session string }{
		{"", "default"},
		{"ada", ""},
		{"ada", "a b"},
		{"ada", "a/b"},
		{"ada", strings.Repeat("s", 129)},
		{"a\nb", "default"},
		{"\xff", "default"},
		{strings.Repeat("p", 129), "default"},
	} {
		if id, err := conversationID(c.person, c.session); err == nil {
			t.Errorf("%q, %q made %q", c.person, c.session, id)
		}
	}
}

func TestHandlerRefusesBadRequests(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"no JSON":       {"POST", messagesPath, "hello", 400, "not readable"},
		"no person":     {"POST", messagesPath, `{"session":"s","content":"x"}`, 400, "person"},
		"bad session":   {"POST", messagesPath, `{"session":"a b","user":"ada","content":"x"}`, 400, "session"},
		"bad after":     {"GET", eventsPath("s", url.Values{"user": {"ada"}, "after": {"x"}}), "", 400, "after"},
		"bad until":     {"GET", eventsPath("s", url.Values{"user": {"ada"}, "until": {"-2"}}), "", 400, "until"},
		"events, no id": {"GET", eventsPath("a b", url.Values{"user": {"ada"}}), "", 400, "session"},
		"wrong method":  {"GET", messagesPath, "", 405, ""},
		"too long":      {"POST", messagesPath, `{"session":"s","user":"ada","content":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			response := httptest.NewRecorder()
			handler(e.channel).ServeHTTP(response, request)
			if response.Code != c.status || !strings.Contains(response.Body.String(), c.says) {
				t.Errorf("%d %s", response.Code, response.Body)
			}
		})
	}
}

func TestHandlerBeforeRunIsUnavailable(t *testing.T) {
	t.Parallel()
	channel := New("console", nothing{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, "POST", messagesPath, strings.NewReader(`{"session":"s","user":"ada","content":"x"}`))
	response := httptest.NewRecorder()
	handler(channel).ServeHTTP(response, request)
	if response.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}

func TestSecondMessageUnderAKeyIsADuplicate(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for _, duplicate := range []bool{false, true} {
		var got map[string]any
		call := api.Call{Method: http.MethodPost, Path: messagesPath, Key: "k", Body: message{Session: "s", User: "ada", Content: "x"}}
		if err := e.client.Do(t.Context(), call, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"message_id": "1", "turn_id": "101", "event": 1.0, "duplicate": false}
		if duplicate {
			want = map[string]any{"event": 0.0, "duplicate": true}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLastIsTheNewestEvent(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	u := &turn{e: e, conv: "ada/s", id: 1}
	for want := range int64(200) {
		got, err := e.channel.last(t.Context(), "console:ada/s")
		if err != nil || got != want {
			t.Fatalf("last is %d, %v; want %d", got, err, want)
		}
		u.state("running")
	}
}

func TestSendIsRefused(t *testing.T) {
	t.Parallel()
	channel := New("console", nothing{}, slog.New(slog.DiscardHandler))
	if id, err := channel.Send(t.Context(), channels.Outbound{}); err == nil || id != "" {
		t.Errorf("%q, %v", id, err)
	}
}
