package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/agent/llm/offline"
)

const key = "sk-very-secret-0123456789"

var schema = &llm.Schema{Name: "plan", JSON: json.RawMessage(
	`{"type":"object","properties":{"goal":{"type":"string"}},"required":["goal"],"additionalProperties":false}`)}

func ptr[T any](v T) *T { return &v }

// models is a Models with one provider "local" at url and the alias "smart".
func models(t testing.TB, url string, change ...func(*llm.Config)) *llm.Models {
	t.Helper()
	cfg := llm.Config{
		Providers: map[string]llm.Provider{"local": {BaseURL: url, APIKey: key}},
		Models: map[string]llm.Model{"smart": {
			Model: "local/vendor/name", Temperature: ptr(0.25), MaxOutputTokens: 1000, PriceIn: ptr(2.0), PriceOut: ptr(10.0),
		}},
	}
	for _, c := range change {
		c(&cfg)
	}
	m, err := llm.New(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func question(schema *llm.Schema) llm.Request {
	return llm.Request{Role: "planner", System: "You plan. <&>", User: "héllo \u2028 😀", Schema: schema, Timeout: 10 * time.Second}
}

func TestCompleteSendsWhatTheSettingsSay(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.RequireKey(key)
	srv.Handle(func(llmtest.Request) llmtest.Reply {
		r := llmtest.Text(`{"goal":"x"}`)
		r.Usage = &llmtest.Usage{In: 10_000, Out: 5_000, Cached: 300}
		return r
	})
	m := models(t, srv.URL(), func(c *llm.Config) {
		p := c.Providers["local"]
		p.Headers = map[string]string{"X-Title": "switchboard"}
		c.Providers["local"] = p
	})
	resp, err := m.Complete(t.Context(), "smart", question(schema))
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Usage{In: 10_000, Out: 5_000, Cached: 300, Cost: 0.07}); resp.Usage != want {
		t.Errorf("usage %+v, want %+v", resp.Usage, want)
	}
	if resp.Text != `{"goal":"x"}` || resp.Finish != "stop" {
		t.Errorf("answer %q, finish %q", resp.Text, resp.Finish)
	}
	got := srv.Requests()[0]
	if got.Model != "vendor/name" || got.System != "You plan. <&>" || got.User != question(nil).User ||
		got.Schema != "plan" || got.MaxTokens != 1000 || *got.Temperature != 0.25 || got.Header.Get("X-Title") != "switchboard" {
		t.Errorf("request %+v", got)
	}
	x := resp.Exchange
	if string(x.Request) != string(got.Body) || x.Provider != "local" || x.Model != "vendor/name" || x.Duration <= 0 {
		t.Errorf("exchange %+v", x)
	}
	if !strings.Contains(string(x.Response), `"fp_llmtest"`) || !json.Valid(x.Response) {
		t.Errorf("response kept as %s", x.Response)
	}
}

func TestAnswersAreSplitIntoTextAndReasoning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply        llmtest.Reply
		schema       *llm.Schema
		text, finish string
	}{
		"plain":              {reply: llmtest.Text("hi"), text: "hi"},
		"think block":        {reply: llmtest.Text("<think>\nhm\n</think>\n\nhi"), text: "hi"},
		"think block closed": {reply: llmtest.Text("hm\n</think>\nhi"), text: "hi"},
		"two think blocks":   {reply: llmtest.Text("<think>a</think>x<think>b</think>y"), text: "xy"},
		"open in the middle": {reply: llmtest.Text("the tag <think> opens"), text: "the tag <think> opens"},
		"reasoning":          {reply: llmtest.Reply{Text: "hi", Reasoning: "hm"}, text: "hi"},
		"reasoning_content":  {reply: llmtest.Reply{Text: "hi", ReasoningContent: "hm"}, text: "hi"},
		"both fields":        {reply: llmtest.Reply{Text: "hi", Reasoning: "hm", ReasoningContent: "hm"}, text: "hi"},
		"no content type":    {reply: llmtest.Reply{Text: "hi", ContentType: "-"}, text: "hi"},
		"wrong content type": {reply: llmtest.Reply{Text: "hi", ContentType: "text/plain"}, text: "hi"},
		"other finish":       {reply: llmtest.Reply{Text: "hi", Finish: "eos"}, text: "hi", finish: "eos"},
		"think before JSON":  {reply: llmtest.Text(`<think>{"no":1}</think>{"goal":"<think>a</think>"}`), schema: schema, text: `{"goal":"<think>a</think>"}`},
		"tag inside JSON":    {reply: llmtest.Text(`{"goal":"<think>a</think>"}`), schema: schema, text: `{"goal":"<think>a</think>"}`},
		"parts": {
			reply: llmtest.Raw(200, `{"choices":[{"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"h"},{"type":"text","text":"i"}]}}]}`),
			text:  "hi",
		},
		"null error": {reply: llmtest.Raw(200, `{"error":null,"choices":[{"message":{"content":"hi"}}]}`), text: "hi"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.reply)
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", question(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if resp.Text != tt.text {
				t.Errorf("text %q; want %q", resp.Text, tt.text)
			}
			if tt.finish != "" && resp.Finish != tt.finish {
				t.Errorf("finish %q, want %q", resp.Finish, tt.finish)
			}
		})
	}
}

func TestFaultyAnswersEndInTheirError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply llmtest.Reply
		free  bool // no schema
		want  error
		says  string
	}{
		"garbage":             {reply: llmtest.Garbage(), want: llm.ErrUnavailable, says: "not JSON"},
		"empty body":          {reply: llmtest.Empty(), want: llm.ErrUnavailable},
		"no choices":          {reply: llmtest.Reply{NoChoices: true}, want: llm.ErrUnavailable, says: "empty"},
		"empty text":          {reply: llmtest.Text("  \n"), want: llm.ErrUnavailable, says: "empty"},
		"only thoughts":       {reply: llmtest.Text("<think>never closed"), free: true, want: llm.ErrUnavailable, says: "empty"},
		"length":              {reply: llmtest.Reply{Text: `{"goal":`, Finish: "length"}, want: llm.ErrUnavailable, says: "max_output_tokens"},
		"cut off":             {reply: llmtest.Reply{Text: `{"goal":"x"}`, CutAt: 40}, want: llm.ErrUnavailable, says: "broke off"},
		"prose for a schema":  {reply: llmtest.Text("Sure! Here is a plan."), want: llm.ErrUnavailable, says: "not the JSON"},
		"500":                 {reply: llmtest.Reply{Status: 500, Body: []byte(`{"error":{"message":"boom"}}`)}, want: llm.ErrUnavailable, says: "500: boom"},
		"503 html":            {reply: llmtest.Reply{Status: 503, Body: []byte("<html>\nbusy"), ContentType: "text/html"}, want: llm.ErrUnavailable, says: "<html> busy"},
		"error in a 200":      {reply: llmtest.Raw(200, `{"error":{"message":"upstream","code":502}}`), want: llm.ErrUnavailable, says: "upstream"},
		"limit in a 200":      {reply: llmtest.Raw(200, `{"error":{"message":"slow down","code":429}}`), want: &llm.RateLimitError{}},
		"401":                 {reply: llmtest.Fail(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: "+key), want: llm.ErrUnauthorized, says: "llm.providers.local.api_key"},
		"403":                 {reply: llmtest.Raw(403, ""), want: llm.ErrUnauthorized, says: "no reason given"},
		"404":                 {reply: llmtest.Fail(404, "invalid_request_error", "model_not_found", "The model does not exist"), want: llm.ErrUnknownModel, says: `"vendor/name"`},
		"key at the cut":      {reply: llmtest.Raw(400, `{"error":"`+strings.Repeat("x", 290)+key+`"}`), want: llm.ErrRefused},
		"300":                 {reply: llmtest.Raw(300, "choose"), want: llm.ErrUnavailable, says: "300: choose"},
		"402":                 {reply: llmtest.Raw(402, `{"error":"Insufficient credits"}`), want: llm.ErrNoCredit, says: "Insufficient credits"},
		"refusal":             {reply: llmtest.Reply{Refusal: "I can't help with that."}, want: llm.ErrRefused, says: "can't help"},
		"used-up quota":       {reply: llmtest.Fail(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota"), want: llm.ErrNoCredit},
		"free text, same 400": {reply: llmtest.NoStructuredOutput(), free: true, want: llm.ErrRefused},
		"too long":            {reply: llmtest.TooLong(), want: llm.ErrContextTooLong, says: "context_tokens"},
		"llama.cpp too long":  {reply: llmtest.Raw(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`), want: llm.ErrContextTooLong},
		"413":                 {reply: llmtest.Raw(413, "too large"), want: llm.ErrContextTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			tt.reply.Header = map[string]string{"X-Should-Retry": "false"} // so that the test does not wait out the pauses
			srv.Script(tt.reply)
			q := question(schema)
			if tt.free {
				q.Schema = nil
			}
			resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", q)
			if limit, ok := tt.want.(*llm.RateLimitError); ok {
				if !errors.As(err, &limit) {
					t.Fatalf("error %v, want a RateLimitError", err)
				}
			} else if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "planner: local/vendor/name: ") {
				t.Errorf("error %q should say %q", err, tt.says)
			}
			if string(resp.Exchange.Request) != string(srv.Requests()[0].Body) {
				t.Error("the exchange lacks the request")
			}
			if len(tt.reply.Body) > 0 && !strings.Contains(string(tt.reply.Body), key) && string(resp.Exchange.Response) != string(tt.reply.Body) {
				t.Errorf("the exchange has %q, sent was %q", resp.Exchange.Response, tt.reply.Body)
			}
			if strings.Contains(err.Error(), key[:8]) || strings.Contains(string(resp.Exchange.Response), key) {
				t.Errorf("the key is shown: %v", err)
			}
			if n := srv.Count(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestRateLimitedCallIsTriedAgain(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.RateLimited(10*time.Millisecond), llmtest.RateLimited(10*time.Millisecond), llmtest.Text("hi"))
	resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", question(nil))
	if err != nil || resp.Text != "hi" || srv.Count() != 3 {
		t.Errorf("answer %q after %d requests, error %v", resp.Text, srv.Count(), err)
	}
}

func TestRateLimitThatLastsIsReturned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply llmtest.Reply
		after time.Duration
		count int
	}{
		"gives up after two retries": {llmtest.RateLimited(20 * time.Millisecond), 20 * time.Millisecond, 3},
		"longer than the time left":  {llmtest.RateLimited(30 * time.Second), 30 * time.Second, 1},
		"absurd":                     {llmtest.Reply{Status: 429, Header: map[string]string{"Retry-After": "1e300"}, Body: []byte("{}")}, 24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.reply)
			started := time.Now()
			_, err := models(t, srv.URL()).Complete(t.Context(), "smart", question(nil))
			limit, ok := errors.AsType[*llm.RateLimitError](err)
			if !ok || limit.RetryAfter != tt.after {
				t.Fatalf("error %v, want a RateLimitError of %s", err, tt.after)
			}
			if srv.Count() != tt.count || time.Since(started) > 25*time.Second {
				t.Errorf("%d requests in %s, want %d at once", srv.Count(), time.Since(started), tt.count)
			}
		})
	}
}

func TestCallWithoutAnAnswerStalls(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Hang())
	q := question(nil)
	q.Timeout = 50 * time.Millisecond
	resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", q)
	if !errors.Is(err, llm.ErrStalled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want ErrStalled alone", err)
	}
	if len(resp.Exchange.Request) == 0 || resp.Exchange.Duration < 50*time.Millisecond {
		t.Errorf("exchange %+v", resp.Exchange)
	}
	slow := models(t, srv.URL(), func(c *llm.Config) {
		p := c.Providers["local"]
		p.Timeout = 40 * time.Millisecond
		c.Providers["local"] = p
	})
	q.Timeout = time.Minute
	if _, err := slow.Complete(t.Context(), "smart", q); !errors.Is(err, llm.ErrStalled) {
		t.Errorf("the provider's timeout: error %v, want ErrStalled", err)
	}
}

func TestCallEndsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	arrived := make(chan struct{}, 1)
	srv.Handle(func(llmtest.Request) llmtest.Reply { arrived <- struct{}{}; return llmtest.Hang() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := models(t, srv.URL()).Complete(ctx, "smart", question(nil))
	if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrStalled) || errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error %v, want context.Canceled alone", err)
	}
}

func TestUnreachableProviderIsUnavailable(t *testing.T) {
	t.Parallel()
	srv, err := llmtest.Start("")
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	q := question(nil)
	q.Timeout = 300 * time.Millisecond // shorter than the first pause
	_, err = models(t, srv.URL()+"?key=hidden").Complete(t.Context(), "smart", q)
	if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want ErrUnavailable and why", err)
	}
	if strings.Contains(err.Error(), "hidden") {
		t.Errorf("the address is shown: %v", err)
	}
}

func TestAnswerBeyond8MBIsCutAndUnavailable(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Raw(200, `{"choices":[{"message":{"content":"`+strings.Repeat("x", 9<<20)+`"}}]}`))
	resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", question(nil))
	if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "8 MB") || len(resp.Exchange.Response) != 8<<20 {
		t.Errorf("error %v, %d bytes kept", err, len(resp.Exchange.Response))
	}
}

// One pool: 200 calls at once need 200 connections at most, and every later call
// finds one of them.
func TestManyCallsAtOnceShareConnections(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Handle(func(r llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: r.User, Delay: 20 * time.Millisecond}
	})
	m := models(t, srv.URL())
	for round := range 3 {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				q := question(nil)
				q.User, q.Timeout = strings.Repeat("u", 1+i)+strings.Repeat("v", round), time.Minute
				resp, err := m.Complete(t.Context(), "smart", q)
				if err != nil || resp.Text != q.User {
					t.Errorf("call %d: %q, %v", i, resp.Text, err)
				}
			})
		}
		wg.Wait()
	}
	if n := srv.Connections(); n > 220 {
		t.Errorf("%d connections for 600 calls, 200 at once", n)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOfflineModelNeedsNoProvider(t *testing.T) {
	t.Parallel()
	var got string
	transport := offline.New(time.Now)
	m, err := llm.New(llm.Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.URL.String()
		return transport.RoundTrip(r)
	}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	q := question(schema)
	q.User = "## New message\nhelp"
	resp, err := m.Complete(t.Context(), llm.Offline, q)
	if err != nil || !strings.Contains(resp.Text, "switchboard init") || resp.Exchange.Provider != llm.Offline || resp.Usage.In == 0 {
		t.Errorf("response %+v, error %v", resp, err)
	}
	if got != "http://offline.invalid/v1/chat/completions" {
		t.Errorf("asked %s", got)
	}
	without, err := llm.New(llm.Config{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Complete(t.Context(), llm.Offline, q); !errors.Is(err, llm.ErrNotAvailable) {
		t.Errorf("without the transport: %v", err)
	}
}
