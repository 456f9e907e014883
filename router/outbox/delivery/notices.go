package delivery

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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

// Notify notifies whoever [notify] names for the kind, or each admin in their last used direct
// chat. Notices of the same kind about the same within ten minutes are one. It waits for
// the database only; what could not be written is logged.
func (cs *Connections) Notify(ctx context.Context, kind outbox.NoticeKind, about, text string) {
	cs.NotifyOnce(ctx, kind, about, text, noticeQuiet)
}

// NotifyOnce is Notify where equal notices are one for that long.
func (cs *Connections) NotifyOnce(ctx context.Context, kind outbox.NoticeKind, about, text string, quiet time.Duration) {
	cs.notifyBut(ctx, kind, about, text, tools.Clean, channels.Conversation{}, quiet)
}

// notifyBut leaves out a conversation in which it is said already.
func (cs *Connections) notifyBut(ctx context.Context, kind outbox.NoticeKind, about, text string, taint tools.Taint, but channels.Conversation, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	chats, err := cs.NoticeChats(ctx, kind)
	all := len(chats)
	chats = slices.DeleteFunc(chats, func(c channels.Conversation) bool { return core.SessionKey(c) == core.SessionKey(but) })
	if err != nil {
		cs.Log.ErrorContext(ctx, "some receivers of a notice could not be read", "kind", string(kind), "error", err)
	} else if len(chats) < all && len(chats) == 0 {
		return
	}
	cs.NotifyIn(ctx, chats, kind, about, text, taint, quiet)
}

// NotifyIn is NotifyOnce in these chats alone; where there is none, the log alone has it.
func (cs *Connections) NotifyIn(ctx context.Context, chats []channels.Conversation, kind outbox.NoticeKind, about, text string, taint tools.Taint, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	if len(chats) == 0 {
		cs.Log.WarnContext(ctx, "nobody could be notified: no admin has a direct chat with me here yet", "kind", string(kind), "about", about, "text", text)
		return
	}
	cs.Log.WarnContext(ctx, "the admins are notified", "kind", string(kind), "about", about, "text", text)
	var err error
	for _, chat := range chats {
		if to := cs.Connection(chat.Channel); to != nil {
			_, one := cs.Store.NotifyFor(ctx, noticeKey("notice of", string(kind), about, chat), quiet, chat, to.Alert(chat, text, taint))
			err = errors.Join(err, one)
			cs.Committed(chat)
		}
	}
	if err != nil {
		cs.Log.ErrorContext(ctx, "the admins could not be notified", "kind", string(kind), "error", err)
	}
}

// noticeKey is the key of a notice of some kind about something.
func noticeKey(lead, kind string, about any, to channels.Conversation) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v\x00%s\x00%s\x00", lead, kind, about, to.Channel, to.ID))
	return key[:]
}

// NotifyDropped notifies the admins, once a day and channel, that parts which waited for a channel that
// is away were dropped, and has their people be told as soon as it is back.
func (cs *Connections) NotifyDropped(ctx context.Context, channel string, parts int64) {
	text := fmt.Sprintf("The channel %s is away. Too much waits for it, so the oldest was dropped: %s. The people there are told when it is back. "+
		"`[router] away_limit` says how much is kept; \"switchboard delivery list --state dropped\" lists what was dropped.",
		render.Escape(channel), words.Count(int(parts), "part"))
	cs.NotifyOnce(ctx, outbox.NoticeDeadDelivery, channel+" away", text, 24*time.Hour)
	cs.Committed(channels.Conversation{Channel: channel})
}

// NoticeChats are where notices of a kind go, as far as their channels are here.
func (cs *Connections) NoticeChats(ctx context.Context, kind outbox.NoticeKind) (list []channels.Conversation, err error) {
	targets := cs.Targets(kind)
	if len(targets) == 0 {
		return cs.AdminChats(ctx)
	}
	known, err := cs.Store.Chats(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		channel, id, named := strings.Cut(target, ":")
		i := slices.IndexFunc(known, func(c core.Chat) bool {
			to, p := cs.Connection(c.Channel), cs.People.Named(target)
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
		case named && cs.Connection(channel) != nil:
			list = append(list, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
		default:
			cs.Log.WarnContext(ctx, "a target of [notify] cannot be written to", "kind", string(kind), "target", target)
		}
	}
	if len(list) == 0 {
		return cs.AdminChats(ctx)
	}
	return list, nil
}

// AdminChats are the direct chats that each admin used last, as far as their channels are
// here and they are theirs still.
func (cs *Connections) AdminChats(ctx context.Context) (list []channels.Conversation, err error) {
	chats, err := cs.Store.AdminChats(ctx)
	seen := map[string]bool{}
	for _, c := range chats {
		to, p := cs.Connection(c.Channel), cs.People.Named(c.Person)
		if to != nil && to.Attached() && p != nil && !seen[c.Person] && to.IsOf(c, p) {
			seen[c.Person] = true
			list = append(list, c.Conversation)
		}
	}
	return list, err
}
