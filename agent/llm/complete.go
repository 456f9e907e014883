package llm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"switchboard/internal/retry"
)

const (
	// maxTries is how often a model is asked for one answer, unless it takes the
	// question in another form only.
	maxTries = 3
	// firstPause is before the second try; each one after is twice as long.
	firstPause = 500 * time.Millisecond
	// retryWindow is how long after the first failure the last try may begin.
	retryWindow = 30 * time.Second
)

// complete asks until there is an answer, or a fault that another try does not fix.
// This is the only place that asks a model again.
func (p *provider) complete(ctx context.Context, t target, req Request) (Response, error) {
	limit := cmp.Or(p.timeout, req.Timeout, defaultTimeout)
	req.Stall = cmp.Or(req.Stall, limit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started, failed := time.Now(), time.Time{}
	b := &reservation{reserve: req.Reserve}
	var before Response // of the try before
	var why error
	for tries := 1; ; {
		m := p.mode(t.id)
		resp, w, err := p.try(ctx, limited, t, req, m, b)
		if _, refused := errors.AsType[errReserve](err); refused && why != nil {
			return before, why // there is no money to ask again
		}
		b.used.add(resp.Usage)
		resp.Usage, resp.Exchange.Duration = b.used, time.Since(started)
		before, why = resp, err
		if p.learn(t, m, w, err) && err != nil {
			continue
		}
		if err == nil || tries == maxTries || !w.worthRepeating(resp, err) {
			return resp, err
		}
		if failed.IsZero() {
			failed = time.Now()
		}
		pause := cmp.Or(retryAfter(w.header), backoff(tries))
		deadline, _ := limited.Deadline()
		if pause >= req.Stall || time.Since(failed)+pause > retryWindow || pause >= time.Until(deadline) {
			return resp, err
		}
		if !retry.Sleep(limited, pause) {
			return resp, cmp.Or(ctx.Err(), err)
		}
		tries++
	}
}

// backoff is the pause after that many tries, a little less at random so that many
// callers do not come back at once.
func backoff(tries int) time.Duration {
	pause := retry.Pause(tries-1, firstPause, retryWindow)
	return pause - rand.N(pause/4)
}

// worthRepeating says that the same question may be answered another time: the
// answer did not arrive whole, and nobody was shown any of it. An answer that did
// and is not what was wanted is the caller's to judge.
func (w *wire) worthRepeating(resp Response, err error) bool {
	if w.header.Get("X-Should-Retry") == "false" || w.follower != nil && w.follower.shown {
		return false
	}
	_, limited := errors.AsType[*RateLimitError](err)
	return limited || errors.Is(err, ErrUnavailable) && resp.Finish == ""
}

// try asks once, in the form that the model takes.
func (p *provider) try(ctx, limited context.Context, t target, req Request, m mode, b *reservation) (Response, *wire, error) {
	own, cancel := context.WithCancel(limited)
	defer cancel()
	quiet := time.AfterFunc(req.Stall, cancel)
	defer quiet.Stop()
	w := &wire{}
	if req.Stream != nil && req.Embed == nil && !m.asOne {
		w.follower = &follower{show: req.Stream, structured: req.Schema != nil, quiet: quiet, stall: req.Stall, tokens: t.model.MaxOutputTokens}
	}
	resp, err := p.call(ctx, own, w, t, req, m, b)
	return resp, w, err
}

// call makes one call within limited, which ends with ctx.
func (p *provider) call(ctx, limited context.Context, w *wire, t target, req Request, m mode, b *reservation) (Response, error) {
	body, err := p.encode(t, req, m)
	if err != nil {
		return Response{}, err
	}
	limited, most, err := b.open(limited, t, len(body))
	if err != nil {
		return Response{}, cmp.Or(ctx.Err(), err)
	}
	address := p.endpoint
	if req.Embed != nil {
		address = p.vectors
	}
	post, err := http.NewRequestWithContext(limited, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return Response{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	post.Header = p.header.Clone()
	started := time.Now()
	w.ask(p.client, post)
	resp := Response{Exchange: Exchange{Provider: p.name, Model: t.id, Request: body, Response: p.mask.Bytes(w.body)}}
	if w.status/100 == 2 && w.whole { // paid for, so taken even if ctx ended just now
		read := p.read
		if req.Embed != nil {
			read = p.readVectors
		}
		err := read(&resp, w, t, req, m, most)
		return resp, err
	}
	if b.sent.Load() && !unused(w.status) {
		resp.Usage = atMost(most)
	}
	switch {
	case ctx.Err() != nil:
		return resp, ctx.Err()
	case w.status >= 300:
		return resp, p.fault(w.status, w.header, resp.Exchange.Response, t, req, m)
	case limited.Err() != nil && w.err == nil:
		return resp, fmt.Errorf("%w (%s)", ErrStalled, time.Since(started).Round(time.Millisecond))
	}
	err = w.err
	// url.Error would show the whole address, which may hold a credential.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if w.status != 0 {
		return resp, fmt.Errorf("%w: its answer (status %d) broke off: %s", ErrAway, w.status, p.mask.Text(fmt.Sprint(err)))
	}
	return resp, setup(fmt.Sprintf("no answer comes from %s, where the provider %q is", p.address, p.name),
		fmt.Sprintf("start what should answer there, or correct llm.providers.%s.base_url", p.name),
		fmt.Errorf("%w: no answer: %s", ErrAway, p.mask.Text(fmt.Sprint(err))))
}
