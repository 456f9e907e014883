package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/words"
)

const (
	// eventType names our metadata. What is in it anybody in the workspace can read.
	//
	// Source: https://docs.slack.dev/messaging/message-metadata.
	eventType = "switchboard_part"
	// maxFallback is how long the text for notifications is, in characters.
	//
	// Source: https://docs.slack.dev/reference/methods/chat.update "msg_too_long".
	maxFallback = 3500
	// maxLabel is the longest label of a button, in characters.
	//
	// Source: https://docs.slack.dev/reference/block-kit/block-elements/button-element.
	maxLabel = 75
	// maxRows is how many lines of buttons there are, of the 50 blocks of a message; in each there
	// may be 25, of which five can be read.
	//
	// Source: https://docs.slack.dev/reference/block-kit/blocks/actions-block.
	maxRows, maxInRow = 20, 5
)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape makes a text mean itself: nothing in it mentions anybody or is a link.
//
// Source: https://docs.slack.dev/messaging/formatting-message-text "Escaping text".
func escape(text string) string { return escaper.Replace(text) }

// fallback is the text of a body for notifications.
func fallback(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		piece := escape(string(r))
		if n += len(piece); n > maxFallback {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
	}
	return cmp.Or(strings.TrimSpace(b.String()), "…")
}

// blocks are what a body shows: its rich text, and a line for each button.
//
// Source: https://docs.slack.dev/reference/block-kit/blocks.
func blocks(op string, body channels.Body) ([]slack.Block, error) {
	if len(body.Rich) == 0 {
		body.Rich = plainRich(body.Text)
	}
	list, err := wire.Rich[slack.Blocks](op, body)
	if err != nil {
		return nil, err
	}
	all := list.BlockSet
	i := 0
	for _, some := range channels.Rows(body.Buttons, maxRows, maxInRow) {
		var row []slack.BlockElement
		for _, b := range some {
			label := slack.NewTextBlockObject(slack.PlainTextType, words.OneLine(cmp.Or(strings.TrimSpace(b.Label), "…"), maxLabel), false, false)
			row = append(row, slack.NewButtonBlockElement("b"+strconv.Itoa(i), b.Code, label))
			i++
		}
		all = append(all, slack.NewActionBlock("", row...))
	}
	return all, nil
}

// place is where a conversation is, as calls name it.
func place(op string, conv channels.Conversation) (channel, thread string, err error) {
	channel, thread, err = parseConversation(conv.ID)
	return channel, thread, wire.Refuse(op, err)
}

// Send implements channels.Channel. The platform has no replies but threads: the conversation is the
// thread, and of ReplyTo matters only whether one person alone sees it.
func (c *Client) Send(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	if reader := readerOf(out.ReplyTo); reader != "" {
		return c.show(ctx, out, reader)
	}
	if len(out.Body.Files) > 0 {
		return c.sendFiles(ctx, out)
	}
	return c.post(ctx, out.Conversation, out.Body, out.Nonce)
}

// post posts a message with its nonce.
//
// Source: https://docs.slack.dev/reference/methods/chat.postMessage.
func (c *Client) post(ctx context.Context, conv channels.Conversation, body channels.Body, nonce string) (channels.MessageID, error) {
	const op = "chat.postMessage"
	channel, thread, err := place(op, conv)
	if err != nil {
		return "", err
	}
	var more []slack.MsgOption
	if nonce != "" {
		more = append(more, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: eventType, EventPayload: map[string]any{"nonce": nonce}}))
	}
	x, err := c.say(ctx, op, thread, body, func(ctx context.Context, lib *slack.Client, options []slack.MsgOption) error {
		return wire.Err(lib.PostMessageContext(ctx, channel, options...))
	}, more...)
	if err != nil {
		return "", err
	}
	id, err := sentTS(op, x)
	if err == nil && thread != "" {
		c.threads.Put(messageRef{channel, string(id)}, thread)
	}
	return id, err
}

// show shows a part to one person. It cannot be changed, nor found again.
//
// Source: https://docs.slack.dev/reference/methods/chat.postEphemeral.
func (c *Client) show(ctx context.Context, out channels.Outbound, reader string) (channels.MessageID, error) {
	const op = "chat.postEphemeral"
	channel, thread, err := place(op, out.Conversation)
	if err != nil {
		return "", err
	}
	if len(out.Body.Files) > 0 {
		return "", &channels.RefusedError{Op: op, Reason: "files cannot be shown to one person alone"}
	}
	x, err := c.say(ctx, op, thread, out.Body, func(ctx context.Context, lib *slack.Client, options []slack.MsgOption) error {
		return wire.Err(lib.PostEphemeralContext(ctx, channel, reader, options...))
	})
	if err != nil {
		return "", err
	}
	shown, err := wire.Answer[struct {
		TS string `json:"message_ts"`
	}](op, x.Body)
	return onlyFor(reader, shown.TS), err
}

// say makes the call op that shows body as a new message or a changed one. Pages behind links
// are not to be shown: the platform would fetch them, and a link may hold what nobody but the
// reader should learn. The page of chat.update says nothing of previews, so it is told, too.
// Blocks that the platform does not take are our fault, and logged.
//
// Source: https://docs.slack.dev/messaging/unfurling-links-in-messages.
func (c *Client) say(ctx context.Context, op, thread string, body channels.Body, do func(context.Context, *slack.Client, []slack.MsgOption) error, more ...slack.MsgOption) (*exchange, error) {
	list, err := blocks(op, body)
	if err != nil {
		return nil, err
	}
	more = append(more,
		slack.MsgOptionText(fallback(body.Text), false), slack.MsgOptionBlocks(list...), slack.MsgOptionParse(false), slack.MsgOptionLinkNames(false),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	)
	if thread != "" {
		more = append(more, slack.MsgOptionTS(thread))
	}
	x, err := c.call(ctx, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error { return do(ctx, lib, more) })
	if x.refused("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long") {
		c.Log.ErrorContext(ctx, "the platform does not take blocks of ours", "error", err)
	}
	return x, err
}

// sentTS reads the ts that a message got.
func sentTS(op string, x *exchange) (channels.MessageID, error) {
	var sent struct {
		TS string `json:"ts"`
	}
	if err := json.Unmarshal(x.Body, &sent); err != nil || !tsShape.MatchString(sent.TS) {
		return "", fmt.Errorf("%s: it was sent, and the answer names no message", op)
	}
	return channels.MessageID(sent.TS), nil
}

// Edit implements channels.Editor. Buttons that body has not are taken off.
func (c *Client) Edit(ctx context.Context, conv channels.Conversation, id channels.MessageID, body channels.Body) error {
	err := c.update(ctx, conv, id, body)
	if err == nil {
		c.growing.end(id)
	}
	return err
}

const opUpdate = "chat.update"

// update changes a message.
//
// Source: https://docs.slack.dev/reference/methods/chat.update.
func (c *Client) update(ctx context.Context, conv channels.Conversation, id channels.MessageID, body channels.Body) error {
	channel, ts, err := message(opUpdate, conv, id)
	if err != nil {
		return err
	}
	_, err = c.say(ctx, opUpdate, "", body, func(ctx context.Context, lib *slack.Client, options []slack.MsgOption) error {
		return wire.Err(lib.UpdateMessageContext(ctx, channel, ts, options...))
	})
	return err
}

// message is a message that a call names.
func message(op string, conv channels.Conversation, id channels.MessageID) (channel, ts string, err error) {
	channel, _, err = place(op, conv)
	if err != nil {
		return "", "", err
	}
	ts, file, err := parseMessage(id)
	if file != "" {
		return "", "", wire.Refused(op, channels.ErrNoMessage, "it is a file")
	}
	return channel, ts, wire.Refuse(op, err)
}

// Draft implements channels.Drafter: a message, then changes of it. Changes are few over the whole
// workspace: each draft keeps one for its end, and all share the rest.
func (c *Client) Draft(ctx context.Context, id channels.MessageID, out channels.Outbound) (channels.MessageID, error) {
	if readerOf(out.ReplyTo) != "" {
		return id, &channels.RefusedError{Op: opUpdate, Reason: "what one person alone is shown cannot be changed"}
	}
	if open := c.growing.count(); c.paces.left(opUpdate) <= open {
		return id, &channels.RefusedError{Op: opUpdate, Reason: fmt.Sprintf("%d drafts leave none to spare", open), Temporary: true}
	}
	if id == "" {
		id, err := c.post(ctx, out.Conversation, out.Body, out.Nonce)
		if err == nil {
			c.growing.begin(id)
		}
		return id, err
	}
	c.growing.begin(id)
	err := c.update(ctx, out.Conversation, id, out.Body)
	if _, limited := errors.AsType[*channels.RateLimitError](err); limited { // changes are, not the conversation
		err = &channels.RefusedError{Op: opUpdate, Reason: err.Error(), Temporary: true}
	}
	return id, err
}

// Source: https://docs.slack.dev/reference/methods/chat.delete.
func (c *Client) Delete(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	const op = "chat.delete"
	c.growing.end(id)
	if _, file, err := parseMessage(id); err == nil && file != "" {
		x, err := c.call(ctx, "files.delete", wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error { return lib.DeleteFileContext(ctx, file) })
		if x.refused("file_not_found", "file_deleted") {
			return nil
		}
		return err
	}
	channel, ts, err := message(op, conv, id)
	if err != nil {
		return err
	}
	_, err = c.call(ctx, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.DeleteMessageContext(ctx, channel, ts))
	})
	return wire.Unless(err, channels.ErrNoMessage)
}

// RemoveButtons implements channels.Unbuttoner. The platform changes a message only as a
// whole, so what it shows is read first.
func (c *Client) RemoveButtons(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	const op = opUpdate
	channel, ts, err := message(op, conv, id)
	if err != nil {
		return err
	}
	_, thread, _ := parseConversation(conv.ID)
	shown, err := one[struct {
		Text   string
		Blocks slack.Blocks
	}](ctx, c.api, channel, thread, ts)
	if err != nil {
		return err
	}
	all := shown.Blocks.BlockSet
	rest := slices.DeleteFunc(slices.Clone(all), func(b slack.Block) bool { return b.BlockType() == slack.MBTAction })
	if len(rest) == len(all) {
		return nil
	}
	_, err = c.call(ctx, op, wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.UpdateMessageContext(ctx, channel, ts, slack.MsgOptionText(shown.Text, false), slack.MsgOptionBlocks(rest...)))
	})
	return err
}

// A messageRef is a message in its channel.
type messageRef struct{ channel, ts string }

// React implements channels.Reactor. The bot has one sign on a message at most; the
// platform takes only emoji that have a name.
//
// Source: https://docs.slack.dev/reference/methods/reactions.add.
func (c *Client) React(ctx context.Context, conv channels.Conversation, id channels.MessageID, emoji string) error {
	const op = "reactions.add"
	channel, ts, err := message(op, conv, id)
	if err != nil {
		return err
	}
	name := nameOfEmoji(emoji)
	if emoji != "" && name == "" {
		return &channels.RefusedError{Op: op, Reason: emoji + " has no name on this platform"}
	}
	at := messageRef{channel, ts}
	before, _ := c.reacted.Get(at)
	for i, sign := range []string{before, name} {
		if sign != "" && before != name {
			if err := c.sign(ctx, i > 0, sign, slack.NewRefToMessage(channel, ts)); err != nil {
				return err
			}
		}
	}
	c.reacted.Forget(at)
	if name != "" {
		c.reacted.Put(at, name)
	}
	return nil
}
