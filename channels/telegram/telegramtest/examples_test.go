package telegramtest_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/telegram/telegramtest"
)

// The calls of the library's examples, as they stand there; each must pass.
//
// Source: github.com/go-telegram/bot, folder examples
func TestLibraryExamplesPass(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada-Marie O.Neil")
	s.Say(ada.ID, "hi")
	chat, logo := ada.ID, picture(t)
	s.Publish("https://telegram.org/img/t_logo.png", telegramtest.File{Data: logo})
	keyboard := &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{
		{{Text: "Button 1", CallbackData: "button_1"}, {Text: "Button 2", CallbackData: "button_2"}},
		{{Text: "Button 3", CallbackData: "button_3"}},
	}}
	text := func(text string, mode models.ParseMode) func(context.Context, *bot.Bot) error {
		return func(ctx context.Context, b *bot.Bot) error {
			return errOf(b.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: text, ParseMode: mode}))
		}
	}
	for name, example := range map[string]func(context.Context, *bot.Bot) error{
		"getme":           func(ctx context.Context, b *bot.Bot) error { _, err := b.GetMe(ctx); return err },
		"echo":            text("hi", ""),
		"command_handler": text("Say message with `/foo` anywhere or with `/bar` at start of the message", models.ParseModeMarkdown),
		"commands":        text("Hello, *"+bot.EscapeMarkdown(ada.FirstName+ada.LastName)+"*", models.ParseModeMarkdown),
		"echo_with_webhook": func(ctx context.Context, b *bot.Bot) error {
			if _, err := b.SetWebhook(ctx, &bot.SetWebhookParams{URL: "http://127.0.0.1:9/webhook"}); err != nil {
				return err
			}
			_, err := b.DeleteWebhook(ctx, &bot.DeleteWebhookParams{DropPendingUpdates: true})
			return err
		},
		"inline_keyboard": func(ctx context.Context, b *bot.Bot) error {
			sent, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: "Click by button", ReplyMarkup: keyboard})
			if err != nil {
				return err
			}
			id := s.Press(chat, chat, int64(sent.ID), "button_2")
			if _, err := b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: id, ShowAlert: false}); err != nil {
				return err
			}
			keyboard.InlineKeyboard[0][0].Text = "✓ Button 1"
			_, err = b.EditMessageReplyMarkup(ctx, &bot.EditMessageReplyMarkupParams{ChatID: chat, MessageID: sent.ID, ReplyMarkup: keyboard})
			return err
		},
		"edit_message": func(ctx context.Context, b *bot.Bot) error {
			sent, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: "Message"})
			if err != nil {
				return err
			}
			_, err = b.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: chat, MessageID: sent.ID, Text: "New Message Text"})
			return err
		},
		"send_document": func(ctx context.Context, b *bot.Bot) error {
			return errOf(b.SendDocument(ctx, &bot.SendDocumentParams{
				ChatID: chat, Document: &models.InputFileUpload{Filename: "doc.txt", Data: strings.NewReader("text")}, Caption: "Document",
			}))
		},
		"send_photo_upload": func(ctx context.Context, b *bot.Bot) error {
			return errOf(b.SendPhoto(ctx, &bot.SendPhotoParams{
				ChatID: chat, Photo: &models.InputFileUpload{Filename: "facebook.png", Data: bytes.NewReader(logo)}, Caption: "New uploaded Facebook logo",
			}))
		},
		"send_media_group": func(ctx context.Context, b *bot.Bot) error {
			return errOf(b.SendMediaGroup(ctx, &bot.SendMediaGroupParams{ChatID: chat, Media: []models.InputMedia{
				&models.InputMediaPhoto{Media: "https://telegram.org/img/t_logo.png", Caption: "Telegram Logo"},
				&models.InputMediaPhoto{Media: "attach://facebook.png", Caption: "Facebook Logo", MediaAttachment: bytes.NewReader(logo)},
				&models.InputMediaPhoto{Media: "attach://youtube.png", Caption: "Youtube Logo", MediaAttachment: bytes.NewReader(logo)},
			}}))
		},
		"streaming_draft": func(ctx context.Context, b *bot.Bot) error {
			return errOf(b.SendMessageDraft(ctx, &bot.SendMessageDraftParams{ChatID: chat, DraftID: "1763740000000000000", Text: "Hello! I am ▌"}))
		},
	} {
		if err := example(soon(t), client(t, s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range s.Calls() {
		if c.Rejected != nil {
			t.Errorf("%s was rejected: %v", c.Method, c.Rejected)
		}
	}
}
