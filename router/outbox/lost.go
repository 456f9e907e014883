package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/ledger"
)

// lostText is in what names answers that ended unknown. What holds it is never named itself.
const lostText = "may not have reached you."

// owe notes that something of conv is to be named to its people, since then; zero: nothing is.
func (r *reports) owe(conv channels.ConversationID, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owed[conv] = since; since.IsZero() {
		delete(r.owed, conv)
	}
}

// owes is since when something of conv is to be named; zero: nothing is.
func (r *reports) owes(conv channels.ConversationID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owed[conv]
}

// findUnnamed lists the conversations in which holders before this one left something unnamed.
func (r *reports) findUnnamed(ctx context.Context) (convs []channels.Conversation, err error) {
	list, err := r.unnamed.Unnamed(ctx, r.lease.Lease)
	for _, u := range list {
		r.owe(u.Conversation.ID, time.Now().Add(-probeAfter))
		convs = append(convs, u.Conversation)
	}
	return convs, err
}

// nameLost tells the people of conv and the admins which answers may not have arrived. It returns the
// pause before the next try.
func (r *reports) nameLost(ctx context.Context, conv channels.ConversationID) (wait time.Duration) {
	err := r.lease.retry(ctx, "name what may not have arrived", func(ctx context.Context) error {
		list, err := r.unnamed.Unnamed(ctx, r.lease.Lease)
		list = slices.DeleteFunc(list, func(u ledger.Unnamed) bool { return u.Conversation.ID != conv })
		if err != nil || len(list) == 0 {
			return err
		}
		r.lostAlert(ctx, list)
		to := list[0].Conversation
		zone := r.zone(ctx, to, list[0].Person)
		var dropped, lost []ledger.Unnamed
		for _, u := range list {
			if u.Dropped {
				dropped = append(dropped, u)
			} else {
				lost = append(lost, u)
			}
		}
		var said []string
		if len(dropped) > 0 {
			said = append(said, droppedNotice(dropped, zone))
		}
		if len(lost) > 0 {
			said = append(said, lostNotice(lost, zone, time.Now(), r.composer.Command(to)))
		}
		return r.unnamed.Name(ctx, r.lease.Lease, list, r.composer.Alert(to, strings.Join(said, "\n\n"), tools.Clean))
	})
	if err != nil {
		if ctx.Err() == nil {
			r.log.ErrorContext(ctx, "lost answers could not be reported", "conversation_id", conv, "error", err)
		}
		return retryMin
	}
	r.owe(conv, time.Time{})
	return 0
}

// lostNotice names answers by the times at which they were given.
func lostNotice(list []ledger.Unnamed, zone *time.Location, now time.Time, slash string) string {
	var at []string
	for _, u := range list {
		layout := "15:04 MST"
		if now.Sub(u.Written) > 12*time.Hour {
			layout = "2 January, 15:04 MST"
		}
		if said := u.Written.In(zone).Format(layout); !slices.Contains(at, said) {
			at = append(at, said)
		}
	}
	latest := len(at) - 1
	if latest == 0 {
		return fmt.Sprintf("An answer from %s %s %sresend sends it again.", at[0], lostText, slash)
	}
	return fmt.Sprintf("Answers from %s and %s %s %sresend sends them again.", strings.Join(at[:latest], ", "), at[latest], lostText, slash)
}

// droppedNotice names messages, the oldest first, that were dropped while the channel was away.
func droppedNotice(list []ledger.Unnamed, zone *time.Location) string {
	const layout = "2 January, 15:04 MST"
	messages, when := map[int64]bool{}, "from "+list[0].Written.In(zone).Format(layout)
	for _, u := range list {
		messages[u.Message] = true
	}
	if len(messages) > 1 {
		when += " to " + list[len(list)-1].Written.In(zone).Format(layout)
	}
	return fmt.Sprintf("I could not reach you here for a while. %s of mine, %s, did not arrive, or only in part. "+
		"Ask me again for what you still need.", words.Count(len(messages), "message"), when)
}

// lostAlert tells the admins of answers that are no notices themselves.
func (r *reports) lostAlert(ctx context.Context, list []ledger.Unnamed) {
	if !slices.ContainsFunc(list, func(u ledger.Unnamed) bool { return !u.Notice && !u.Dropped }) {
		return
	}
	conv := list[0].Conversation
	text := fmt.Sprintf("An answer on %s, in %s, may not have arrived: the platform never confirmed it. "+
		"The people there are told. \"switchboard delivery list --state unknown\" lists all of them.",
		render.Escape(conv.Channel), shownName(conv))
	r.notifyBut(ctx, ledger.NoticeDeadDelivery, conv.Channel+" unknown", text, "label", conv, noticeQuiet)
}
