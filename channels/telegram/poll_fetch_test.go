package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

func TestUpdatesThatAreTooLongAtOnceComeOneByOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.maxPoll = 20 << 10
	text := func(n, long int) string {
		return fmt.Sprintf(`{"update_id":UPDATE_ID,"message":{"message_id":%d,"date":1,"text":"%s","from":{"id":%d},"chat":{"id":%d,"type":"private"}}}`,
			n, strings.Repeat("x", long), r.ada.ID, r.ada.ID)
	}
	for n := range 7 {
		r.Inject(text(10+n, 6<<10))
	}
	huge := r.Inject(text(20, 40<<10))
	r.Say(r.ada.ID, "after")
	r.run(t)
	events := r.Took(t, 9)
	if e := events[7]; e.Kind != channels.EventUndecodable || len(e.Raw) == 0 || len(e.Raw) > 4<<10 ||
		!strings.Contains(e.Reason, "longer than 20480") || !strings.HasSuffix(string(e.Key), fmt.Sprint(huge)) {
		t.Errorf("the one that is too long is %s, %q, %d bytes", e.Key, e.Reason, len(e.Raw))
	}
	if events[8].Message.Text != "after" {
		t.Errorf("the last is %+v", events[8])
	}
	r.settled(t)
	r.Say(r.ada.ID, "later")
	r.Took(t, 10)
	r.settled(t)
	testkit.Await(t, "as many as there are are asked for", patience, func() bool {
		calls := r.Calls("getUpdates")
		return calls[len(calls)-1].Values["limit"] == ""
	})
}

// Answers that bring nothing, or nothing new, at once are no reason to hurry.
func TestNothingNewIsNoHurry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, raw string }{
		"null":      {body: `{"ok":true,"result":null}`},
		"empty":     {body: `{"ok":true,"result":[]}`},
		"no number": {raw: `{"message":{"message_id":6,"text":"x","from":{"id":5},"chat":{"id":5,"type":"private"}}}`},
		"negative":  {raw: `{"update_id":-5,"message":{"message_id":6,"text":"x","from":{"id":5},"chat":{"id":5,"type":"private"}}}`},
		"too large": {raw: `{"update_id":9223372036854775807,"message":{"message_id":6,"text":"x","from":{"id":5},"chat":{"id":5,"type":"private"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.c.pace.idleFrom = defaultPace.idleFrom // a busy machine answers at once, and late
			if test.raw != "" {
				r.Inject(test.raw)
			} else {
				r.Break(telegramtest.Fault{Method: "getUpdates", Times: -1, Status: 200, Body: test.body})
			}
			began := time.Now()
			r.run(t)
			testkit.Await(t, "it is asked again", patience, func() bool { return len(r.Calls("getUpdates")) > 1 })
			time.Sleep(300 * time.Millisecond)
			n := len(r.Calls("getUpdates"))
			if took := time.Since(began); n > int(took/(25*time.Millisecond)) {
				t.Errorf("%d polls in %s", n, took)
			}
			r.Mend()
			r.Say(r.ada.ID, "good")
			testkit.Await(t, "what stands behind comes", patience, func() bool { texts := r.texts(); return len(texts) > 0 && texts[len(texts)-1] == "good" })
			r.settled(t)
		})
	}
}

// While the platform asks to wait, it is not silent.
func TestALimitedPollIsNotDeaf(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.poll, r.c.pace.silence = 0, 200*time.Millisecond
	r.Break(telegramtest.Fault{Method: "getUpdates", Times: -1, Rejected: telegramtest.TooMany(58)})
	r.run(t)
	testkit.Await(t, "the platform is heard, again and again", patience, func() bool { return r.Sink.Frames() > 8 })
	if n := len(r.Calls("getUpdates")); n != 1 {
		t.Errorf("%d polls", n)
	}
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]time.Duration{
		"": 0, "null": 0, "0": 0, "-5": 0, `"5"`: 5 * time.Second, "1.5": 1500 * time.Millisecond, "59": 59 * time.Second, "{}": 0,
		"9300000000": time.Hour, "9223372036854775807": time.Hour, "1e400": time.Hour, "-1e400": 0, `"NaN"`: 0,
	} {
		body := fmt.Sprintf(`{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":%s}}`, says)
		if says == "" {
			body = `{"ok":false,"error_code":429,"description":"Too Many Requests"}`
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, body)
		}))
		c := client(server.URL, "1:x")
		_, err := c.Send(t.Context(), outbound(conv(5, channels.Direct), "x"))
		limited, ok := errors.AsType[*channels.RateLimitError](err)
		if !ok || limited.RetryAfter != want {
			t.Errorf("retry_after %s: %v", says, err)
		}
		c.Wire.Close()
		server.Close()
	}
}

func TestTokenIsInNoStatusLine(t *testing.T) {
	t.Parallel()
	const token = "123456:AAsecretsecretsecretsecretsecretsecr"
	var code atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "getFile") {
			_, _ = io.WriteString(w, `{"ok":true,"result":{"file_id":"x","file_path":"a/b.txt"}}`)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 %d nothing at %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code.Load(), r.URL.Path)
	}))
	defer server.Close()
	c := client(server.URL, token)
	defer c.Wire.Close()
	for _, n := range []int64{404, 429, 502} {
		code.Store(n)
		_, sent := c.Send(context.Background(), outbound(conv(5, channels.Direct), "x"))
		for _, err := range []error{c.Fetch(t.Context(), channels.Attachment{ID: "x"}, io.Discard), c.Probe(t.Context()), sent} {
			if err == nil || strings.Contains(err.Error(), "AAsecret") {
				t.Errorf("%d: %v", n, err)
			}
		}
	}
}

// A number that no update can have would confirm everything to come.
func TestUpdateNumbersOutOfRangeAreNone(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int64{
		`{"update_id":7}`: 7, `{"update_id":2147483647}`: 2147483647, `{"update_id":8,oops`: 8,
		`{"update_id":2147483648}`: 0, `{"update_id":9223372036854775807}`: 0, `{"update_id":-5}`: 0,
		`{"update_id":2147483648,oops`: 0, `{"update_id":"7"}`: 0, `{}`: 0, `null`: 0, `7`: 0,
	} {
		if got := updateID([]byte(raw)); got != want {
			t.Errorf("%s has number %d, want %d", raw, got, want)
		}
	}
}
