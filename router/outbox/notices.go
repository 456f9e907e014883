package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/core"
)

const (
	// noticeQuiet is for how long equal notices are one, whichever engines give them.
	noticeQuiet = 10 * time.Minute
	// downAfter is for how long a channel may be away before that is no passing trouble.
	downAfter = 5 * time.Minute
	downLook  = 20 * time.Second
)

// Notify notifies whoever [notify] names for the kind, or each admin in their last used direct
// chat. Notices of the same kind about the same within ten minutes are one. It waits for
// the database only; what could not be written is logged.
func (ls *Connections) Notify(ctx context.Context, kind NoticeKind, about, text string) {
	ls.NotifyOnce(ctx, kind, about, text, noticeQuiet)
}

// NotifyOnce is Notify where equal notices are one for that long.
func (ls *Connections) NotifyOnce(ctx context.Context, kind NoticeKind, about, text string, quiet time.Duration) {
	ls.notifyBut(ctx, kind, about, text, tools.Clean, channels.Conversation{}, quiet)
}

// notifyBut leaves out a conversation in which it is said already.
func (ls *Connections) notifyBut(ctx context.Context, kind NoticeKind, about, text string, taint tools.Taint, but channels.Conversation, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	chats, err := ls.NoticeChats(ctx, kind)
	all := len(chats)
	chats = slices.DeleteFunc(chats, func(c channels.Conversation) bool { return c.Channel == but.Channel && c.ID == but.ID })
	if err != nil {
		ls.Log.ErrorContext(ctx, "some receivers of a notice could not be read", "kind", string(kind), "error", err)
	} else if len(chats) < all && len(chats) == 0 {
		return
	}
	ls.NotifyIn(ctx, chats, kind, about, text, taint, quiet)
}

// NotifyIn is NotifyOnce in these chats alone; where there is none, the log alone has it.
func (ls *Connections) NotifyIn(ctx context.Context, chats []channels.Conversation, kind NoticeKind, about, text string, taint tools.Taint, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	if len(chats) == 0 {
		ls.Log.WarnContext(ctx, "nobody could be notified: no admin has a direct chat with me here yet", "kind", string(kind), "about", about, "text", text)
		return
	}
	ls.Log.WarnContext(ctx, "the admins are notified", "kind", string(kind), "about", about, "text", text)
	var err error
	for _, chat := range chats {
		to := ls.Connection(chat.Channel)
		if to == nil {
			continue
		}
		key := sha256.Sum256(fmt.Appendf(nil, "notice of\x00%s\x00%s\x00%s\x00%s\x00", kind, about, chat.Channel, chat.ID))
		_, one := ls.Ledger.NotifyFor(ctx, key[:], quiet, chat, to.alert(chat, text, taint))
		err = errors.Join(err, one)
		to.Committed(chat)
	}
	if err != nil {
		ls.Log.ErrorContext(ctx, "the admins could not be notified", "kind", string(kind), "error", err)
	}
}

// NoticeChats are where notices of a kind go, as far as their channels are here.
func (ls *Connections) NoticeChats(ctx context.Context, kind NoticeKind) (list []channels.Conversation, err error) {
	var targets []string
	if ls.Targets != nil {
		targets = ls.Targets(kind)
	}
	if len(targets) == 0 {
		return ls.AdminChats(ctx)
	}
	known, err := ls.Ledger.Chats(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		channel, id, named := strings.Cut(target, ":")
		i := slices.IndexFunc(known, func(c core.Chat) bool {
			l := ls.Connection(c.Channel)
			if named {
				return l != nil && c.Channel == channel && string(c.ID) == id
			}
			p := ls.People.Named(target)
			return l != nil && p != nil && c.Kind == channels.Direct && c.Person == p.Name && l.IsOf(c, p)
		})
		switch {
		case i >= 0:
			list = append(list, known[i].Conversation)
		case named && ls.Connection(channel) != nil:
			list = append(list, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
		default:
			ls.Log.WarnContext(ctx, "a target of [notify] cannot be written to", "kind", string(kind), "target", target)
		}
	}
	if len(list) == 0 {
		return ls.AdminChats(ctx)
	}
	return list, nil
}

// deadAlert notifies the admins of a part that was given up, unless it is a notice itself.
func (s *sender) deadAlert(ctx context.Context, d *Delivery, outcome string) {
	ls, conv := s.line.lines, d.Conversation
	var notice bool
	err := s.insist(ctx, "look what was given up", func(ctx context.Context) (err error) {
		notice, err = ls.Ledger.IsNotice(ctx, d.MessageID)
		return err
	})
	if err != nil || notice {
		return
	}
	text := fmt.Sprintf("A part of an answer on %s, in %s, was given up: %s. \"switchboard delivery list --state dead\" lists all that were given up.",
		render.Escape(conv.Channel), render.Escape(words.OneLine(calledSo(conv), ShownName)), strings.ReplaceAll(outcome, "_", " "))
	ls.notifyBut(ctx, NoticeDeadDelivery, conv.Channel, text, "label", conv, noticeQuiet)
}

// calledSo is what people know a conversation by.
func calledSo(conv channels.Conversation) string {
	if conv.Title != "" {
		return conv.Title
	}
	return string(conv.ID)
}

// watchDown notifies once of each time that the channel is away for long.
func (l *Connection) watchDown(ctx context.Context) {
	var told time.Time
	began := time.Now() // before that it was another engine's, or nobody's
	for retry.Sleep(ctx, downLook) {
		since, acts, reason := l.health.downSince()
		if since.Before(began) && !since.IsZero() {
			since = began
		}
		if since.IsZero() || since.Equal(told) || acts == "" && time.Since(since) < downAfter {
			continue
		}
		told = since
		l.notifyDown(ctx, cmp.Or(acts, "has been away since "+since.UTC().Format("15:04 UTC")), reason)
	}
}

func (l *Connection) notifyDown(ctx context.Context, how, reason string) {
	text := fmt.Sprintf("The channel %s %s", render.Escape(l.Name), how)
	if reason != "" {
		text += ": " + render.Escape(words.OneLine(reason, 300))
	}
	l.lines.Notify(ctx, NoticeChannelDown, l.Name, text+".")
}
