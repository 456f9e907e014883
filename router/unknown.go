package router

import (
	"context"
	"time"

	"switchboard/channels"
)

// unknownAtMost is how long a part of which nobody knows whether it arrived may
// block its conversation.
const unknownAtMost = 30 * time.Second

// inquire decides about a part whose send was cut off. An edit is made again, which
// changes nothing the second time. Otherwise the way is an ability of the channel: a Deduper is sent the same nonce again while its window lasts, a
// Finder is asked, and with neither the part is sent once more, marked.
func (l *line) inquire(ctx context.Context, d *Delivery) (Settlement, time.Duration) {
	now := time.Now()
	if d.PlatformID != "" {
		return Settlement{State: DeliveryPending, Outcome: "edit_again"}, 0
	}
	if deduper, ok := l.channel.(channels.Deduper); ok && now.Sub(d.FirstTry) < deduper.Window() {
		return Settlement{State: DeliveryPending, Outcome: "same_nonce"}, 0
	}
	if finder, ok := l.channel.(channels.Finder); ok {
		return l.find(ctx, finder, d, now)
	}
	if d.Repeated {
		return Settlement{State: DeliveryUnknown, Outcome: "unknown_twice", Final: true}, 0
	}
	body := l.repeated(d.Body)
	return Settlement{State: DeliveryPending, Outcome: "repeat", Repeated: true, Body: &body}, 0
}

func (l *line) find(ctx context.Context, finder channels.Finder, d *Delivery, now time.Time) (Settlement, time.Duration) {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id, found, err := finder.Find(asking, l.outbound(d))
	switch {
	case err == nil && found:
		return Settlement{State: DeliverySent, Outcome: "found", PlatformID: id}, 0
	case err == nil:
		return Settlement{State: DeliveryPending, Outcome: "absent"}, 0
	case now.Sub(d.LastTry) >= unknownAtMost && now.Sub(l.router.began) >= unknownAtMost:
		return Settlement{State: DeliveryUnknown, Outcome: "cannot_ask", Detail: err.Error(), Final: true}, 0
	}
	return Settlement{State: DeliveryUnknown, Outcome: "asking", Detail: err.Error()}, 2 * time.Second
}
