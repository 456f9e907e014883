package delivery

import (
	"context"
	"errors"
	"time"

	"switchboard/router/outbox"

	"switchboard/channels"
)

const (
	// unknownAtMost is how long a part of which the platform cannot say whether it arrived may block
	// its conversation, while it shows otherwise that it takes messages.
	unknownAtMost = 30 * time.Second
	// askAgain is the least time until the platform is asked again.
	askAgain = 2 * time.Second
)

// tooOld says that d may have arrived by an earlier try, and that its nonce, which would show
// it once, is enforced no longer.
func (t *transport) tooOld(d *outbox.Delivery) bool {
	deduper, ok := t.channel().(channels.Deduper)
	return ok && d.Tries > 1 && d.PlatformID == "" && time.Since(d.FirstTry) >= deduper.Window()
}

// inquire decides about a part whose send was cut off. An edit is made again, which
// changes nothing the second time. Otherwise the way is an ability of the channel: a Deduper is sent the same nonce again while its window lasts, a
// Finder is asked, and with neither the part is sent once more, marked.
func (t *transport) inquire(ctx context.Context, d *outbox.Delivery) (outbox.Settlement, time.Duration) {
	if d.PlatformID != "" {
		return outbox.Settlement{State: outbox.DeliveryPending, Outcome: "edit_again"}, 0
	}
	if deduper, ok := t.channel().(channels.Deduper); ok && time.Since(d.FirstTry) < deduper.Window() {
		return outbox.Settlement{State: outbox.DeliveryPending, Outcome: "same_nonce"}, 0
	}
	if finder, ok := t.channel().(channels.Finder); ok {
		return t.find(ctx, finder, d)
	}
	if d.Repeated {
		return outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "unknown_twice", Final: true}, 0
	}
	body := t.composer.Repeated(d.Body)
	return outbox.Settlement{State: outbox.DeliveryPending, Outcome: "repeat", Repeated: true, Body: &body, Fresh: true}, 0
}

// find asks the platform for the part. Where it cannot say, the part is given up for unknown once
// the platform has shown for a while that it is not away. One that wants to be asked later is.
func (t *transport) find(ctx context.Context, finder channels.Finder, d *outbox.Delivery) (outbox.Settlement, time.Duration) {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id, found, err := finder.Find(asking, t.outbound(d))
	limited, later := errors.AsType[*channels.RateLimitError](err)
	switch {
	case later:
		return outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, max(limited.RetryAfter, askAgain)
	case err == nil && found:
		return outbox.Settlement{State: outbox.DeliverySent, Outcome: "found", PlatformID: id}, 0
	case err == nil:
		return outbox.Settlement{State: outbox.DeliveryPending, Outcome: "absent", Fresh: true}, 0
	case t.signs.silentFor(ctx, d) >= unknownAtMost:
		return outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "cannot_ask", Detail: err.Error(), Final: true}, 0
	}
	return outbox.Settlement{State: outbox.DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, askAgain
}
