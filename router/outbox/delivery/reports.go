package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/router/core"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/outbox"
)

// reports say, under a channel's lease, which parts did not arrive: to their people and to the admins.
type reports struct {
	*Connections
	composer *outbox.Composer // of the channel, which is of that kind
	kind     string
	lease    *lease
	log      *slog.Logger

	mu   sync.Mutex
	owed map[channels.ConversationID]time.Time // since when something is to be named there
}

// gone notifies the admins, once, that the conversation of a delivery is closed to
// us. An admin's own closed chat is no news to anybody, and so no alert ever
// concerns an alert.
func (r *reports) gone(ctx context.Context, d *outbox.Delivery) {
	conv := d.Conversation
	chats, own, err := r.adminChats(ctx, conv)
	if err == nil {
		var first bool
		err = r.lease.retry(ctx, "note a closed conversation", func(ctx context.Context) (err error) {
			first, err = r.Store.Gone(ctx, r.lease.Lease, conv)
			return err
		})
		if !first || own {
			return
		}
	}
	text := fmt.Sprintf("I cannot write to %s on %s any more: the platform says that I was blocked or removed there, or that it is gone. "+
		"Messages still waiting to be sent there are dropped. I won't say this again until somebody there writes to me.",
		shownName(conv), render.Escape(conv.Channel))
	for _, chat := range chats {
		if err == nil {
			err = r.notify(ctx, "notify an admin", noticeKey("notice", "gone", d.ID, chat), chat, text, "label")
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log.ErrorContext(ctx, "the admins could not be notified of a closed conversation", "conversation_id", conv.ID, "error", err)
	}
}

// notify commits a notice, which names something that others called so.
func (r *reports) notify(ctx context.Context, what string, key []byte, conv channels.Conversation, text string, taint tools.Taint) error {
	defer r.Committed(conv)
	return r.lease.retry(ctx, what, func(ctx context.Context) error {
		_, err := r.Store.Notify(ctx, key, conv, r.Connection(conv.Channel).Alert(conv, text, taint))
		return err
	})
}

// deadLead begins what is said of a part that was given up. What holds it is never
// said anything of: a refused notice has no notice of its own.
const deadLead = "One part of my answer could not be shown here"

// dead says that a part was given up, so that it does not disappear without a word: in its conversation, once for
// a message, and to the admins, unless it is a notice itself.
func (r *reports) dead(ctx context.Context, d *outbox.Delivery, outcome string) {
	conv := d.Conversation
	if !strings.Contains(d.Body.Text, deadLead) {
		err := r.notify(ctx, "notify of a part that was given up", noticeKey("notice", "dead", d.MessageID, conv), conv, deadText(d, outcome), "file")
		if err != nil && ctx.Err() == nil {
			r.log.ErrorContext(ctx, "no notice was committed of a part that was given up", "delivery_id", d.ID, "error", err)
		}
	}
	var notice bool
	err := r.lease.retry(ctx, "read what was given up", func(ctx context.Context) (err error) {
		notice, err = r.Store.IsNotice(ctx, d.MessageID)
		return err
	})
	if err != nil || notice {
		return
	}
	text := fmt.Sprintf("A part of an answer on %s, in %s, was given up: %s. \"switchboard delivery list --state dead\" lists all that were given up.",
		render.Escape(conv.Channel), shownName(conv), strings.ReplaceAll(outcome, "_", " "))
	r.notifyBut(ctx, outbox.NoticeDeadDelivery, conv.Channel, text, "label", conv, noticeQuiet)
}

func deadText(d *outbox.Delivery, outcome string) string {
	reason := "the platform refused it"
	if len(d.Body.Files) > 0 {
		name := render.Escape(words.OneLine(d.Body.Files[0].Name, outbox.ShownName))
		reason = "the platform refused the file " + name
		if n := len(d.Body.Files); n > 1 {
			reason += fmt.Sprintf(" or another of the %d files sent together", n)
		}
		if d.Body.Files[0].Size == 0 {
			reason = "the file " + name + " is empty"
		}
	}
	if outcome == "blocked_too_long" {
		reason = fmt.Sprintf("the platform did not take it for %.0f minutes", blockAtMost.Minutes())
	}
	if !d.Last {
		reason += ", and so what came after it is missing as well"
	}
	return deadLead + ": " + reason + "."
}

// shownName is what people know a conversation by.
func shownName(conv channels.Conversation) string {
	return render.Escape(words.OneLine(cmp.Or(conv.Title, string(conv.ID)), outbox.ShownName))
}

// adminChats lists where the admins are notified, and says whether conv is an admin's
// own chat. It is asked before conv is known to be closed.
func (r *reports) adminChats(ctx context.Context, conv channels.Conversation) (chats []channels.Conversation, own bool, err error) {
	err = r.lease.retry(ctx, "read the admins' chats", func(ctx context.Context) (err error) {
		chats, err = r.NoticeChats(ctx, outbox.NoticeDeadDelivery)
		return err
	})
	if err != nil || conv.Kind != channels.Direct {
		return chats, false, err
	}
	own = slices.ContainsFunc(chats, func(c channels.Conversation) bool { return core.SessionKey(c) == core.SessionKey(conv) })
	isAdmin := func(p *core.Person) bool { return p != nil && p.Role == core.RoleAdmin }
	if own || isAdmin(r.People.Identified(r.composer.Name+":"+string(conv.ID), r.kind+":"+string(conv.ID))) {
		return chats, true, nil
	}
	person, err := r.Store.CurrentPerson(ctx, core.SessionKey(conv))
	if errors.Is(err, core.ErrNotFound) {
		return chats, false, nil
	}
	return chats, err == nil && isAdmin(r.People.Named(person)), err
}

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
	list, err := r.Store.Unnamed(ctx, r.lease.Lease)
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
		list, err := r.Store.Unnamed(ctx, r.lease.Lease)
		list = slices.DeleteFunc(list, func(u outbox.Unnamed) bool { return u.Conversation.ID != conv })
		if err != nil || len(list) == 0 {
			return err
		}
		r.lostAlert(ctx, list)
		to := list[0].Conversation
		zone := r.Zone(ctx, to, list[0].Person)
		lost := slices.DeleteFunc(slices.Clone(list), func(u outbox.Unnamed) bool { return u.Dropped })
		dropped := slices.DeleteFunc(slices.Clone(list), func(u outbox.Unnamed) bool { return !u.Dropped })
		var said []string
		if len(dropped) > 0 {
			said = append(said, droppedNotice(dropped, zone))
		}
		if len(lost) > 0 {
			said = append(said, lostNotice(lost, zone, time.Now(), r.composer.Command(to)))
		}
		return r.Store.Name(ctx, r.lease.Lease, list, r.composer.Alert(to, strings.Join(said, "\n\n"), tools.Clean))
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
func lostNotice(list []outbox.Unnamed, zone *time.Location, now time.Time, slash string) string {
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
func droppedNotice(list []outbox.Unnamed, zone *time.Location) string {
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
func (r *reports) lostAlert(ctx context.Context, list []outbox.Unnamed) {
	if !slices.ContainsFunc(list, func(u outbox.Unnamed) bool { return !u.Notice && !u.Dropped }) {
		return
	}
	conv := list[0].Conversation
	text := fmt.Sprintf("An answer on %s, in %s, may not have arrived: the platform never confirmed it. "+
		"The people there are told. \"switchboard delivery list --state unknown\" lists all of them.",
		render.Escape(conv.Channel), shownName(conv))
	r.notifyBut(ctx, outbox.NoticeDeadDelivery, conv.Channel+" unknown", text, "label", conv, noticeQuiet)
}
