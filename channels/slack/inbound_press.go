package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// interaction reads what somebody did with something interactive. Only buttons of ours
// mean anything.
func (r *reader) interaction(raw json.RawMessage) (item, error) {
	var w wirePress
	if err := json.Unmarshal(raw, &w); err != nil {
		return item{}, err
	}
	if w.Type != "block_actions" || len(w.Actions) == 0 || w.Actions[0].Value == "" {
		return item{}, nil
	}
	channel, ts, a := w.Container.Channel, w.Container.TS, w.Actions[0]
	if !idShape.MatchString(channel) || !tsShape.MatchString(ts) || w.User.ID == "" {
		return item{}, errors.New("it names no message or nobody")
	}
	at := r.place(&wireMessage{Channel: channel, TS: ts, ThreadTS: cmp.Or(w.Container.Thread, w.Message.Thread)}, false, nil)
	e := &channels.Event{
		Key: wire.Key(r.acct, "action", channel, ts, w.User.ID, a.At), Kind: channels.EventAction, Conversation: at.conversation,
		Sender: r.senderOf(w.User.ID, w.User.Team), At: instant(a.At),
		Action: channels.Action{Code: a.Value, MessageID: channels.MessageID(ts)},
	}
	if w.Container.Ephemeral {
		e.Action.MessageID, e.Message.ID = onlyFor(w.User.ID, ts), onlyFor(w.User.ID, a.At)
	}
	return item{press: &press{channel: channel, reply: w.ResponseURL}, event: e}, nil
}

// command reads a slash command: its text is a command of ours. The platform shows it to nobody, so
// what is said to it in a channel is for whoever gave it alone.
func (r *reader) command(raw json.RawMessage) (item, error) {
	var w wireCommand
	if err := json.Unmarshal(raw, &w); err != nil {
		return item{}, err
	}
	if !idShape.MatchString(w.Channel) || w.User == "" || w.Trigger == "" {
		return item{}, errors.New("it names no channel, nobody or no trigger")
	}
	text := strings.TrimSpace(w.Text)
	if w.Command != r.c.cfg.Command {
		return item{}, nil
	}
	at := r.place(&wireMessage{Channel: w.Channel}, false, nil)
	message := channels.Message{ID: channels.MessageID(w.Trigger), Mentioned: true}
	if at.conversation.Kind != channels.Direct {
		message.ID = onlyFor(w.User, w.Trigger)
	}
	message.Text = wire.Clean("/" + strings.TrimPrefix(readText(cmp.Or(text, "help"), r.me, &message), "/"))
	return item{press: &press{command: true, channel: w.Channel, reply: w.ResponseURL}, event: &channels.Event{
		Key: wire.Key(r.acct, "command", w.Channel, w.Trigger), Kind: channels.EventMessage, Conversation: at.conversation,
		Sender: r.senderOf(w.User, ""), Message: message,
	}}, nil
}
