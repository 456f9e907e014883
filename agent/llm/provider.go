package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	kindOpenAI = "openai"

	openAIBase  = "https://api.openai.com/v1"
	openAIHost  = "api.openai.com"
	offlineBase = "http://offline.invalid/v1"

	defaultTimeout = 2 * time.Minute
	maxRetries     = 2
)

// A provider is one server, with the SDK's client for it.
type provider struct {
	name, kind string
	timeout    time.Duration
	noKey      bool // it needs a key and has none
	absent     bool // not in this build
	// ownTokens: the server wants max_completion_tokens in place of max_tokens,
	// the name that every compatible server knows.
	ownTokens bool
	chat      openai.ChatCompletionService
	strike    *strings.Replacer // takes credentials out of a text; nil: there are none

	framing sync.Mutex
	frames  []*frame // the latest made last

	asOne sync.Map // IDs of models that are asked for their answer as one
}

// newProvider takes a valid cfg.
func newProvider(name string, cfg Provider, pool, offline http.RoundTripper, log *slog.Logger) *provider {
	p := &provider{name: name, kind: cfg.Kind, timeout: cfg.Timeout}
	if cfg.Kind == Offline {
		p.absent = offline == nil
		// The SDK would read key and address from the environment in NewClient; a
		// service made directly takes only what it is given.
		p.chat = openai.NewChatCompletionService(option.WithBaseURL(offlineBase),
			option.WithHTTPClient(&http.Client{Transport: offline}), option.WithMaxRetries(0))
		return p
	}
	base, err := url.Parse(cmp.Or(cfg.BaseURL, openAIBase))
	if cfg.Kind != kindOpenAI || err != nil {
		p.absent = true
		return p
	}
	p.ownTokens = base.Hostname() == openAIHost
	p.noKey = cfg.APIKey == "" && !isLoopback(base.Hostname())
	p.strike = striker(cfg)
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(&http.Client{Transport: pool}),
		option.WithMaxRetries(maxRetries),
	}
	if hasKey(cfg) {
		opts = append(opts, option.WithAPIKey(cfg.APIKey.Reveal()))
		if base.Scheme == "http" && !isLoopback(base.Hostname()) {
			log.Warn("the provider's key travels unencrypted; use an https base_url", slog.String("provider", name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Headers)) {
		opts = append(opts, option.WithHeader(key, cfg.Headers[key]))
	}
	p.chat = openai.NewChatCompletionService(opts...)
	return p
}

// usable says why a role cannot use the provider.
func (p *provider) usable() error {
	switch {
	case p.absent:
		return fmt.Errorf("provider %q: kind %q is %w; name a provider of kind %q, or %q",
			p.name, p.kind, ErrNotAvailable, kindOpenAI, Offline)
	case p.noKey:
		return fmt.Errorf(`%w: set llm.providers.%s.api_key, for example api_key = "env:%s_API_KEY", or api_key = %q for a server that wants none`,
			ErrNoKey, p.name, strings.ToUpper(strings.ReplaceAll(p.name, "-", "_")), NoKey.Reveal())
	}
	return nil
}

// complete makes one call. A server that refuses to stream is asked again for its
// answer as one, now and from now on.
func (p *provider) complete(ctx context.Context, t target, req Request) (Response, error) {
	if _, known := p.asOne.Load(t.id); known {
		req.Stream = nil
	}
	limit := cmp.Or(p.timeout, req.Timeout, defaultTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if req.Stream != nil {
		w := &wire{follower: &follower{show: req.Stream, structured: req.Schema != nil, stall: cmp.Or(req.Stall, limit)}}
		w.follower.quiet = time.AfterFunc(w.follower.stall, cancel)
		defer w.follower.quiet.Stop()
		resp, err := p.call(ctx, limited, w, t, req)
		switch {
		case err != nil && refusesStreams(w.status, complaint(w.body)):
			p.asOne.Store(t.id, true)
			req.Stream = nil
		case err == nil && w.events != nil && w.events.usage == nil && t.model.PriceIn+t.model.PriceOut > 0:
			p.asOne.Store(t.id, true) // what it costs could not be told
			return resp, nil
		default:
			return resp, err
		}
	}
	if req.Stall > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(limited, req.Stall)
		defer stop()
	}
	return p.call(ctx, limited, &wire{}, t, req)
}

// call makes one call within limited, which ends with ctx, with the SDK's retries.
func (p *provider) call(ctx, limited context.Context, w *wire, t target, req Request) (Response, error) {
	body, err := p.encode(t, req)
	if err != nil {
		return Response{}, err
	}
	var raw []byte // its being bytes keeps the SDK from judging the content type
	started := time.Now()
	_, err = p.chat.New(limited, openai.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body), option.WithMiddleware(w.roundTrip), option.WithResponseBodyInto(&raw))
	resp := Response{Exchange: Exchange{
		Provider: p.name, Model: t.id, Duration: time.Since(started),
		Request: body, Response: p.clean(w.body),
	}}
	switch {
	case w.status/100 == 2 && w.whole: // paid for, so taken even if ctx ended just now
		return resp, p.read(&resp, w, t, req)
	case ctx.Err() != nil:
		return resp, ctx.Err()
	case w.status >= http.StatusMultipleChoices:
		return resp, p.fault(w.status, w.header, resp.Exchange.Response, t, req)
	case limited.Err() != nil && w.err == nil:
		return resp, fmt.Errorf("%w (%s)", ErrStalled, time.Since(started).Round(time.Millisecond))
	case w.err != nil:
		err = w.err // the SDK's own may be that it had no time left to try again
	}
	// url.Error would show the whole address, which may hold a credential.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	what := "no answer"
	if w.status != 0 {
		what = fmt.Sprintf("its answer (status %d) broke off", w.status)
	}
	return resp, fmt.Errorf("%w: %s: %s", ErrUnavailable, what, p.text(fmt.Sprint(err)))
}

// striker replaces the provider's credentials: a server may repeat them in what
// it says is wrong.
func striker(cfg Provider) *strings.Replacer {
	var pairs []string
	if hasKey(cfg) {
		pairs = append(pairs, cfg.APIKey.Reveal(), cfg.APIKey.String())
	}
	for name, value := range cfg.Headers {
		name = strings.ToLower(name)
		for _, mark := range []string{"auth", "key", "token", "secret", "cookie"} {
			if value != "" && strings.Contains(name, mark) {
				pairs = append(pairs, value, Secret(value).String())
				break
			}
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

func (p *provider) text(s string) string {
	if p.strike == nil {
		return s
	}
	return p.strike.Replace(s)
}

func (p *provider) clean(body []byte) []byte {
	if p.strike == nil || body == nil {
		return body
	}
	return []byte(p.strike.Replace(string(body)))
}

func hasKey(cfg Provider) bool { return cfg.APIKey != "" && cfg.APIKey != NoKey }

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
