package outbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/core"
)

// notifyGone notifies the admins, once, that the conversation of a delivery is closed to
// us. An admin's own closed chat is no news to anybody, and so no alert ever
// concerns an alert.
func (s *sender) notifyGone(ctx context.Context, d *Delivery) {
	ls, conv := s.line.lines, d.Conversation
	chats, own, err := s.adminChats(ctx, conv)
	if err == nil {
		var first bool
		err = s.insist(ctx, "note a closed conversation", func(ctx context.Context) (err error) {
			first, err = ls.Ledger.Gone(ctx, s.hold, conv)
			return err
		})
		if !first || own {
			return
		}
	}
	for _, chat := range chats {
		to := ls.Connection(chat.Channel)
		if err != nil {
			break
		}
		err = s.insist(ctx, "notify an admin", func(ctx context.Context) error {
			_, err := ls.Ledger.Notify(ctx, noticeKey("gone", d.ID, chat), chat, to.alert(chat, goneText(conv), "label"))
			return err
		})
		to.Committed(chat)
	}
	if err != nil && ctx.Err() == nil {
		ls.Log.ErrorContext(ctx, "the admins could not be notified of a closed conversation", "channel", conv.Channel, "conversation_id", conv.ID, "error", err)
	}
}

// deadLead begins what is said of a part that was given up. What holds it is never
// said anything of: a refused notice has no notice of its own.
const deadLead = "One part of my answer could not be shown here"

// notifyDead says in the conversation, once for a message, that a part of it was given
// up, so that it does not disappear without a word.
func (s *sender) notifyDead(ctx context.Context, d *Delivery, outcome string) {
	if strings.Contains(d.Body.Text, deadLead) {
		return
	}
	l, conv := s.line, d.Conversation
	err := s.insist(ctx, "notify of a part that was given up", func(ctx context.Context) error {
		_, err := l.lines.Ledger.Notify(ctx, noticeKey("dead", d.MessageID, conv), conv, l.alert(conv, deadText(d, outcome), "file"))
		return err
	})
	l.Committed(conv)
	if err != nil && ctx.Err() == nil {
		l.lines.Log.ErrorContext(ctx, "no notice was committed of a part that was given up", "channel", conv.Channel, "delivery_id", d.ID, "error", err)
	}
}

func deadText(d *Delivery, outcome string) string {
	reason := "the platform refused it"
	if len(d.Body.Files) > 0 {
		name := render.Escape(words.OneLine(d.Body.Files[0].Name, ShownName))
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

// AdminChats are the direct chats that each admin used last, as far as their channels are
// here and they are theirs still.
func (ls *Connections) AdminChats(ctx context.Context) (list []channels.Conversation, err error) {
	chats, err := ls.Ledger.AdminChats(ctx)
	seen := map[string]bool{}
	for _, c := range chats {
		l, p := ls.Connection(c.Channel), ls.People.Named(c.Person)
		if l != nil && l.Attached() && p != nil && !seen[c.Person] && l.IsOf(c, p) {
			seen[c.Person] = true
			list = append(list, c.Conversation)
		}
	}
	return list, err
}

// IsOf says that a direct chat is that of a person still: a name, and an account, can be
// somebody else's by now. Where no message is kept the chat itself may have their ID.
func (l *Connection) IsOf(c core.Chat, p *core.Person) bool {
	id := core.PlainID(cmp.Or(c.Identity, l.Kind+":"+string(c.ID)))
	return l.Reads() || slices.ContainsFunc(p.Identities, func(own string) bool {
		of, _, _ := strings.Cut(own, ":")
		return (of == l.Name || of == l.Kind) && core.PlainID(own) == id
	})
}

// adminChats lists where the admins are notified, and says whether conv is an admin's
// own chat. It is asked before conv is known to be closed.
func (s *sender) adminChats(ctx context.Context, conv channels.Conversation) (chats []channels.Conversation, own bool, err error) {
	ls := s.line.lines
	err = s.insist(ctx, "look for the admins' chats", func(ctx context.Context) (err error) {
		chats, err = ls.NoticeChats(ctx, NoticeDeadDelivery)
		return err
	})
	if err != nil || conv.Kind != channels.Direct {
		return chats, false, err
	}
	for _, chat := range chats {
		own = own || chat.Channel == conv.Channel && chat.ID == conv.ID
	}
	isAdmin := func(p *core.Person) bool { return p != nil && p.Role == core.RoleAdmin }
	if own || isAdmin(ls.People.Identified(s.line.Name+":"+string(conv.ID), s.line.Kind+":"+string(conv.ID))) {
		return chats, true, nil
	}
	person, err := ls.Ledger.CurrentPerson(ctx, core.SessionKey(conv))
	if errors.Is(err, core.ErrNotFound) {
		return chats, false, nil
	}
	return chats, err == nil && isAdmin(ls.People.Named(person)), err
}

// alert is a notice of ours, which names something that others called so.
func (l *Connection) alert(conv channels.Conversation, text string, taint tools.Taint) Reply {
	reply := l.reply(conv, text)
	reply.Notice, reply.Taint = true, taint
	return reply
}

func goneText(conv channels.Conversation) string {
	name := calledSo(conv)
	return fmt.Sprintf("I cannot write to %s on %s any more: the platform says that I was blocked or removed there, or that it is gone. "+
		"Messages still waiting to be sent there are dropped. I won't say this again until somebody there writes to me.",
		render.Escape(words.OneLine(name, ShownName)), render.Escape(conv.Channel))
}

// noticeKey is the key of a notice about a delivery or a message.
func noticeKey(kind string, id int64, to channels.Conversation) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "notice\x00%s\x00%d\x00%s\x00%s\x00", kind, id, to.Channel, to.ID))
	return key[:]
}

// insist is Insist under the lease.
func (s *sender) insist(ctx context.Context, what string, do func(context.Context) error) error {
	err := core.Retry(ctx, func() error { return do(context.WithoutCancel(ctx)) })
	if err == nil {
		return nil
	}
	s.isLost(err)
	return fmt.Errorf("%s: %w", what, err)
}
