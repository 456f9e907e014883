package delivery

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"switchboard/router/core"
	"switchboard/router/outbox"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
)

// noticeQuiet is for how long equal notices are one, whichever engines give them.
const noticeQuiet = 10 * time.Minute

// notices are for admins, or for whoever [notify] names.
type notices struct {
	ledger    Notices
	people    People
	targets   func(outbox.NoticeKind) []string
	recipient func(channel string) recipient // nil: it is not here
	committed func(channels.Conversation)
	log       *slog.Logger
}

// A recipient is a channel in which notices are given.
type recipient interface {
	Attached() bool
	IsOf(chat core.Chat, p *core.Person) bool
	Alert(conv channels.Conversation, text string, taint tools.Taint) outbox.Reply
}

// Notify notifies whoever [notify] names for the kind, or each admin in their last used direct
// chat. Notices of the same kind about the same within ten minutes are one. It waits for
// the database only; what could not be written is logged.
func (n *notices) Notify(ctx context.Context, kind outbox.NoticeKind, about, text string) {
	n.NotifyOnce(ctx, kind, about, text, noticeQuiet)
}

// NotifyOnce is Notify where equal notices are one for that long.
func (n *notices) NotifyOnce(ctx context.Context, kind outbox.NoticeKind, about, text string, quiet time.Duration) {
	n.notifyBut(ctx, kind, about, text, tools.Clean, channels.Conversation{}, quiet)
}

// notifyBut leaves out a conversation in which it is said already.
func (n *notices) notifyBut(ctx context.Context, kind outbox.NoticeKind, about, text string, taint tools.Taint, but channels.Conversation, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	chats, err := n.NoticeChats(ctx, kind)
	all := len(chats)
	chats = slices.DeleteFunc(chats, func(c channels.Conversation) bool { return c.Channel == but.Channel && c.ID == but.ID })
	if err != nil {
		n.log.ErrorContext(ctx, "some receivers of a notice could not be read", "kind", string(kind), "error", err)
	} else if len(chats) < all && len(chats) == 0 {
		return
	}
	n.NotifyIn(ctx, chats, kind, about, text, taint, quiet)
}

// NotifyIn is NotifyOnce in these chats alone; where there is none, the log alone has it.
func (n *notices) NotifyIn(ctx context.Context, chats []channels.Conversation, kind outbox.NoticeKind, about, text string, taint tools.Taint, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	if len(chats) == 0 {
		n.log.WarnContext(ctx, "nobody could be notified: no admin has a direct chat with me here yet", "kind", string(kind), "about", about, "text", text)
		return
	}
	n.log.WarnContext(ctx, "the admins are notified", "kind", string(kind), "about", about, "text", text)
	var err error
	for _, chat := range chats {
		if to := n.recipient(chat.Channel); to != nil {
			_, one := n.ledger.NotifyFor(ctx, noticeKey("notice of", string(kind), about, chat), quiet, chat, to.Alert(chat, text, taint))
			err = errors.Join(err, one)
			n.committed(chat)
		}
	}
	if err != nil {
		n.log.ErrorContext(ctx, "the admins could not be notified", "kind", string(kind), "error", err)
	}
}

// noticeKey is the key of a notice of some kind about something.
func noticeKey(lead, kind string, about any, to channels.Conversation) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%s\x00%s\x00", lead, kind, about, to.Channel, to.ID))
	return key[:]
}

// NotifyDropped notifies the admins, once a day and channel, that parts which waited for a channel that
// is away were dropped, and has their people be told as soon as it is back.
func (n *notices) NotifyDropped(ctx context.Context, channel string, parts int64) {
	text := fmt.Sprintf("The channel %s is away. Too much waits for it, so the oldest was dropped: %s. The people there are told when it is back. "+
		"`[router] away_limit` says how much is kept; \"switchboard delivery list --state dropped\" lists what was dropped.",
		render.Escape(channel), words.Count(int(parts), "part"))
	n.NotifyOnce(ctx, outbox.NoticeDeadDelivery, channel+" away", text, 24*time.Hour)
	n.committed(channels.Conversation{Channel: channel})
}

// NoticeChats are where notices of a kind go, as far as their channels are here.
func (n *notices) NoticeChats(ctx context.Context, kind outbox.NoticeKind) (list []channels.Conversation, err error) {
	targets := n.targets(kind)
	if len(targets) == 0 {
		return n.AdminChats(ctx)
	}
	known, err := n.ledger.Chats(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		channel, id, named := strings.Cut(target, ":")
		i := slices.IndexFunc(known, func(c core.Chat) bool {
			to, p := n.recipient(c.Channel), n.people.Named(target)
			switch {
			case to == nil:
				return false
			case named:
				return c.Channel == channel && string(c.ID) == id
			}
			return p != nil && c.Kind == channels.Direct && c.Person == p.Name && to.IsOf(c, p)
		})
		switch {
		case i >= 0:
			list = append(list, known[i].Conversation)
		case named && n.recipient(channel) != nil:
			list = append(list, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
		default:
			n.log.WarnContext(ctx, "a target of [notify] cannot be written to", "kind", string(kind), "target", target)
		}
	}
	if len(list) == 0 {
		return n.AdminChats(ctx)
	}
	return list, nil
}

// AdminChats are the direct chats that each admin used last, as far as their channels are
// here and they are theirs still.
func (n *notices) AdminChats(ctx context.Context) (list []channels.Conversation, err error) {
	chats, err := n.ledger.AdminChats(ctx)
	seen := map[string]bool{}
	for _, c := range chats {
		to, p := n.recipient(c.Channel), n.people.Named(c.Person)
		if to != nil && to.Attached() && p != nil && !seen[c.Person] && to.IsOf(c, p) {
			seen[c.Person] = true
			list = append(list, c.Conversation)
		}
	}
	return list, err
}
