package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

// Pages behind links are not shown: the platform would fetch them, and a link may hold what
// nobody but the reader should learn.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags.
const flagsPlain = int(discordgo.MessageFlagsSuppressEmbeds)

// A post is a message on its way out. The library's type has no nonce.
//
// Source: https://docs.discord.com/developers/resources/message#create-message.
type post struct {
	Content     string                            `json:"content"`
	Nonce       string                            `json:"nonce,omitempty"`
	Enforce     bool                              `json:"enforce_nonce,omitempty"`
	Flags       int                               `json:"flags"`
	Allowed     *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Reference   *discordgo.MessageReference       `json:"message_reference,omitempty"`
	Components  []discordgo.MessageComponent      `json:"components"`
	Attachments []attached                        `json:"attachments,omitempty"`
}

// attached names a file of the form.
type attached struct {
	ID       int    `json:"id"`
	Filename string `json:"filename"`
}

// newPost is a body as it is sent. Nobody can be mentioned by it but whom it answers.
func newPost(op string, body channels.Body) (*post, error) {
	content, err := wireText(op, body)
	if err != nil {
		return nil, err
	}
	return &post{
		Content: content, Flags: flagsPlain, Components: components(body.Buttons),
		Allowed: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}, RepliedUser: true},
	}, nil
}

// wireText is the text of a body in the platform's markup: as format made it, or plain text in
// which nothing is markup.
func wireText(op string, body channels.Body) (string, error) {
	if len(body.Rich) == 0 {
		return escape(body.Text), nil
	}
	r, err := wire.Rich[rich](op, body)
	return r.Content, err
}

// answering names the message to answer; nil: none. What began a thread is not in it.
func answering(conv channels.Conversation, to channels.MessageID) *discordgo.MessageReference {
	id, err := parseMessage(to)
	if err != nil || string(to) == string(conv.ID) {
		return nil
	}
	tolerant := false // a message that is gone is answered all the same
	return &discordgo.MessageReference{MessageID: id.String(), FailIfNotExists: &tolerant}
}

// Send implements channels.Channel. In a thread that is not there yet it begins it.
func (c *Client) Send(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	p, err := newPost(opSend, out.Body)
	if err != nil {
		return "", err
	}
	p.Reference = answering(out.Conversation, out.ReplyTo)
	if out.Nonce != "" {
		p.Nonce, p.Enforce = nonceOf(out.Nonce), true
	}
	at, err := here(opSend, out.Conversation)
	if err != nil {
		return "", err
	}
	up := around(out.Conversation)
	if _, outside := c.outside.Get(at); outside {
		return c.reply(ctx, up, at, p, out)
	}
	id, err := c.send(ctx, at, p, out)
	if hasCode(err, discordgo.ErrCodeUnknownChannel) && out.Conversation.Kind == channels.Thread {
		if err = c.startThread(ctx, out.Conversation, out.Body.Text); err == nil {
			id, err = c.send(ctx, at, p, out)
		}
	}
	if up != 0 && hasCode(err, discordgo.ErrCodeMissingPermissions) && c.ours(ctx, at, err) {
		c.outside.Put(at, true)
		return c.reply(ctx, up, at, p, out)
	}
	return id, err
}

// reply answers outside a thread that the bot may not begin, or not write to, the message that the
// thread begins at.
func (c *Client) reply(ctx context.Context, up, thread snowflake, p *post, out channels.Outbound) (channels.MessageID, error) {
	tolerant := false
	p.Reference = &discordgo.MessageReference{MessageID: thread.String(), FailIfNotExists: &tolerant}
	return c.send(ctx, up, p, out)
}

// ours says that a thread in which err came is one that the bot would begin, or began: nobody but
// those around it are shown what is said there. In others' threads nobody knows.
func (c *Client) ours(ctx context.Context, thread snowflake, err error) bool {
	if errors.Is(err, errThread) {
		return true
	}
	me, unknown := c.myID(ctx)
	p, unasked := c.place(ctx, thread)
	return errors.Join(unknown, unasked) == nil && p.Owner == me
}

// send makes the call.
func (c *Client) send(ctx context.Context, at snowflake, p *post, out channels.Outbound) (channels.MessageID, error) {
	var body any = p
	if len(out.Body.Files) > 0 {
		f, done, err := c.upload(p, out)
		if err != nil {
			return "", wire.Refuse(opSend, err)
		}
		defer done()
		body = f
	}
	x, err := c.call(ctx, about(opSend, at, "messages"), body)
	if err != nil {
		if f, ok := body.(form); ok && f.files.Fault() != nil {
			return "", wire.Refuse(opSend, f.files.Fault()) // a form without its end is not taken
		}
		return "", err
	}
	var sent head
	if err := json.Unmarshal(x.Body, &sent); err != nil || sent.ID == 0 {
		return "", fmt.Errorf("%s: it was sent, and the answer names no message", opSend)
	}
	return messageID(sent.ID), nil
}

// startThread begins the thread of a conversation at the message that has its number, with
// what that one says as its name; where it cannot be read, with text.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func (c *Client) startThread(ctx context.Context, conv channels.Conversation, text string) error {
	up := around(conv)
	if up == 0 {
		return fmt.Errorf("%s: %w: it is no thread that can be begun", opThread, channels.ErrGone)
	}
	if m, err := ask[message](ctx, c.api, about(opMessage, up, "messages", string(conv.ID)), nil); err == nil {
		text = cmp.Or(c.content(&m).Text, text)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	name := cmp.Or(strings.TrimSpace(render.Clip(line, 60)), "Answer")
	err := c.do(ctx, about(opThread, up, "messages", string(conv.ID), "threads"), map[string]any{"name": name})
	if hasCode(err, codeThreadExists) {
		return nil
	}
	if errors.Is(err, channels.ErrNoMessage) { // what it was to begin at is gone
		return fmt.Errorf("%s: %w", opThread, channels.ErrGone)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errThread, err)
	}
	return nil
}

var errThread = errors.New("the thread cannot be begun")

// Edit implements channels.Editor. Buttons that body has not are taken off.
func (c *Client) Edit(ctx context.Context, conv channels.Conversation, id channels.MessageID, body channels.Body) error {
	p, err := newPost(opEdit, body)
	if err != nil {
		return err
	}
	return c.change(ctx, opEdit, conv, id, p)
}

// change makes a call about one message, or about what lies below it.
func (c *Client) change(ctx context.Context, op string, conv channels.Conversation, id channels.MessageID, body any, below ...string) error {
	at, n, err := target(op, conv, id)
	if err != nil {
		return err
	}
	up := around(conv)
	if _, outside := c.outside.Get(at); outside {
		at = up
	}
	path := append([]string{"messages", n.String()}, below...)
	err = c.do(ctx, about(op, at, path...), body)
	if up == 0 || at == up {
		return err
	}
	switch { // the answer may stand around the thread
	case hasCode(err, discordgo.ErrCodeUnknownChannel):
		return c.do(ctx, about(op, up, path...), body)
	case hasCode(err, discordgo.ErrCodeUnknownMessage):
		if outside := c.do(ctx, about(op, up, path...), body); !errors.Is(outside, channels.ErrNoMessage) && !wire.Final(outside) {
			return outside
		}
	}
	return err
}

// Draft implements channels.Drafter: a message, then edits of it. It notifies whom it answers,
// for an edit notifies nobody.
func (c *Client) Draft(ctx context.Context, id channels.MessageID, out channels.Outbound) (channels.MessageID, error) {
	if id == "" {
		return c.Send(ctx, out)
	}
	return id, c.Edit(ctx, out.Conversation, id, out.Body)
}

// Delete deletes a message of the bot.
func (c *Client) Delete(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	return wire.Unless(c.change(ctx, opDelete, conv, id, nil), channels.ErrNoMessage)
}

// RemoveButtons takes the buttons off a message.
func (c *Client) RemoveButtons(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	return c.change(ctx, opEdit, conv, id, map[string]any{"components": []any{}})
}

// React implements channels.Reactor. An empty emoji takes off what the bot put last there.
func (c *Client) React(ctx context.Context, conv channels.Conversation, id channels.MessageID, emoji string) error {
	op, sign := opReact, emoji
	if emoji == "" {
		if sign, _ = c.signs.Get(id); sign == "" {
			return nil
		}
		op = opUnreact
		c.signs.Forget(id)
	} else {
		c.signs.Put(id, emoji)
	}
	return c.change(ctx, op, conv, id, nil, "reactions", sign, "@me")
}

// Typing shows that an answer is being made.
func (c *Client) Typing(ctx context.Context, conv channels.Conversation) error {
	at, err := here(opTyping, conv)
	if err != nil {
		return err
	}
	err = c.do(ctx, about(opTyping, at, "typing"), nil)
	if hasCode(err, discordgo.ErrCodeUnknownChannel) && conv.Kind == channels.Thread {
		return nil // the thread begins with the answer
	}
	return err
}

const (
	// A message has at most 25 buttons, five a row, with labels of 80 characters.
	//
	// Source: https://docs.discord.com/developers/components/reference#action-row,
	// https://docs.discord.com/developers/components/reference#button.
	maxRows, maxInRow, maxLabel = 5, 5, 80
)

// components are the buttons of a body: in its rows while there are rows enough.
func components(buttons []channels.Button) []discordgo.MessageComponent {
	rows := []discordgo.MessageComponent{}
	for _, some := range channels.Rows(buttons[:min(len(buttons), maxRows*maxInRow)], maxRows, maxInRow) {
		var row discordgo.ActionsRow
		for _, b := range some {
			row.Components = append(row.Components, discordgo.Button{
				Label: cmp.Or(strings.TrimSpace(render.Clip(b.Label, maxLabel)), "…"), Style: discordgo.SecondaryButton, CustomID: b.Code,
			})
		}
		rows = append(rows, row)
	}
	return rows
}
