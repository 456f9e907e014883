package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
)

// nothing is a SessionReader without sessions.
type nothing struct{}

func (nothing) Events(context.Context, string, int64, int) ([]channels.SessionEvent, error) {
	return nil, nil
}

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness {
		channel := New("console", nothing{}, slog.New(slog.DiscardHandler))
		server := httptest.NewServer(channel.Handler())
		c := &client{
			http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
			base: server.URL, session: "default", person: "ada", link: &link{patience: patience},
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
		"no JSON":       {"POST", PathMessages, "hello", 400, "not readable"},
		"no person":     {"POST", PathMessages, `{"session":"s","text":"x"}`, 400, "person"},
		"bad session":   {"POST", PathMessages, `{"session":"a b","person":"ada","text":"x"}`, 400, "session"},
		"bad after":     {"GET", PathEvents + "?session=s&person=ada&after=x", "", 400, "after"},
		"bad until":     {"GET", PathEvents + "?session=s&person=ada&until=-2", "", 400, "until"},
		"events, no id": {"GET", PathEvents, "", 400, "session"},
		"wrong method":  {"GET", PathMessages, "", 405, ""},
		"too long":      {"POST", PathMessages, `{"session":"s","person":"ada","text":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			response := httptest.NewRecorder()
			e.channel.Handler().ServeHTTP(response, request)
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
	request := httptest.NewRequestWithContext(ctx, "POST", PathMessages, strings.NewReader(`{"session":"s","person":"ada","text":"x"}`))
	response := httptest.NewRecorder()
	channel.Handler().ServeHTTP(response, request)
	if response.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}

func TestSecondMessageUnderAKeyIsADuplicate(t *testing.T) {
	t.Parallel()
	e := newEngine(t, echo)
	for _, duplicate := range []bool{false, true} {
		body := `{"session":"s","person":"ada","text":"x","key":"k"}`
		response, err := e.client.Post("http://engine"+PathMessages, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
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
