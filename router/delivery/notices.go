package delivery

import (
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
	"switchboard/retry"
	"switchboard/router/ledger"
	"switchboard/words"
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
func (ls *Lines) Notify(ctx context.Context, kind ledger.NoticeKind, about, text string) {
	ls.NotifyOnce(ctx, kind, about, text, noticeQuiet)
}

// NotifyOnce is Notify where equal notices are one for that long.
func (ls *Lines) NotifyOnce(ctx context.Context, kind ledger.NoticeKind, about, text string, quiet time.Duration) {
	ls.notifyBut(ctx, kind, about, text, tools.Clean, channels.Conversation{}, quiet)
}

// notifyBut leaves out a conversation in which it is said already.
func (ls *Lines) notifyBut(ctx context.Context, kind ledger.NoticeKind, about, text string, taint tools.Taint, but channels.Conversation, quiet time.Duration) {
	ctx = context.WithoutCancel(ctx)
	ls.Log.WarnContext(ctx, "the admins are notified", "kind", string(kind), "about", about, "text", text)
	chats, err := ls.NoticeChats(ctx, kind)
	for _, chat := range chats {
		to := ls.Line(chat.Channel)
		if to == nil || chat.Channel == but.Channel && chat.ID == but.ID {
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
func (ls *Lines) NoticeChats(ctx context.Context, kind ledger.NoticeKind) (list []channels.Conversation, err error) {
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
		i := slices.IndexFunc(known, func(c ledger.Chat) bool {
			l := ls.Line(c.Channel)
			if named {
				return l != nil && c.Channel == channel && string(c.ID) == id
			}
			p := ls.People.Named(target)
			return l != nil && p != nil && c.Kind == channels.Direct && c.Person == p.Name && l.IsOf(c, p)
		})
		switch {
		case i >= 0:
			list = append(list, known[i].Conversation)
		case named && ls.Line(channel) != nil:
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
func (s *sender) deadAlert(ctx context.Context, d *ledger.Delivery, outcome string) {
	ls, conv := s.line.lines, d.Conversation
	var notice bool
	err := s.insist(ctx, "look what was given up", func(ctx context.Context) (err error) {
		notice, err = ls.Ledger.IsNotice(ctx, d.MessageID)
		return err
	})
	if err != nil || notice {
		return
	}
	text := fmt.Sprintf("A part of an answer on %s, in %s, was given up: %s. \"switchboard delivery list --state dead\" shows what else was.",
		render.Escape(conv.Channel), render.Escape(words.OneLine(calledSo(conv), ShownName)), strings.ReplaceAll(outcome, "_", " "))
	ls.notifyBut(ctx, ledger.NoticeDeadDelivery, conv.Channel, text, "label", conv, noticeQuiet)
}

// calledSo is what people know a conversation by.
func calledSo(conv channels.Conversation) string {
	if conv.Title != "" {
		return conv.Title
	}
	return string(conv.ID)
}

// watchDown notifies once of each time that the channel is away for long.
func (l *Line) watchDown(ctx context.Context) {
	var told time.Time
	began := time.Now() // before that it was another engine's, or nobody's
	for retry.Sleep(ctx, downLook) {
		since, rejected, reason := l.health.downSince()
		if since.Before(began) && !since.IsZero() {
			since = began
		}
		if since.IsZero() || since.Equal(told) || !rejected && time.Since(since) < downAfter {
			continue
		}
		told = since
		l.notifyDown(ctx, since, rejected, reason)
	}
}

func (l *Line) notifyDown(ctx context.Context, since time.Time, rejected bool, reason string) {
	how := "has been away since " + since.UTC().Format("15:04 UTC")
	if rejected {
		how = "is not connected, its credentials are rejected"
	}
	text := fmt.Sprintf("The channel %s %s", render.Escape(l.Name), how)
	if reason != "" {
		text += ": " + render.Escape(words.OneLine(reason, 300))
	}
	l.lines.Notify(ctx, ledger.NoticeChannelDown, l.Name, text+".")
}
