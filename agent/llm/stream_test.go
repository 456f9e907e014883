package llm_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/agent/llm/offline"
)

// shown collects what a streamed question shows.
type shown struct{ texts []string }

func (s *shown) question(schema *llm.Schema) llm.Request {
	q := question(schema)
	q.Stream = func(text string) bool { s.texts = append(s.texts, text); return true }
	return q
}

// growing says that each text begins the last one.
func (s *shown) growing(t *testing.T, whole string) {
	t.Helper()
	for _, text := range s.texts {
		if !strings.HasPrefix(whole, text) {
			t.Errorf("shown %q, which does not begin %q", text, whole)
		}
	}
}

func TestStreamShowsTheAnswerAsItComes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply  llmtest.Reply
		schema *llm.Schema
		text   string
		shown  []string
	}{
		"words":             {reply: llmtest.Text("a few words"), text: "a few words", shown: []string{"a ", "a few ", "a few words"}},
		"runes":             {reply: llmtest.Reply{Text: "héllo 😀", Pieces: []string{"hé", "llo ", "😀"}}, text: "héllo 😀", shown: []string{"hé", "héllo ", "héllo 😀"}},
		"thoughts":          {reply: llmtest.Reply{Text: "-", Pieces: []string{"<th", "ink>h", "m</thin", "k>", "a ", "<b", "> c"}}, text: "a <b> c", shown: []string{"", "", "", "", "a", "a <b", "a <b> c"}},
		"thoughts, a field": {reply: llmtest.Reply{Text: "hi you", ReasoningContent: "hm"}, text: "hi you", shown: []string{"hi ", "hi you"}},
		"JSON":              {reply: llmtest.Reply{Text: "-", Pieces: []string{`{"go`, `al":"<th`, `ink>"}`}}, schema: schema, text: `{"goal":"<think>"}`, shown: []string{`{"go`, `{"goal":"<th`, `{"goal":"<think>"}`}},
		"thought, JSON":     {reply: llmtest.Reply{Text: "-", Pieces: []string{"<think>{", "}</think>", `{"goal":`, `"x"}`}}, schema: schema, text: `{"goal":"x"}`, shown: []string{"", "", `{"goal":`, `{"goal":"x"}`}},
		"as one":            {reply: llmtest.Reply{Text: "a few words", AsOne: true}, text: "a few words"},
		"as one, no type":   {reply: llmtest.Reply{Text: "a few words", AsOne: true, ContentType: "-"}, text: "a few words"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			tt.reply.Pause = time.Millisecond
			tt.reply.Usage = &llmtest.Usage{In: 10_000, Out: 5_000, Cached: 300}
			srv.Script(tt.reply)
			var s shown
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", s.question(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if resp.Text != tt.text || resp.Finish != "stop" {
				t.Errorf("text %q, finish %q", resp.Text, resp.Finish)
			}
			if want := (llm.Usage{In: 10_000, Out: 5_000, Cached: 300, Cost: 0.07}); resp.Usage != want {
				t.Errorf("usage %+v, want %+v", resp.Usage, want)
			}
			s.growing(t, tt.text)
			if len(s.texts) > 0 && s.texts[len(s.texts)-1] != tt.text || len(s.texts) == 0 != tt.reply.AsOne {
				t.Errorf("shown %q", s.texts)
			}
			for _, text := range s.texts { // two pieces may come at once
				if !slices.Contains(tt.shown, text) {
					t.Errorf("shown %q, want some of %q", text, tt.shown)
				}
			}
			if got := srv.Requests()[0]; !got.Stream || !got.StreamUsage || string(got.Body) != string(resp.Exchange.Request) {
				t.Errorf("request %s", got.Body)
			}
		})
	}
}

func TestBrokenStreamsEndInTheirError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply  llmtest.Reply
		schema *llm.Schema
		want   error
		says   string
		finish string
	}{
		"cut off":        {reply: llmtest.Reply{Text: strings.Repeat("word ", 50), CutAt: 2000}, want: llm.ErrUnavailable, says: "broke off"},
		"no end":         {reply: llmtest.Reply{Text: "a few words", NoEnd: true}, want: llm.ErrUnavailable, says: "broke off"},
		"length":         {reply: llmtest.Reply{Text: "a few words", Finish: "length"}, want: llm.ErrUnavailable, says: "max_output_tokens", finish: "length"},
		"empty":          {reply: llmtest.Text(""), want: llm.ErrUnavailable, says: "empty", finish: "stop"},
		"refusal":        {reply: llmtest.Reply{Refusal: "I can't."}, want: llm.ErrRefused, says: "I can't.", finish: "stop"},
		"prose":          {reply: llmtest.Text("Sure! Here you are."), schema: schema, want: llm.ErrUnavailable, says: "not the JSON", finish: "stop"},
		"error event":    {reply: llmtest.Raw(200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"upstream "+key+"\",\"code\":502}}\n\n"), want: llm.ErrUnavailable, says: "upstream [redacted] [502]"},
		"limit event":    {reply: llmtest.Raw(200, ": x\n\ndata: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n"), want: &llm.RateLimitError{}, says: "slow down"},
		"garbled event":  {reply: llmtest.Raw(200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"cho\n\ndata: [DONE]\n\n"), want: llm.ErrUnavailable, says: "broke off"},
		"nothing at all": {reply: llmtest.Raw(200, "data: [DONE]\n\n"), want: llm.ErrUnavailable, says: "no choices"},
		"500":            {reply: llmtest.Reply{Status: 500, Body: []byte(`{"error":{"message":"boom"}}`)}, want: llm.ErrUnavailable, says: "500: boom"},
		"401":            {reply: llmtest.Fail(401, "", "", "Incorrect key "+key), want: llm.ErrUnauthorized, says: "api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			tt.reply.Header = map[string]string{"X-Should-Retry": "false"}
			srv.Script(tt.reply)
			var s shown
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", s.question(tt.schema))
			if limit, ok := tt.want.(*llm.RateLimitError); ok {
				if !errors.As(err, &limit) {
					t.Fatalf("error %v, want a RateLimitError", err)
				}
			} else if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error()+string(resp.Exchange.Response), key) {
				t.Errorf("error %q should say %q and no key", err, tt.says)
			}
			if len(tt.reply.Body) > 0 && len(resp.Exchange.Response) == 0 || resp.Finish != tt.finish {
				t.Errorf("response kept as %q, finish %q", resp.Exchange.Response, resp.Finish)
			}
			if n := srv.Count(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// What servers make of server-sent events.
func TestEveryFormOfEventStreamIsRead(t *testing.T) {
	t.Parallel()
	a, b := `{"choices":[{"delta":{"content":"a "}}]}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`
	for name, body := range map[string]string{
		"plain":            "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n",
		"no blank":         "data:" + a + "\n\ndata:" + b + "\n\n",
		"CRLF":             "data: " + a + "\r\n\r\ndata: " + b + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"no empty lines":   "data: " + a + "\ndata: " + b + "\ndata: [DONE]\n",
		"no last line end": "data: " + a + "\n\ndata: " + b,
		"comments":         ": PROCESSING\n\n: PROCESSING\n\ndata: " + a + "\n\n: x\ndata: " + b + "\n\n",
		"names":            "event: message\nid: 1\ndata: " + a + "\n\nretry: 5\n\nevent: message\ndata: " + b + "\n\n",
		"several lines":    "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a \"}}]}\n\ndata: " + b + "\n\n",
		"leading space":    "\uFEFF\n\ndata: " + a + "\n\ndata: " + b + "\n\n",
		"empty data":       "data:\n\ndata: " + a + "\n\ndata: \n\ndata: " + b + "\n\n",
		"null fields":      "data: {\"error\":null,\"usage\":null,\"choices\":[{\"delta\":{\"content\":\"a \",\"refusal\":null},\"finish_reason\":null}]}\n\ndata: " + b + "\n\n",
		"after the end":    "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\ndata: " + a + "\n\n",
		"parts":            "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[]},{\"type\":\"text\",\"text\":\"a \"}]}}]}\n\ndata: " + b + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(llmtest.Raw(200, body))
			var s shown
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", s.question(nil))
			if err != nil || resp.Text != "a b" || string(resp.Exchange.Response) != body || len(s.texts) == 0 {
				t.Errorf("text %q, shown %q, error %v", resp.Text, s.texts, err)
			}
		})
	}
}

// A server that refuses to stream is asked for its answer as one, and not bothered
// with it again.
func TestServerThatRefusesToStreamIsAskedForOneAnswer(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]llmtest.Reply{
		"stream":  llmtest.Fail(400, "invalid_request_error", "", "Unsupported value: 'stream' does not support true with this model."),
		"options": llmtest.Raw(422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Handle(func(r llmtest.Request) llmtest.Reply {
				if r.Stream {
					return refusal
				}
				return llmtest.Text("hi")
			})
			m := models(t, srv.URL())
			for round, want := range []int{2, 3} {
				var s shown
				resp, err := m.Complete(t.Context(), "smart", s.question(nil))
				if err != nil || resp.Text != "hi" || len(s.texts) > 0 || srv.Count() != want {
					t.Errorf("round %d: %q after %d requests, shown %q, error %v", round, resp.Text, srv.Count(), s.texts, err)
				}
			}
		})
	}
}

// What a priced model costs has to be known: one that does not tell while it streams
// is asked for its answers as one.
func TestPricedStreamWithoutUsageIsAskedForAsOne(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: "hi", NoUsage: true})
	m := models(t, srv.URL(), func(c *llm.Config) { c.Models["free"] = llm.Model{Model: "local/other"} })
	for _, tt := range []struct {
		model  string
		stream bool
		in     int64
	}{{"smart", true, 0}, {"smart", false, 10}, {"free", true, 0}, {"free", true, 0}} {
		var s shown
		resp, err := m.Complete(t.Context(), tt.model, s.question(nil))
		asked := srv.Requests()
		if err != nil || asked[len(asked)-1].Stream != tt.stream || (resp.Usage.In > 0) != (tt.in > 0) {
			t.Errorf("%+v: used %+v, error %v", tt, resp.Usage, err)
		}
	}
}

func TestRateLimitedStreamIsTriedAgain(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.RateLimited(10*time.Millisecond), llmtest.RateLimited(10*time.Millisecond), llmtest.Text("hi"))
	var s shown
	resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", s.question(nil))
	if err != nil || resp.Text != "hi" || srv.Count() != 3 {
		t.Errorf("answer %q after %d requests, error %v", resp.Text, srv.Count(), err)
	}
	srv.Script(llmtest.RateLimited(6 * time.Second))
	q := s.question(nil)
	q.Stall = 5 * time.Second // less than the wait that is asked for
	_, err = models(t, srv.URL()).Complete(t.Context(), "smart", q)
	if limit, ok := errors.AsType[*llm.RateLimitError](err); !ok || limit.RetryAfter != 6*time.Second || srv.Count() != 4 {
		t.Errorf("error %v after %d requests", err, srv.Count())
	}
}

// Silence ends a call, not length.
func TestSilenceStallsAStreamAndLengthDoesNot(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply  llmtest.Reply
		asOne  bool
		stalls bool
	}{
		"steady":         {reply: llmtest.Reply{Text: strings.Repeat("w ", 12), Pause: 300 * time.Millisecond}},
		"never begins":   {reply: llmtest.Hang(), stalls: true},
		"stops":          {reply: llmtest.Reply{Text: "a few words", Pause: time.Millisecond, HangAt: 2}, stalls: true},
		"as one, late":   {reply: llmtest.Reply{Text: "hi", Delay: 5 * time.Second}, asOne: true, stalls: true},
		"as one, timely": {reply: llmtest.Text("hi"), asOne: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.reply)
			var s shown
			q := s.question(nil)
			q.Stall = 3 * time.Second
			if tt.asOne {
				q.Stream = nil
			}
			started := time.Now()
			_, err := models(t, srv.URL()).Complete(t.Context(), "smart", q)
			if errors.Is(err, llm.ErrStalled) != tt.stalls || (err != nil) != tt.stalls {
				t.Errorf("error %v after %s", err, time.Since(started))
			}
		})
	}
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: strings.Repeat("w ", 1000), Pause: 10 * time.Millisecond})
	var s shown
	q := s.question(nil)
	q.Stall, q.Timeout = time.Minute, 4*time.Second
	if _, err := models(t, srv.URL()).Complete(t.Context(), "smart", q); !errors.Is(err, llm.ErrStalled) || len(s.texts) == 0 {
		t.Errorf("a stream that never ends: error %v, shown %d texts", err, len(s.texts))
	}
}

// A server that only keeps the connection alive is as silent as one that does nothing.
func TestCommentsAreSilence(t *testing.T) {
	t.Parallel()
	m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
		reader, writer := io.Pipe()
		go func() {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(writer, ": PROCESSING\n\n")
				time.Sleep(10 * time.Millisecond)
			}
			_ = writer.CloseWithError(r.Context().Err())
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: reader}, nil
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var s shown
	q := s.question(nil)
	q.Stall, q.Timeout = 300*time.Millisecond, time.Minute
	started := time.Now()
	if _, err := m.Complete(t.Context(), llm.Offline, q); !errors.Is(err, llm.ErrStalled) || time.Since(started) > 30*time.Second {
		t.Errorf("error %v after %s", err, time.Since(started))
	}
}

func TestStreamEndsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: "a few words", Pause: time.Millisecond, HangAt: 2})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := question(nil)
	q.Stream = func(text string) bool {
		if text == "a few " {
			cancel()
		}
		return true
	}
	_, err := models(t, srv.URL()).Complete(ctx, "smart", q)
	if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrStalled) || errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error %v, want context.Canceled alone", err)
	}
}

// A server that says it is done and does not hang up is not waited for.
func TestStreamDoneIsTheEnd(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	defer writer.Close()
	m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
		context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
		go func() {
			_, _ = io.WriteString(writer, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: reader}, nil
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var s shown
	started := time.Now()
	resp, err := m.Complete(t.Context(), llm.Offline, s.question(nil))
	if err != nil || resp.Text != "hi" {
		t.Errorf("answer %q after %s, error %v", resp.Text, time.Since(started), err)
	}
}

// Each call finds the connection of the one before.
func TestStreamsShareConnections(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: "a few words", Pause: time.Millisecond})
	m := models(t, srv.URL())
	for range 5 {
		var s shown
		if _, err := m.Complete(t.Context(), "smart", s.question(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if n := srv.Connections(); n > 2 { // one is closed that is not read to its end in time
		t.Errorf("%d connections for 5 calls", n)
	}
}

// A long answer is longer as a stream; what is kept of it is bounded, what is read is all.
func TestStreamMayBeLong(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	const n = 3000
	event := `data: {"id":"` + strings.Repeat("x", 4000) + `","choices":[{"delta":{"content":"w "}}]}` + "\n\n"
	text := strings.TrimSpace(strings.Repeat("w ", n))
	srv.Script(llmtest.Raw(200, strings.Repeat(event, n)+"data: [DONE]\n\n"))
	var s shown
	q := s.question(nil)
	q.Timeout = time.Minute
	resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", q)
	if err != nil || resp.Text != text || len(resp.Exchange.Response) != 8<<20 {
		t.Errorf("%d bytes of text, %d kept, error %v", len(resp.Text), len(resp.Exchange.Response), err)
	}
}

func TestOfflineModelStreamsItsAnswer(t *testing.T) {
	t.Parallel()
	m, err := llm.New(llm.Config{}, offline.New(time.Now), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []*llm.Schema{schema, nil} {
		var s shown
		q := s.question(schema)
		q.User = "## New message\nhelp"
		resp, err := m.Complete(t.Context(), llm.Offline, q)
		q.Stream = nil
		same, _ := m.Complete(t.Context(), llm.Offline, q)
		if err != nil || len(s.texts) < 2 || resp.Text != same.Text || resp.Finish != "stop" || resp.Usage.Out != same.Usage.Out {
			t.Errorf("%d texts, response %+v, as one %+v, error %v", len(s.texts), resp, same, err)
		}
		s.growing(t, resp.Text)
	}
}
