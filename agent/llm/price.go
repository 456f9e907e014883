package llm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// A Quote is what is said of a call before its model is asked.
type Quote struct {
	Provider, Model string // as in Exchange
	// Most is what the call can cost at most, all tries so far and the one to come.
	Most float64
	// Unpriced says why nobody knows what the model costs, and what to fix; then Most is 0.
	// Empty: its prices are written.
	Unpriced string
}

// Unpriced says why nobody knows what the model of that name (as Models.Complete takes it)
// costs, and what to fix; empty: its prices are written, or it is the built-in one.
func (c Config) Unpriced(name string) string {
	m, isAlias := c.Models[name]
	if !isAlias {
		m.Model = name
	}
	provider, _, _ := strings.Cut(m.Model, "/")
	if provider == Offline || c.Providers[provider].Kind == Offline {
		return ""
	}
	return m.unpriced(name, isAlias)
}

func (m Model) unpriced(name string, isAlias bool) string {
	switch {
	case !isAlias:
		return fmt.Sprintf("the model %q has no price; make an alias of it ([llm.models.NAME] with model = %q, price_in and price_out) and name that in its place", name, name)
	case m.PriceIn == nil && m.PriceOut == nil:
		return fmt.Sprintf("the model %q has no price; set llm.models.%s.price_in and price_out (0 is a price, too)", name, name)
	case m.PriceIn == nil, m.PriceOut == nil:
		missing := "price_out"
		if m.PriceIn == nil {
			missing = "price_in"
		}
		return fmt.Sprintf("the model %q lacks a price; set llm.models.%s.%s (0 is a price, too)", name, name, missing)
	}
	return ""
}

// unpriced is Config.Unpriced of a target.
func (t target) unpriced() string {
	if t.provider.kind == Offline {
		return ""
	}
	return t.model.unpriced(cmp.Or(t.alias, t.provider.name+"/"+t.id), t.alias != "")
}

// rates are a model's prices per million tokens; what is not written is 0, but for
// cached, which is then as in.
func (m Model) rates() (in, cached, out float64) {
	zero := 0.0
	in, out = *cmp.Or(m.PriceIn, &zero), *cmp.Or(m.PriceOut, &zero)
	return in, *cmp.Or(m.PriceCached, &in), out
}

// cost is what was used in money.
func (m Model) cost(u Usage) float64 {
	in, cached, out := m.rates()
	return money(float64(u.In-u.Cached)*in + float64(u.Cached)*cached + float64(u.Out)*out)
}

// most is what one try with a body of that size can cost: no text has more tokens than
// bytes.
func (m Model) most(body int) float64 {
	in, cached, out := m.rates()
	return money(float64(body)*max(in, cached) + float64(m.MaxOutputTokens)*out)
}

// A provider may use more than was reserved: it adds to the prompt, by its template, instructions of its own
// or what it looked up, and the reasoning of some comes on top of the answer. It is believed up to this
// many times what was reserved, and that many tokens more.
const (
	believedTimes  = 4
	believedTokens = 32_000
)

// within is what was used. Where the provider claims more than can be, that part is what was reserved
// for the try: a token for each byte of the body, or the tokens that an answer may have.
func (u Usage) within(body, answer int) Usage {
	for _, part := range []struct {
		used     *int64
		reserved int64
	}{{&u.In, int64(body)}, {&u.Out, int64(answer)}} {
		if *part.used > believedTimes*part.reserved+believedTokens {
			u.Claimed, *part.used = max(u.Claimed, *part.used), part.reserved
		}
	}
	u.Cached = min(u.Cached, u.In)
	return u
}

// atMost is what was used where the provider did not tell.
func atMost(most float64) Usage { return Usage{Cost: most, Estimated: most > 0} }

// money rounds millionths up to whole billionths, so that sums are exact. What is smaller
// than the dust of a multiplication is not rounded up.
func money(millionths float64) float64 { return math.Ceil(millionths*1e3-1e-4) / 1e9 }

// A reservation is what the tries of one call have used, and what is reserved for them.
type reservation struct {
	reserve func(Quote) error // nil: nothing is reserved
	held    float64
	used    Usage
	sent    atomic.Bool // the request of the latest try, or a part of it
}

// errReserve wraps why nothing was reserved, so that nothing was asked.
type errReserve struct{ error }

func (e errReserve) Unwrap() error { return e.error }

// open makes sure that a try with a body of that size is reserved, and returns the context
// to ask in. A model that costs nothing needs no reservation, nor a try what an earlier one
// did not use.
func (b *reservation) open(ctx context.Context, t target, body int) (context.Context, float64, error) {
	most := t.model.most(body)
	if b.reserve == nil {
		return ctx, most, nil
	}
	q := Quote{Provider: t.provider.name, Model: t.id, Most: money((b.used.Cost + most) * 1e6), Unpriced: t.unpriced()}
	if q.Unpriced != "" || most > 0 && q.Most > b.held {
		if err := b.reserve(q); err != nil {
			return ctx, most, errReserve{err}
		}
		b.held = q.Most
	}
	b.sent.Store(false)
	if most == 0 || ctx.Err() != nil {
		return ctx, most, ctx.Err()
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { b.sent.Store(true) }}), most, nil
}

// unused says that an error answer of that status is surely one to a request that was not
// served. Others come from what stands before the model, or after it had begun.
func unused(status int) bool {
	switch status {
	case http.StatusRequestTimeout, 499:
		return false
	case http.StatusNotImplemented, http.StatusServiceUnavailable, 529: // 529: overloaded
		return true
	}
	return status >= 300 && status < 500
}
