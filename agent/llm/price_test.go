package llm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/llm/llmtest"
	"switchboard/internal/testkit"
)

// tally collects what is reserved for a call.
type tally struct{ quotes []llm.Quote }

func (y *tally) question(stream bool) llm.Request {
	q := question(nil)
	q.Reserve = func(quote llm.Quote) error { y.quotes = append(y.quotes, quote); return nil }
	if stream {
		q.Stream = func(string) bool { return false }
	}
	return q
}

// most is what is reserved for a request: its body at one token a byte, and the answer's
// limit that was really sent, at the prices of "smart".
func most(r llmtest.Request) float64 { return float64(2*int64(len(r.Body))+10*r.MaxTokens) / 1e6 }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// A try is reserved before it is made; what surely used nothing is free, and what may have
// used something and was not told counts at most.
func TestTriesAreReservedAndSettled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply  llmtest.Reply
		stream bool
		free   bool // each of three tries
		told   bool // the usage of the first try
	}{
		"answered":           {reply: llmtest.Text("hi"), told: true},
		"streamed":           {reply: llmtest.Text("hi"), told: true, stream: true},
		"cut at the limit":   {reply: llmtest.Reply{Text: "hi", Finish: "length"}, told: true},
		"429":                {reply: llmtest.RateLimited(time.Millisecond), free: true},
		"400":                {reply: llmtest.Fail(400, "x", "", "no"), free: true},
		"503":                {reply: llmtest.Raw(503, `{}`), free: true},
		"limit in a 200":     {reply: llmtest.Raw(200, `{"error":{"message":"slow down","code":429}}`), free: true},
		"500":                {reply: llmtest.Raw(500, `{}`)},
		"gateway timeout":    {reply: llmtest.Raw(504, `{}`)},
		"cut off":            {reply: llmtest.Reply{Text: "hi", CutAt: 40}},
		"garbage":            {reply: llmtest.Garbage()},
		"usage not told":     {reply: llmtest.Raw(200, `{"choices":[{"message":{"content":"hi"}}]}`)},
		"usage of nothing":   {reply: llmtest.Raw(200, `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":0}}`)},
		"stream, cut off":    {reply: llmtest.Reply{Text: strings.Repeat("word ", 50), CutAt: 2000}, stream: true},
		"stream, not told":   {reply: llmtest.Reply{Text: "hi", NoUsage: true}, stream: true},
		"stream, error late": {reply: llmtest.Raw(200, `data: {"choices":[{"delta":{"content":"{"}}]}`+"\n\ndata: {\"error\":{\"code\":429}}\n\n"), stream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Script(tt.reply)
			var y tally
			resp, _ := models(t, srv.URL()).Complete(t.Context(), "smart", y.question(tt.stream))
			each, n := most(srv.Requests()[0]), srv.Count()
			held := y.quotes[len(y.quotes)-1]
			if held.Provider != "local" || held.Model != "vendor/name" || held.Unpriced != "" {
				t.Errorf("reserved as %+v", held)
			}
			want := float64(n) * each
			switch {
			case tt.told:
				want = float64(2*resp.Usage.In+10*resp.Usage.Out) / 1e6
			case tt.free:
				want = 0
			}
			if !near(resp.Usage.Cost, want) || resp.Usage.Estimated == (tt.told || tt.free) {
				t.Errorf("%d requests used %+v, want %g", n, resp.Usage, want)
			}
			reserved := 1
			if !tt.told && !tt.free {
				reserved = n
			}
			if len(y.quotes) != reserved || !near(held.Most, float64(reserved)*each) || resp.Usage.Cost > held.Most {
				t.Errorf("%d requests of %g reserved %+v", n, each, y.quotes)
			}
		})
	}
}

// A provider that claims more than it can have used, of a prompt or an answer, uses up what was reserved
// and no more. It is logged once.
func TestNoClaimUsesMoreThanWasReserved(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]llmtest.Usage{
		"prompt": {In: 1e18, Out: 3}, "answer": {In: 10, Out: 1e18}, "both": {In: math.MaxInt64, Out: math.MaxInt64}, "cached": {In: 1e18, Out: 1e18, Cached: 1e18},
	} {
		for _, stream := range []bool{false, true} {
			srv := llmtest.New(t)
			srv.Script(llmtest.Reply{Text: "hi", Usage: &claim})
			var log testkit.Log
			m, err := llm.New(llm.Config{
				Providers: map[string]llm.Provider{"local": {BaseURL: srv.URL(), APIKey: key}},
				Models:    map[string]llm.Model{"smart": {Model: "local/vendor/name", MaxOutputTokens: 1000, PriceIn: ptr(2.0), PriceOut: ptr(10.0)}},
			}, nil, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(m.Close)
			var y tally
			if _, err := m.Complete(t.Context(), "smart", y.question(stream)); err != nil {
				t.Error(err)
			}
			resp, err := m.Complete(t.Context(), "smart", y.question(stream))
			used, held := resp.Usage, y.quotes[0].Most
			if err != nil || used.Cost > held || used.Cost <= 0 || used.In > 1e6 || used.Out > 1e6 || used.Claimed != max(claim.In, claim.Out) {
				t.Errorf("%s: used %+v of %g, %v", name, used, held, err)
			}
			if strings.Count(log.String(), "claimed_tokens="+fmt.Sprint(used.Claimed)) != 1 {
				t.Errorf("%s: not logged once: %s", name, log.String())
			}
		}
	}
}

// What a template, a search or reasoning beside the answer may add is believed, each part by itself.
func TestUsageThatCanBeIsBelieved(t *testing.T) {
	t.Parallel()
	const answer = 4*1000 + 32_000 // of max_output_tokens
	for _, tt := range []struct{ claim, want llm.Usage }{
		{llm.Usage{In: 32_000, Out: answer}, llm.Usage{In: 32_000, Out: answer, Cost: 0.424}},
		{llm.Usage{In: 32_000, Out: answer + 1}, llm.Usage{In: 32_000, Out: 1000, Cost: 0.074, Claimed: answer + 1}},
	} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Reply{Text: "hi", Usage: &llmtest.Usage{In: tt.claim.In, Out: tt.claim.Out}})
		if resp, err := models(t, srv.URL()).Complete(t.Context(), "smart", (&tally{}).question(false)); err != nil || resp.Usage != tt.want {
			t.Errorf("used %+v, want %+v, error %v", resp.Usage, tt.want, err)
		}
	}
}

func TestWhatIsNotReservedIsNotAsked(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	broke := errors.New("no money")
	q := question(nil)
	q.Reserve = func(llm.Quote) error { return broke }
	m := models(t, srv.URL())
	if resp, err := m.Complete(t.Context(), "smart", q); !errors.Is(err, broke) || srv.Count() != 0 || resp.Usage != (llm.Usage{}) {
		t.Errorf("%d requests, used %+v, error %v", srv.Count(), resp.Usage, err)
	}
	// The second try is one too many: the first one's fault is told, and what it may have cost.
	srv.Script(llmtest.Garbage())
	n := 0
	q.Reserve = func(llm.Quote) error {
		if n++; n > 1 {
			return broke
		}
		return nil
	}
	resp, err := m.Complete(t.Context(), "smart", q)
	if !errors.Is(err, llm.ErrUnavailable) || srv.Count() != 1 || !near(resp.Usage.Cost, most(srv.Requests()[0])) {
		t.Errorf("%d requests, used %+v, error %v", srv.Count(), resp.Usage, err)
	}
}

// A call whose request never left used nothing; one that was given up on its way may have.
func TestBrokenOffCallsCountWhenTheyWereSent(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	var y tally
	q := y.question(false)
	go func() {
		for srv.Count() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	resp, err := models(t, srv.URL()).Complete(ctx, "smart", q)
	if !errors.Is(err, context.Canceled) || !resp.Usage.Estimated || !near(resp.Usage.Cost, y.quotes[0].Most) {
		t.Errorf("cancelled: used %+v of %+v, error %v", resp.Usage, y.quotes, err)
	}
	srv.Close()
	q.Timeout = 100 * time.Millisecond
	resp, err = models(t, srv.URL()).Complete(t.Context(), "smart", q)
	if err == nil || resp.Usage != (llm.Usage{}) {
		t.Errorf("nobody listens: used %+v, error %v", resp.Usage, err)
	}
}

// A written 0 is a price, and what a model costs of which nothing is written nobody knows.
func TestUnpricedModelsAreNamed(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	cfg := llm.Config{
		Providers: map[string]llm.Provider{"local": {BaseURL: srv.URL()}, "mine": {Kind: "offline"}},
		Models: map[string]llm.Model{
			"none": {Model: "local/a"}, "half": {Model: "local/b", PriceIn: ptr(1.0)}, "free": {Model: "local/c", PriceIn: ptr(0.0), PriceOut: ptr(0.0)},
			"calm": {Model: "offline"},
		},
	}
	m, err := llm.New(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for model, says := range map[string]string{
		"none": "set llm.models.none.price_in and price_out", "half": "set llm.models.half.price_out", "local/d": `[llm.models.NAME] with model = "local/d"`,
		"free": "", "calm": "", "offline": "", "mine/x": "",
	} {
		if got := cfg.Unpriced(model); !strings.Contains(got, says) || (got == "") != (says == "") {
			t.Errorf("%s: %q should say %q", model, got, says)
		}
		if model == "calm" || model == "offline" || model == "mine/x" {
			continue
		}
		var y tally
		if _, err := m.Complete(t.Context(), model, y.question(false)); err != nil {
			t.Fatal(err)
		}
		if says == "" && len(y.quotes) != 0 || says != "" && (len(y.quotes) != 1 || y.quotes[0].Unpriced != cfg.Unpriced(model) || y.quotes[0].Most != 0 && model != "half") {
			t.Errorf("%s: %+v", model, y.quotes)
		}
	}
}

func TestCachedTokensHaveTheirOwnPrice(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script(llmtest.Reply{Text: "hi", Usage: &llmtest.Usage{In: 10_000, Out: 1_000, Cached: 8_000}})
	for _, tt := range []struct {
		cached *float64
		want   float64
	}{{nil, 0.03}, {ptr(0.25), 0.016}, {ptr(0.0), 0.014}} {
		m := models(t, srv.URL(), func(c *llm.Config) {
			smart := c.Models["smart"]
			smart.PriceCached = tt.cached
			c.Models["smart"] = smart
		})
		for _, stream := range []bool{false, true} {
			resp, err := m.Complete(t.Context(), "smart", (&tally{}).question(stream))
			if want := (llm.Usage{In: 10_000, Out: 1_000, Cached: 8_000, Cost: tt.want}); err != nil || resp.Usage != want {
				t.Errorf("stream %t: used %+v, want %+v, error %v", stream, resp.Usage, want, err)
			}
		}
	}
}
