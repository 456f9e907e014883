package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// messageTypes says which types of messages somebody wrote; the others are what the platform or
// a bot says. Unknown ones are kept raw.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-types.
var messageTypes = map[int]bool{
	0: true, 19: true,
	1: false, 2: false, 3: false, 4: false, 5: false, 6: false, 7: false, 8: false, 9: false, 10: false, 11: false, 12: false,
	14: false, 15: false, 16: false, 17: false, 18: false, 20: false, 21: false, 22: false, 23: false, 24: false, 25: false, 26: false,
	27: false, 28: false, 29: false, 31: false, 32: false, 36: false, 37: false, 38: false, 39: false, 44: false, 46: false,
}

// written makes EventMessage of what somebody wrote.
func written(ctx context.Context, h *reader) ([]channels.Event, error) {
	e, m, err := h.message(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	e.Kind, e.Key, e.At = channels.EventMessage, wire.Key(h.bot.String(), "message", m.Channel.String(), m.ID.String()), m.ID.at()
	e.Mark = spot{channel: m.Channel, message: m.ID, direct: e.Conversation.Kind == channels.Direct}.mark()
	return []channels.Event{*e}, nil
}

// edited makes EventEdited of a message's new state. That a link got its preview is told in the
// same way, with the time of the last edit, if any.
//
// Source: https://docs.discord.com/developers/events/gateway-events#message-update.
func edited(ctx context.Context, h *reader) ([]channels.Event, error) {
	var head struct {
		Edited string `json:"edited_timestamp"`
	}
	if json.Unmarshal(h.frame.Data, &head) == nil && head.Edited == "" {
		return nil, nil
	}
	e, m, err := h.message(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	e.Kind, e.Key = channels.EventEdited, wire.Key(h.bot.String(), "edited", m.Channel.String(), m.ID.String(), m.Edited)
	if at, err := time.Parse(time.RFC3339Nano, m.Edited); err == nil {
		e.At = at.UTC()
	}
	return []channels.Event{*e}, nil
}

// message reads a message that a person wrote; nil: it is nothing of ours.
func (h *reader) message(ctx context.Context) (*channels.Event, *message, error) {
	m, err := parse[message](h)
	if err != nil {
		return nil, nil, err
	}
	wrote, known := messageTypes[m.Type]
	switch {
	case m.ID == 0 || m.Channel == 0 || m.Author == nil || m.Author.ID == 0:
		return nil, nil, errors.New("the message names no channel or nobody who wrote it")
	case m.Author.ID == h.bot, m.Author.Bot, m.Author.System, m.Webhook != "":
		return nil, nil, nil
	case !known:
		return nil, nil, fmt.Errorf("messages of type %d are not known here", m.Type)
	}
	if m.Guild == 0 { // the REST API does not say it
		p, ok := h.c.known.Get(m.Channel)
		if m.Guild = p.Guild; h.frame.Seq == 0 && (!ok || m.Guild == 0 && p.Type != typeDirect) {
			return nil, nil, &again{errUnknownPlace}
		}
	}
	if !wrote || !h.c.serves(m.Guild) {
		return nil, nil, nil
	}
	conv, where, err := h.c.conversation(ctx, m.Channel, m.Guild, m.Author)
	if err != nil {
		return nil, nil, err
	}
	content := h.c.content(&m)
	content.Mentioned = content.Mentioned || where.thread() && where.Owner == h.bot || where.named
	if content.Text == "" && len(content.Attachments) == 0 {
		return nil, nil, nil // nothing is shown of it, or the platform does not let us see it
	}
	if !content.Mentioned && h.unknownPlace(&where) {
		return nil, nil, &again{errUnknownPlace}
	}
	if content.Mentioned && h.c.cfg.ReplyIn == InThread && conv.Kind == channels.Group && where.threads() {
		// A thread that is started at a message has its number; Send starts it.
		conv.Kind, conv.ID = channels.Thread, conversationID(m.ID)
	}
	return &channels.Event{Conversation: conv, Sender: sender(m.Author), Message: content}, &m, nil
}

// unknownPlace says that what is written there waits: the place may be a thread where nobody needs to
// name the bot. It is asked about as history is, which has asked before it is read.
func (h *reader) unknownPlace(where *place) bool {
	return h.frame.Seq != 0 && h.frame.Type == "MESSAGE_CREATE" && (!where.again.IsZero() || h.c.unread(where)) && !h.session.gaps.freed(where.ID)
}

func sender(u *user) channels.Sender { return channels.Sender{ID: u.ID.String(), Label: u.label()} }
