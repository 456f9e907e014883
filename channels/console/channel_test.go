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
	web "switchboard/channels/api"
	"switchboard/channels/channelstest"
	"switchboard/internal/api"
)

// nothing is an engine without sessions.
func nothing() *engine { return &engine{} }

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness {
		channel := web.NewChannel("console", "console", channels.Features{Markdown: true}, slog.New(slog.DiscardHandler))
		server := httptest.NewServer(handler(channel, nothing()))
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

func TestHandlerRefusesBadRequests(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"no JSON":       {"POST", api.MessagesPath, "hello", 400, "bad_request"},
		"no person":     {"POST", api.MessagesPath, `{"session":"s","content":"x"}`, 400, "property user"},
		"bad session":   {"POST", api.MessagesPath, `{"session":"a b","user":"ada","content":"x"}`, 400, "session"},
		"bad after":     {"GET", api.EventsPath("s", url.Values{"user": {"ada"}, "after": {"x"}}), "", 400, "after"},
		"bad until":     {"GET", api.EventsPath("s", url.Values{"user": {"ada"}, "until": {"-2"}}), "", 400, "until"},
		"events, no id": {"GET", api.EventsPath("a b", url.Values{"user": {"ada"}}), "", 400, "session"},
		"wrong method":  {"GET", api.MessagesPath, "", 405, ""},
		"too long":      {"POST", api.MessagesPath, `{"session":"s","user":"ada","content":"` + strings.Repeat("x", 51<<20) + `"}`, 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			response := httptest.NewRecorder()
			handler(e.channel, e).ServeHTTP(response, request)
			if response.Code != c.status || !strings.Contains(response.Body.String(), c.says) {
				t.Errorf("%d %s", response.Code, response.Body)
			}
		})
	}
}

func TestHandlerBeforeRunIsUnavailable(t *testing.T) {
	t.Parallel()
	channel := web.NewChannel("console", "console", channels.Features{Markdown: true}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, "POST", api.MessagesPath, strings.NewReader(`{"session":"s","user":"ada","content":"x"}`))
	response := httptest.NewRecorder()
	handler(channel, nothing()).ServeHTTP(response, request)
	if response.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}

func TestSecondMessageUnderAKeyIsADuplicate(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for _, duplicate := range []bool{false, true} {
		var got map[string]any
		call := api.Call{Method: http.MethodPost, Path: api.MessagesPath, Key: "k", Body: api.Message{Session: "s", User: "ada", Content: "x"}}
		if err := e.client.Do(t.Context(), call, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"message_id": "1", "session": "s", "turn_id": "101", "event": 1.0}
		if duplicate {
			want = map[string]any{"message_id": "0", "session": "s", "duplicate": true}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSendIsRefused(t *testing.T) {
	t.Parallel()
	channel := web.NewChannel("console", "console", channels.Features{Markdown: true}, slog.New(slog.DiscardHandler))
	if id, err := channel.Send(t.Context(), channels.Outbound{}); err == nil || id != "" {
		t.Errorf("%q, %v", id, err)
	}
}
