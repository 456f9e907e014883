package delivery

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/outbox"
)

// buttonTimeout is how long taking buttons off, or an edit of a question, may wait for
// budget to spare and for a platform that limits it, and take; and how long it is tried to delete a message.
const buttonTimeout = time.Minute

// buttons are those under messages of a channel that are decided: they are taken off.
type buttons struct {
	*adapter
	composer   *outbox.Composer
	limits     *limits
	ledger     Questions
	decided    func(ctx context.Context, approval int64)
	background func(func())
	work       context.Context // of calls
	log        *slog.Logger

	mu    sync.Mutex
	alone map[channels.MessageID]*alone
}

// An alone lets one call about the buttons of a message be under way at a time.
type alone struct {
	sync.Mutex
	calls int // under way, or waiting
}

// answered does what Decided or Unbutton does to a part whose question was answered before
// it was known under which ID the part is shown.
func (b *buttons) answered(ctx context.Context, d *outbox.Delivery, id channels.MessageID) {
	over, approval, err := b.ledger.Answered(ctx, d.MessageID)
	switch {
	case err != nil:
		b.log.DebugContext(ctx, "buttons stay", "conversation_id", d.Conversation.ID, "error", err)
	case approval != 0 && over:
		b.decided(ctx, approval)
	case over:
		b.Unbutton(d.Conversation, id)
	}
}

// settleQuestion shows what was decided about a question where the platform can edit it, and takes
// only its buttons off where it cannot.
func (b *buttons) settleQuestion(q *outbox.Decided) {
	editor, ok := b.channel().(channels.Editor)
	if !ok {
		b.Unbutton(q.Conversation, q.Message)
		return
	}
	b.whenSpare(q.Conversation, q.Message, "a question stays as it was asked", func(ctx context.Context) error {
		return editor.Edit(ctx, q.Conversation, q.Message, b.composer.DecidedPart(q))
	}, func() { b.Unbutton(q.Conversation, q.Message) })
}

// Unask takes the buttons off a message of ours that was decided; best effort and in the background.
// It reads after the commit of the decision, as answered reads after that of the message: of two at
// once, one sees the other.
func (b *buttons) Unask(ctx context.Context, conv channels.Conversation, message int64) {
	id, err := b.ledger.Useless(ctx, message)
	if err != nil {
		b.log.DebugContext(ctx, "buttons stay", "conversation_id", conv.ID, "error", err)
	}
	b.Unbutton(conv, id)
}

// Unbutton takes the buttons off a message of ours, best effort and in the
// background: the platform waits for an answer to the press.
func (b *buttons) Unbutton(conv channels.Conversation, id channels.MessageID) {
	unbuttoner, ok := b.channel().(channels.Unbuttoner)
	if !ok || id == "" {
		return
	}
	b.whenSpare(conv, id, "buttons stay", func(ctx context.Context) error { return unbuttoner.RemoveButtons(ctx, conv, id) }, func() {})
}

// whenSpare makes a call in the background as soon as the platform's budget has room for it, and
// again for as long as the platform limits it. Where it fails, stays says what is so, and failed is called.
func (b *buttons) whenSpare(conv channels.Conversation, id channels.MessageID, stays string, call func(context.Context) error, failed func()) {
	b.background(func() {
		ctx, cancel := context.WithTimeout(b.work, buttonTimeout)
		defer cancel()
		for {
			pause := time.Second
			if b.limits.spareOf(b.rates(conv), time.Now()) {
				err := b.oneByOne(id, func() error { return call(ctx) })
				limited, ok := errors.AsType[*channels.RateLimitError](err)
				if err != nil && !ok {
					b.log.DebugContext(ctx, stays, "conversation_id", conv.ID, "error", err)
					failed()
				}
				if !ok {
					return
				}
				pause = max(pause, limited.RetryAfter)
			}
			if !retry.Sleep(ctx, pause) {
				return
			}
		}
	})
}

// oneByOne makes a call when none other about the buttons of the message is under way: to take them off, some
// platforms read the message and write it again, and would undo what is written in between.
func (b *buttons) oneByOne(id channels.MessageID, call func() error) error {
	b.mu.Lock()
	if b.alone == nil {
		b.alone = map[channels.MessageID]*alone{}
	}
	a := b.alone[id]
	if a == nil {
		a = &alone{}
		b.alone[id] = a
	}
	a.calls++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if a.calls--; a.calls == 0 {
			delete(b.alone, id)
		}
	}()
	a.Lock()
	defer a.Unlock()
	return call()
}

// Removes says that a message which somebody sent to us there can be deleted.
func (c *Connection) Removes(conv channels.Conversation) bool {
	_, deletes := c.channel().(channels.Deleter)
	return deletes && c.channel().Features(conv).Removes
}

// Remove deletes, in the background, a message that somebody sent to us; failed is called where
// it stays.
func (c *Connection) Remove(conv channels.Conversation, id channels.MessageID, failed func(context.Context)) {
	deleter, ok := c.channel().(channels.Deleter)
	if !ok || id == "" {
		return
	}
	c.parent.Background(func() {
		ctx, cancel := context.WithTimeout(c.parent.work, buttonTimeout)
		defer cancel()
		var err error
		for range retry.Doubling(ctx, time.Second, 10*time.Second) {
			err = deleter.Delete(ctx, conv, id)
			if err == nil || isRefused(err) || errors.Is(err, channels.ErrGone) {
				break
			}
		}
		if err != nil {
			c.Log.WarnContext(ctx, "a message with a secret could not be deleted", "conversation_id", conv.ID, "error", err)
			failed(context.WithoutCancel(ctx))
		}
	})
}
