package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

// mostUpdates is how many updates one answer has at most.
//
// Source: https://core.telegram.org/bots/api#getupdates "limit".
const mostUpdates = 100

// An answer is what the platform told at once.
type answer struct {
	updates []update
	body    []byte
	full    bool // there may be more behind them
	first   bool // of its Run, asked for without waiting
}

// fetch asks the platform once.
func (p *poller) fetch(ctx context.Context) (answer, error) {
	const op = "getUpdates"
	x := &exchange{}
	form := p.form().Encode()
	err := p.wire.Post(ctx, &x.Exchange, p.c.API+"/bot"+p.s.secret.Reveal()+"/"+op, "application/x-www-form-urlencoded", strings.NewReader(form), int64(len(form)))
	x.read()
	switch {
	case errors.Is(err, wire.ErrTooLong):
		return p.tooLong(ctx, x)
	case err != nil:
		return answer{}, p.c.outcome(op, x)
	case x.reply == nil && x.Status != http.StatusOK:
		return answer{}, fmt.Errorf("%s: the answer is %d and not of the platform", op, x.Status)
	case x.reply != nil && !x.reply.OK:
		return answer{}, p.refused(ctx, x)
	}
	raws, cutOff, err := splitUpdates(x)
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%s: %w", op, err)
	case cutOff && !bytes.Equal(x.Body, p.cutOff):
		p.cutOff = x.Body
		return answer{}, fmt.Errorf("%s: %w: the answer looks cut off", op, errRetry)
	}
	read, got := p.c.reader(), answer{body: x.Body, first: p.first, full: len(raws) >= cmp.Or(p.limit, mostUpdates)}
	for _, raw := range raws {
		got.updates = append(got.updates, read.decode(raw))
	}
	p.received()
	return got, nil
}

// received notes that the platform told what there is.
func (p *poller) received() {
	if p.first {
		p.c.Refused.Served(p.s.secret)
	} else { // the first waits for nothing, so that nobody can cut it short
		p.c.foreign.Store(false)
	}
	if p.limit *= 4; p.limit >= mostUpdates {
		p.limit = 0
	}
	p.first, p.quarrel, p.cutOff = false, time.Time{}, nil
}

// tooLong asks for fewer updates. One that is too long alone is told of by its
// beginning.
func (p *poller) tooLong(ctx context.Context, x *exchange) (answer, error) {
	p.s.sink.Received()
	if p.limit != 1 {
		p.limit = max(cmp.Or(p.limit, mostUpdates)/4, 1)
		p.c.Log.WarnContext(ctx, "updates are too long to be read at once; fewer are asked for", "limit", p.limit)
		return answer{}, fmt.Errorf("getUpdates: %w: %w", errRetry, wire.ErrTooLong)
	}
	got := answer{body: x.Body, first: p.first, full: true}
	raw := x.Body
	if at := bytes.Index(raw, []byte(`"update_id"`)); at > 0 {
		raw = raw[at-1:]
	}
	got.updates = []update{p.c.reader().undecodable(updateID(raw), raw,
		fmt.Errorf("it is longer than %d bytes; this is its beginning", p.wire.Most))}
	p.received()
	return got, nil
}

// form is what a poll asks for. The first of a Run shall be answered at once, so that it is known
// whether the platform is there.
func (p *poller) form() url.Values {
	timeout := 0
	if !p.first {
		timeout = int(p.c.pace.poll.Seconds())
	}
	form := url.Values{"offset": {strconv.FormatInt(p.confirmed+1, 10)}, "timeout": {strconv.Itoa(timeout)}, "allowed_updates": {allowedUpdates}}
	if p.limit != 0 {
		form.Set("limit", strconv.Itoa(p.limit))
	}
	return form
}

// refused classifies what the platform answers a poll besides updates.
func (p *poller) refused(ctx context.Context, x *exchange) error {
	err := p.c.refusal("getUpdates", x)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
		p.s.sink.Received()
		p.c.Log.WarnContext(ctx, "polls are rate limited", "duration", limited.RetryAfter)
		p.rest(ctx, limited.RetryAfter)
		return fmt.Errorf("%w: %w", errRetry, err)
	}
	if !errors.Is(err, channels.ErrElsewhere) {
		return err
	}
	if strings.Contains(strings.ToLower(x.reply.Description), "webhook") {
		return p.dropWebhook(ctx, err)
	}
	if p.quarrel.IsZero() {
		p.quarrel = time.Now()
	}
	if p.c.foreign.Load() || time.Since(p.quarrel) >= p.c.pace.conflict {
		p.c.foreign.Store(true)
		return err
	}
	p.c.Log.DebugContext(ctx, "another poll is open; perhaps our own former one", "error", err)
	return fmt.Errorf("%w: %w", errRetry, err)
}

// dropWebhook takes away the webhook that keeps updates from being polled; what waits
// for it is kept. Only a channel that has told nothing yet does so: a webhook that is
// set while it runs is somebody else's.
func (p *poller) dropWebhook(ctx context.Context, err error) error {
	if !p.first {
		return err
	}
	drop := p.c.do(ctx, "deleteWebhook", 0, wire.With((*bot.Bot).DeleteWebhook, &bot.DeleteWebhookParams{}))
	if drop != nil {
		return errors.Join(err, drop)
	}
	p.c.Log.InfoContext(ctx, "deleted the webhook that was set, to poll instead")
	return fmt.Errorf("%w: %w", errRetry, err)
}

// rest waits as the platform asked for. That is no silence of its.
func (p *poller) rest(ctx context.Context, d time.Duration) {
	for step := p.c.Silence() / 4; d > 0 && retry.Sleep(ctx, min(d, step)); d -= step {
		p.s.sink.Received()
	}
}

// splitUpdates cuts the answer to getUpdates into its updates. What is inside one is
// not looked at, so that a bad one does not cost the others. cutOff says that the
// answer may as well have been cut off: it counts only if it comes a second time.
func splitUpdates(x *exchange) (raws [][]byte, cutOff bool, err error) {
	if x.reply != nil {
		var list []json.RawMessage
		if json.Unmarshal(x.reply.Result, &list) == nil {
			for _, raw := range list {
				raws = append(raws, raw)
			}
			return raws, false, nil
		}
	}
	if raws, ok := elements(x.Body); ok {
		return raws, false, nil
	}
	if raws, cutOff := pieces(x.Body); len(raws) > 0 {
		return raws, cutOff, nil
	}
	return nil, false, errors.New("the answer is no list of updates")
}

// elements cuts the array "result" of an object that is not quite JSON, by brackets
// and quotes alone: strings may hold control characters. ok is false where it has no
// end.
func elements(body []byte) (list [][]byte, ok bool) {
	at := bytes.Index(body, []byte(`"result"`))
	if at < 0 {
		return nil, false
	}
	rest := bytes.TrimLeft(body[at+len(`"result"`):], " \t\r\n")
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	if rest = bytes.TrimLeft(rest[1:], " \t\r\n"); len(rest) == 0 || rest[0] != '[' {
		return nil, false
	}
	depth, start, quoted := 0, 0, false
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth == 0 {
				start = i
			}
			depth++
		case c == ']' && depth == 0:
			return list, true
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return nil, false
			}
			if depth == 0 {
				list = append(list, rest[start:i+1])
			}
		}
	}
	return nil, false
}

// pieces cuts a list in which brackets or quotes do not match where an update begins:
// inside a text its quotes would be escaped. An answer that was cut off looks alike,
// so the last piece is left for the next answer unless it is whole; alone, it is
// cutOff.
func pieces(body []byte) (list [][]byte, cutOff bool) {
	body = bytes.TrimRight(body, " \t\r\n")
	if !bytes.HasSuffix(body, []byte("]}")) {
		return nil, false
	}
	begin := []byte(`{"update_id"`)
	at := bytes.Index(body, begin)
	for at >= 0 {
		end := len(body) - len("]}")
		next := bytes.Index(body[at+len(begin):], begin)
		if next >= 0 {
			next += at + len(begin)
			end = next
		}
		list = append(list, bytes.TrimRight(body[at:max(at, end)], ", \t\r\n"))
		at = next
	}
	if n := len(list); n > 1 && !json.Valid(list[n-1]) {
		return list[:n-1], false
	}
	return list, len(list) == 1
}

// withoutNUL is a JSON text with U+FFFD for each NUL in its strings, escaped or not: no
// database of ours takes one in a text.
func withoutNUL(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\ufffd"))
	escape := []byte(`\u0000`)
	for at := 0; ; {
		i := bytes.Index(raw[at:], escape)
		if i < 0 {
			return raw
		}
		at += i
		before := len(raw[:at]) - len(bytes.TrimRight(raw[:at], `\`))
		if before%2 == 0 { // an odd one would escape this backslash
			raw = slices.Concat(raw[:at], []byte(`\ufffd`), raw[at+len(escape):])
		}
		at += len(escape)
	}
}
