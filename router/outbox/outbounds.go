package outbox

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/ledger"
	"switchboard/router/outbox/compose"
)

// outbounds are parts as a channel sends them.
type outbounds struct {
	*adapter
	composer   *compose.Composer
	ledger     Deliveries
	staleAfter func() time.Duration
}

// outbound is the part as it is looked for.
func (o *outbounds) outbound(d *ledger.Delivery) channels.Outbound {
	return channels.Outbound{
		Conversation: d.Conversation, Body: o.timely(d), ReplyTo: d.ReplyTo,
		Nonce: d.Nonce, Noted: d.Noted, FirstTry: d.FirstTry, Part: d.Part, Last: d.Last, Open: o.composer.OpenFile(d.Body),
		Taken: func(ctx context.Context, id channels.MessageID) (bool, error) {
			return o.ledger.Taken(ctx, d, id)
		},
	}
}

// lateMark is short enough to fit wherever the mark of a repeat would.
const lateMark = "(late) "

// timely is what is sent of a part: one that was written long before it could be sent for
// the first time says so. The row keeps it as it was written.
func (o *outbounds) timely(d *ledger.Delivery) channels.Body {
	late := d.FirstTry.Sub(d.Written)
	if d.Written.IsZero() || d.FirstTry.IsZero() || late <= o.staleAfter() {
		return d.Body
	}
	features := o.channel().Features(d.Conversation)
	for _, mark := range []string{"(" + words.Span(late) + " late) ", lateMark} {
		if features.MaxText <= 0 || features.Len(d.Body.Text)+features.Len(mark) <= features.MaxText {
			return o.composer.Marked(d.Body, mark, "")
		}
	}
	return d.Body // it is marked as repeated, and full
}
