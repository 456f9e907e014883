package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// pressesAtOnce bounds the answers to presses that are under way.
const pressesAtOnce = 16

// A press is something that is answered to whoever did it: a button or a slash command.
type press struct {
	command bool
	channel string
	reply   string // where an answer that only they see goes
}

const (
	// notConfirmed is said when what was pressed is not committed in time. It may be later:
	// the platform tells it once.
	notConfirmed = "This is not confirmed yet; pressing again is harmless."
	notTaken     = "Still working on it; I will confirm here."
	nowConfirmed = "Confirmed."
	neverTaken   = "I do not know whether this was done. Please check, and try again if not."
	// notHere answers a command in a place that the bot is not in.
	notHere = "I am not in this conversation. Invite me, or write to me directly."
)

// press hands in what somebody pressed, answers them and acknowledges it. The platform
// tells it once and wants an answer in 3 s, so it goes its own way. What is not committed by then is
// handed in again while the connection lasts, and confirmed once it is.
func (l *connection) press(ctx context.Context, it item) {
	select {
	case l.slots <- struct{}{}:
	default:
		l.c.Log.Debug("too much is pressed at once: the platform says that it was not taken")
		return
	}
	taken := make(chan channels.Receipt, 1)
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.c.pace.mostWait)
	l.wg.Go(func() {
		defer cancel()
		taken <- l.take(within, it)
	})
	l.wg.Go(func() {
		what, late := channels.Receipt{}, false
		select {
		case what = <-taken:
		case <-time.After(l.c.pace.interaction):
			late, what.Toast = true, notConfirmed
			if it.press.command {
				what.Toast = notTaken
			}
		}
		var payload any
		if it.press.command && what.Toast != "" {
			payload = map[string]string{"response_type": "ephemeral", "text": escape(what.Toast)}
		}
		l.acknowledge(it.envelope, payload)
		<-l.slots
		if !it.press.command && what.Toast != "" {
			l.c.whisper(ctx, it.press.reply, what.Toast)
		}
		if !late {
			return
		}
		defer context.AfterFunc(ctx, cancel)()
		if what = <-taken; ctx.Err() == nil && !what.Silent {
			l.c.whisper(ctx, it.press.reply, cmp.Or(what.Toast, nowConfirmed))
		}
	})
}

// take hands a press in, as often as it takes, and returns what to say of it: nothing at all where the
// receipt is silent.
func (s *session) take(ctx context.Context, it item) channels.Receipt {
	if it.press.command && !s.c.isIn(ctx, it.press.channel) {
		return channels.Receipt{Toast: notHere}
	}
	it.event.Sender.Label = s.c.nameOf(ctx, it.event.Sender.ID)
	var receipts []channels.Receipt
	err := wire.HandIn(ctx, s.c.Log, s.c.pace.firstRetry, s.c.pace.mostRetry, func() (err error) {
		receipts, err = s.sink.Accept(ctx, []channels.Event{*it.event})
		return err
	}, func() error { return nil })
	switch {
	case err != nil:
		s.c.Log.Warn("a press was not accepted in time", "error", err)
		return channels.Receipt{Toast: neverTaken}
	case len(receipts) != 1 || receipts[0].Silent:
		return channels.Receipt{Silent: true}
	}
	return receipts[0]
}

// whisper shows text to whoever did something alone, though their time be over. Best effort.
//
// Source: https://docs.slack.dev/interactivity/handling-user-interaction "response_url".
func (c *Client) whisper(ctx context.Context, address, text string) {
	u, err := url.Parse(address)
	if err != nil || !c.mayTrust(u) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nameWithin)
	defer cancel()
	data, err := json.Marshal(map[string]any{"response_type": "ephemeral", "replace_original": false, "text": escape(text)})
	if err == nil {
		err = c.Wire.Post(ctx, &wire.Exchange{}, address, "application/json", bytes.NewReader(data), int64(len(data)))
	}
	if err != nil {
		c.Log.DebugContext(ctx, "the press of a button was not answered", "error", wire.Plainly(err))
	}
}

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
