package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

// Pages behind links are not shown: the platform would fetch them, and a link may
// hold what nobody but the reader should learn.
var noPreview = &models.LinkPreviewOptions{IsDisabled: bot.True()}

// A place is a conversation as calls name it.
type place struct {
	chat  int64
	topic int
}

func placeOf(op string, conv channels.Conversation) (place, error) {
	chat, topic, err := parseConversation(conv.ID)
	return place{chat, topic}, wire.Refuse(op, err)
}

// message is a message that a call names.
func target(op string, conv channels.Conversation, id channels.MessageID) (place, int, error) {
	at, err := placeOf(op, conv)
	if err != nil {
		return at, 0, err
	}
	n, err := parseMessage(id)
	return at, n, wire.Refuse(op, err)
}

// Send implements channels.Channel. A part that answers a message which is gone is
// sent all the same.
func (c *Client) Send(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	if len(out.Body.Files) > 0 {
		return c.sendFiles(ctx, out)
	}
	return c.sendText(ctx, out.Conversation, out.Body, out.ReplyTo, false)
}

func (c *Client) sendText(ctx context.Context, conv channels.Conversation, body channels.Body, replyTo channels.MessageID, silent bool) (channels.MessageID, error) {
	const op = "sendMessage"
	at, err := placeOf(op, conv)
	if err != nil {
		return "", err
	}
	list, err := wire.Rich[[]models.MessageEntity](op, body)
	if err != nil {
		return "", err
	}
	x, err := c.exchange(ctx, op, at.chat, wire.CallTimeout, wire.With((*bot.Bot).SendMessage, &bot.SendMessageParams{
		ChatID: at.chat, MessageThreadID: at.topic, Text: body.Text, Entities: list,
		LinkPreviewOptions: noPreview, DisableNotification: silent,
		ReplyParameters: replying(replyTo), ReplyMarkup: markup(body.Buttons),
	}))
	if err != nil {
		return "", c.defect(ctx, body, list, err)
	}
	return sentID(op, x)
}

// replying names the message to answer; nil: none.
func replying(to channels.MessageID) *models.ReplyParameters {
	id, err := parseMessage(to)
	if err != nil {
		return nil
	}
	return &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
}

// sentID reads the number that a message got; of several, the first one's.
func sentID(op string, x *exchange) (channels.MessageID, error) {
	type sent struct {
		ID int `json:"message_id"`
	}
	result := x.reply.Result
	one, err := decode[sent](result)
	if err != nil {
		var many []sent
		if many, err = decode[[]sent](result); err == nil && len(many) > 0 {
			one = many[0]
		}
	}
	if err != nil || one.ID <= 0 {
		return "", fmt.Errorf("%s: it was sent, and the answer names no message", op)
	}
	return messageID(one.ID), nil
}

// defect logs a text that the platform could not parse: that is our fault.
func (c *Client) defect(ctx context.Context, body channels.Body, list []models.MessageEntity, err error) error {
	if said(err, "can't parse") || said(err, "entity_") {
		c.Log.ErrorContext(ctx, "the platform cannot parse a text of ours", "units", render.Units(body.Text), "entities", shape(list), "error", err)
	}
	return err
}

// shape is entities without what they say.
func shape(list []models.MessageEntity) string {
	var out strings.Builder
	for _, e := range list {
		fmt.Fprintf(&out, "%s[%d+%d] ", e.Type, e.Offset, e.Length)
	}
	return strings.TrimSpace(out.String())
}

// Edit implements channels.Editor. Buttons that body has not are taken off.
func (c *Client) Edit(ctx context.Context, conv channels.Conversation, id channels.MessageID, body channels.Body) error {
	const op = "editMessageText"
	at, n, err := target(op, conv, id)
	if err != nil {
		return err
	}
	list, err := wire.Rich[[]models.MessageEntity](op, body)
	if err != nil {
		return err
	}
	err = c.do(ctx, op, at.chat, wire.With((*bot.Bot).EditMessageText, &bot.EditMessageTextParams{
		ChatID: at.chat, MessageID: n, Text: body.Text, Entities: list,
		LinkPreviewOptions: noPreview, ReplyMarkup: markup(body.Buttons),
	}))
	return c.defect(ctx, body, list, unlessSaid(err, "message is not modified"))
}

// unlessSaid is err, or nil where it is a refusal in such words.
func unlessSaid(err error, words string) error {
	if said(err, words) {
		return nil
	}
	return err
}

// Draft implements channels.Drafter: a message that makes no sound, then edits of it.
func (c *Client) Draft(ctx context.Context, id channels.MessageID, out channels.Outbound) (channels.MessageID, error) {
	if id == "" {
		return c.sendText(ctx, out.Conversation, out.Body, out.ReplyTo, true)
	}
	return id, c.Edit(ctx, out.Conversation, id, out.Body)
}

// Delete deletes a message of the bot.
func (c *Client) Delete(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	const op = "deleteMessage"
	at, n, err := target(op, conv, id)
	if err != nil {
		return err
	}
	err = c.do(ctx, op, at.chat, wire.With((*bot.Bot).DeleteMessage, &bot.DeleteMessageParams{ChatID: at.chat, MessageID: n}))
	return unlessSaid(wire.Unless(err, channels.ErrNoMessage), "message to delete not found")
}

// RemoveButtons takes the buttons off a message.
func (c *Client) RemoveButtons(ctx context.Context, conv channels.Conversation, id channels.MessageID) error {
	const op = "editMessageReplyMarkup"
	at, n, err := target(op, conv, id)
	if err != nil {
		return err
	}
	err = c.do(ctx, op, at.chat, wire.With((*bot.Bot).EditMessageReplyMarkup, &bot.EditMessageReplyMarkupParams{ChatID: at.chat, MessageID: n}))
	return unlessSaid(err, "message is not modified")
}

// React implements channels.Reactor. The platform takes only emoji of its own list.
//
// Source: https://core.telegram.org/bots/api#reactiontypeemoji.
func (c *Client) React(ctx context.Context, conv channels.Conversation, id channels.MessageID, emoji string) error {
	const op = "setMessageReaction"
	at, n, err := target(op, conv, id)
	if err != nil {
		return err
	}
	var reaction []models.ReactionType
	if emoji != "" {
		reaction = []models.ReactionType{{
			Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: emoji},
		}}
	}
	return c.do(ctx, op, at.chat, wire.With((*bot.Bot).SetMessageReaction, &bot.SetMessageReactionParams{ChatID: at.chat, MessageID: n, Reaction: reaction}))
}

// Typing shows that an answer is being made.
func (c *Client) Typing(ctx context.Context, conv channels.Conversation) error {
	const op = "sendChatAction"
	at, err := placeOf(op, conv)
	if err != nil {
		return err
	}
	return c.do(ctx, op, at.chat, wire.With((*bot.Bot).SendChatAction, &bot.SendChatActionParams{
		ChatID: at.chat, MessageThreadID: at.topic, Action: models.ChatActionTyping,
	}))
}

const (
	// maxToast is the longest notice that a pressed button shows.
	//
	// Source: https://core.telegram.org/bots/api#answercallbackquery "text".
	maxToast = 200
	// maxInRow is how many buttons of a row can still be read.
	maxInRow = 4
	// pressesAtOnce and pressTimeout bound the answers under way: they are a courtesy.
	pressesAtOnce = 16
	pressTimeout  = 5 * time.Second
)

// answer tells the platform that a press was taken, so that the button stops turning,
// and shows toast to whoever pressed it. It does not wait for that.
func (c *Client) answer(ctx context.Context, s *session, query, toast string) {
	if !s.presses.TryGo(func() error {
		_, err := c.exchange(ctx, "answerCallbackQuery", 0, pressTimeout, wire.With((*bot.Bot).AnswerCallbackQuery, &bot.AnswerCallbackQueryParams{CallbackQueryID: query, Text: render.Clip(toast, maxToast)}))
		if err != nil {
			c.Log.DebugContext(ctx, "the press of a button was not answered", "error", err)
		}
		return nil
	}) {
		c.Log.DebugContext(ctx, "too many buttons are pressed at once to answer each")
	}
}

// A keyboard is rows of buttons under a message. The library's type for buttons sends
// fields that are not set.
//
// Source: https://core.telegram.org/bots/api#inlinekeyboardmarkup.
type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// markup is the buttons of a body; nil: none.
func markup(buttons []channels.Button) any {
	if len(buttons) == 0 {
		return nil
	}
	var k keyboard
	for _, row := range channels.Rows(buttons, maxButtons, maxInRow) {
		var keys []key
		for _, b := range row {
			keys = append(keys, key{Text: b.Label, Data: b.Code})
		}
		k.Rows = append(k.Rows, keys)
	}
	return k
}
