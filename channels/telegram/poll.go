package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels"
)

// allowedUpdates is what the platform shall tell.
//
// Source: https://core.telegram.org/bots/api#getupdates "allowed_updates".
var allowedUpdates = bot.AllowedUpdates{"message", "edited_message", "callback_query", "my_chat_member", "message_reaction"}

// pace holds the times of the inbound side; tests shorten them.
type pace struct {
	poll time.Duration // how long a getUpdates waits for something to tell
	// silence is how much longer than that the connection may be silent.
	silence time.Duration
	// acceptFirst and acceptMost bound the pauses before a batch that was not taken is
	// handed in again.
	acceptFirst, acceptMost time.Duration
	// conflict is how long "terminated by other getUpdates request" is taken for our
	// own former connection that the platform has not seen end.
	conflict time.Duration
	// albumQuiet is how long an album must not have grown to count as whole; albumMost
	// bounds the wait, and albumLook is the time between two looks.
	albumQuiet, albumMost, albumLook time.Duration
	// check is the time between two looks at a webhook.
	check time.Duration
}

var defaultPace = pace{
	poll: 30 * time.Second, silence: 10 * time.Second,
	acceptFirst: 50 * time.Millisecond, acceptMost: 5 * time.Second,
	conflict:   10 * time.Second,
	albumQuiet: 500 * time.Millisecond, albumMost: 2 * time.Second, albumLook: 100 * time.Millisecond,
	check: 30 * time.Second,
}

// Silence implements channels.Pulse.
func (c *Client) Silence() time.Duration { return c.pace.poll + c.pace.silence }

// A poller is the HTTP client of the library's loop in one Run. It answers a
// getUpdates only when what came is committed, and with no more than the number of
// the newest update that may be confirmed: the loop's next request confirms it. So
// nothing is confirmed that is not safe, and at most one batch is in memory.
//
// Each Run begins without an offset. The platform keeps what was not confirmed and
// tells it again; what was committed is known by its key.
type poller struct {
	c       *Client
	s       *session
	wire    *wire
	gather  gatherer
	end     context.CancelCauseFunc
	first   bool      // nothing was answered yet
	doubted []byte    // an answer that may have been cut off
	quarrel time.Time // when the platform began to name another poller; zero: it does not
}

// poll receives updates until ctx ends or the connection is lost. Its connection is
// its own and is closed when it returns.
func (c *Client) poll(ctx context.Context, s *session) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	p := &poller{c: c, s: s, wire: newWire(1), gather: gatherer{pace: c.pace}, end: end, first: true}
	defer p.wire.transport.CloseIdleConnections()
	nothing := func(context.Context, *bot.Bot, *models.Update) {}
	lib, err := c.library(s.account.secret, c.pace.poll+time.Second, p, bot.WithAllowedUpdates(allowedUpdates),
		bot.WithNotAsyncHandlers(), bot.WithDefaultHandler(nothing))
	if err != nil {
		return fmt.Errorf("getUpdates: %w", err)
	}
	lib.Start(ctx)
	return context.Cause(ctx)
}

// errAgain is wrapped by errors after which the library's loop asks again by itself.
var errAgain = errors.New("to be asked again")

// Do implements the library's HttpClient.
func (p *poller) Do(req *http.Request) (*http.Response, error) {
	last, err := p.next(req)
	if err == nil {
		return confirm(req, last), nil
	}
	if !errors.Is(err, errAgain) {
		p.end(err)
	}
	return nil, err
}

// confirm is the answer that makes the library's loop confirm all updates up to last.
func confirm(req *http.Request, last int64) *http.Response {
	body := `{"ok":true,"result":[]}`
	if last != 0 {
		body = fmt.Sprintf(`{"ok":true,"result":[{"update_id":%d}]}`, last)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}
}

// next fetches updates, hands them in and returns the newest one to confirm; 0: none.
func (p *poller) next(req *http.Request) (int64, error) {
	ctx := req.Context()
	if p.gather.waits() && !sleep(ctx, p.c.pace.albumLook) {
		_ = req.Body.Close()
		return 0, ctx.Err()
	}
	raws, err := p.fetch(req)
	if err != nil {
		return 0, err
	}
	p.s.sink.Heard()
	updates := make([]update, len(raws))
	for i, raw := range raws {
		updates[i] = p.c.decode(p.s.account.id, raw)
	}
	if err := p.accept(ctx, p.gather.sort(updates, time.Now())); err != nil {
		return 0, err
	}
	last := p.gather.confirm(updates)
	if last == 0 && len(updates) > 0 && !p.gather.waits() {
		return 0, fmt.Errorf("getUpdates: nothing of %d updates can be confirmed", len(updates))
	}
	return last, nil
}

// fetch asks the platform once.
func (p *poller) fetch(req *http.Request) ([][]byte, error) {
	const op = "getUpdates"
	ctx := req.Context()
	x := &exchange{}
	if p.first {
		if err := hurry(req, p.c.pace.poll); err != nil {
			return nil, err
		}
	}
	resp, err := p.wire.Do(req.WithContext(context.WithValue(ctx, exchangeKey{}, x)))
	switch {
	case err != nil:
		return nil, p.c.outcome(op, x, err)
	case x.reply == nil && resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: the answer is %d and not of the platform", op, resp.StatusCode)
	case x.reply != nil && !x.reply.OK:
		return nil, p.refused(ctx, x)
	}
	raws, doubtful, err := splitUpdates(x)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", op, err)
	case doubtful && !bytes.Equal(x.body, p.doubted):
		p.doubted = x.body
		return nil, fmt.Errorf("%s: %w: the answer looks cut off", op, errAgain)
	}
	if !p.first { // the first waits for nothing, so that nobody can cut it short
		p.c.foreign.Store(false)
	}
	p.first, p.quarrel, p.doubted = false, time.Time{}, nil
	return raws, nil
}

// hurry makes the first poll of a Run answer at once, so that it is known whether the
// platform is there. The library has no other way to say so than in the form it made.
func hurry(req *http.Request, poll time.Duration) error {
	form, err := io.ReadAll(io.LimitReader(req.Body, wholeBody))
	_ = req.Body.Close()
	if err != nil {
		return err
	}
	const field = "name=\"timeout\"\r\n\r\n"
	full := fmt.Appendf(nil, "%s%d\r\n", field, int(poll.Seconds()))
	setBody(req, bytes.Replace(form, full, []byte(field+"0\r\n"), 1))
	return nil
}

// refused sorts what the platform answers a poll besides updates.
func (p *poller) refused(ctx context.Context, x *exchange) error {
	err := p.c.refusal("getUpdates", x)
	if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
		p.s.sink.Heard()
		p.c.log.WarnContext(ctx, "polls are rate limited", "duration", limited.RetryAfter)
		sleep(ctx, min(limited.RetryAfter, time.Minute))
		return fmt.Errorf("%w: %w", errAgain, err)
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
	p.c.log.DebugContext(ctx, "another poll is open; perhaps our own former one", "error", err)
	return fmt.Errorf("%w: %w", errAgain, err)
}

// dropWebhook takes away the webhook that keeps updates from being polled; what waits
// for it is kept. Only a channel that has told nothing yet does so: a webhook that is
// set while it runs is somebody else's.
func (p *poller) dropWebhook(ctx context.Context, err error) error {
	if !p.first {
		return err
	}
	drop := p.c.do(ctx, "deleteWebhook", 0, func(ctx context.Context, lib *bot.Bot) error {
		_, err := lib.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
		return err
	})
	if drop != nil {
		return errors.Join(err, drop)
	}
	p.c.log.InfoContext(ctx, "deleted the webhook that was set, to poll instead")
	return fmt.Errorf("%w: %w", errAgain, err)
}

// accept hands a batch in until it is taken. What is nothing of ours is taken as it
// is.
func (p *poller) accept(ctx context.Context, batch []update) error {
	ours := slices.DeleteFunc(slices.Clone(batch), func(u update) bool { return u.event == nil })
	events := make([]channels.Event, len(ours))
	for i, u := range ours {
		events[i] = *u.event
	}
	receipts, err := p.handIn(ctx, events)
	if err != nil {
		return err
	}
	p.gather.took(batch)
	for i, u := range ours {
		p.c.albums.remember(u)
		if u.query != "" && i < len(receipts) {
			p.c.answer(ctx, p.s, u.query, receipts[i].Toast)
		}
	}
	for _, u := range batch {
		if u.event == nil && u.query != "" {
			p.c.answer(ctx, p.s, u.query, "")
		}
	}
	return nil
}

func (p *poller) handIn(ctx context.Context, events []channels.Event) ([]channels.Receipt, error) {
	if len(events) == 0 {
		return nil, nil
	}
	for pause := p.c.pace.acceptFirst; ; pause = min(2*pause, p.c.pace.acceptMost) {
		receipts, err := p.s.sink.Accept(ctx, events)
		if err == nil {
			return receipts, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.c.log.WarnContext(ctx, "events not accepted; they are handed in again", "events", len(events), "error", err)
		if !sleep(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}
