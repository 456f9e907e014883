package delivery

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/retry"
	"switchboard/router/ledger"
)

// buttonPatience is how long taking buttons off may wait for budget to spare.
const buttonPatience = 10 * time.Second

// answered takes the buttons off a part whose question was answered before it was
// known under which ID the part is shown.
func (l *Line) answered(ctx context.Context, d *ledger.Delivery, id channels.MessageID) {
	if _, ok := l.channel.(channels.Unbuttoner); !ok {
		return
	}
	over, err := l.lines.Ledger.Answered(ctx, d.MessageID)
	if err != nil {
		l.lines.Log.DebugContext(ctx, "buttons stay", "channel", l.Name, "conversation_id", d.Conversation.ID, "error", err)
	} else if over {
		l.Unbutton(d.Conversation, id)
	}
}

// Unbutton takes the buttons off a message of ours, best effort and in the
// background: the platform waits for an answer to the press.
func (l *Line) Unbutton(conv channels.Conversation, id channels.MessageID) {
	unbuttoner, ok := l.channel.(channels.Unbuttoner)
	if !ok || id == "" {
		return
	}
	l.lines.asides.Go(func() {
		ctx, cancel := context.WithTimeout(l.lines.work, buttonPatience)
		defer cancel()
		for !l.limits.spareOf(l.channel.Features(conv).Rates, time.Now()) {
			if !retry.Sleep(ctx, time.Second) {
				return
			}
		}
		if err := unbuttoner.RemoveButtons(ctx, conv, id); err != nil {
			l.lines.Log.DebugContext(ctx, "buttons stay", "channel", l.Name, "conversation_id", conv.ID, "error", err)
		}
	})
}
