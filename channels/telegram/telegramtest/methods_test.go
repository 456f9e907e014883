package telegramtest_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/telegram/telegramtest"
)

// refused fails the test unless err says want.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// accepted fails the test if there is an error.
func accepted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf is the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// begin is a platform with the library on its bot, to whom Ada wrote.
func begin(t *testing.T) (*telegramtest.Server, telegramtest.User, *bot.Bot, context.Context) {
	t.Helper()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	return s, ada, client(t, s), soon(t)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestEditsAreShownAndBadOnesRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	asked := s.Say(ada.ID, "hi")
	b, ctx := client(t, s), soon(t)
	keys := models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "y"}}}}
	sent := must[*models.Message](t)(b.SendMessage(ctx, &bot.SendMessageParams{ChatID: ada.ID, Text: "one", ReplyMarkup: keys}))
	if sent.ReplyMarkup == nil || sent.ReplyMarkup.InlineKeyboard[0][0].CallbackData != "y" {
		t.Errorf("the keyboard did not come back: %+v", sent.ReplyMarkup)
	}
	edit := func(id int, text string, markup models.ReplyMarkup) error {
		return errOf(b.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: ada.ID, MessageID: id, Text: text, ReplyMarkup: markup}))
	}
	refused(t, edit(sent.ID, "one", keys), "message is not modified: specified new message content")
	refused(t, edit(sent.ID+5, "x", nil), "message to edit not found")
	refused(t, edit(int(asked.ID), "x", nil), "message can't be edited")
	refused(t, edit(sent.ID, "", nil), "message text is empty")
	refused(t, edit(sent.ID, " \n", nil), "text must be non-empty")
	refused(t, edit(sent.ID, strings.Repeat("👋", 2049), nil), "message is too long")
	accepted(t, edit(sent.ID, "one", nil)) // the keyboard goes: that is a change
	accepted(t, edit(sent.ID, " two\n", nil))
	got := s.FromBot(ada.ID)[0]
	if got.Text != "two" || got.ReplyMarkup != nil || len(got.Before) != 2 || got.Before[0].Text != "one" || got.EditDate == 0 {
		t.Errorf("the chat shows %+v", got)
	}
	refused(t, errOf(b.EditMessageCaption(ctx, &bot.EditMessageCaptionParams{ChatID: ada.ID, MessageID: sent.ID, Caption: "x"})), "there is no caption")
	must[*models.Message](t)(b.EditMessageReplyMarkup(ctx, &bot.EditMessageReplyMarkupParams{ChatID: ada.ID, MessageID: sent.ID, ReplyMarkup: keys}))
	must[bool](t)(b.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: ada.ID, MessageID: sent.ID}))
	refused(t, errOf(b.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: ada.ID, MessageID: sent.ID})), "message to delete not found")
	if len(s.FromBot(ada.ID)) != 0 || len(s.History(ada.ID)) != 2 {
		t.Error("a deleted message is shown")
	}
}

func TestRepliesToNothingAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	asked := s.Say(ada.ID, "the answer is 42")
	b, ctx := client(t, s), soon(t)
	reply := func(r models.ReplyParameters) (*models.Message, error) {
		return b.SendMessage(ctx, &bot.SendMessageParams{ChatID: ada.ID, Text: "re", ReplyParameters: &r})
	}
	got := must[*models.Message](t)(reply(models.ReplyParameters{MessageID: int(asked.ID), Quote: "answer"}))
	if got.ReplyToMessage == nil || got.ReplyToMessage.Text != asked.Text || got.Quote == nil || got.Quote.Position != 4 {
		t.Errorf("reply: %+v", got)
	}
	refused(t, errOf(reply(models.ReplyParameters{MessageID: 1})), "message to be replied not found")
	got = must[*models.Message](t)(reply(models.ReplyParameters{MessageID: 1, AllowSendingWithoutReply: true}))
	if got.ReplyToMessage != nil {
		t.Error("a reply to nothing")
	}
	refused(t, errOf(reply(models.ReplyParameters{MessageID: int(asked.ID), Quote: "question"})), "QUOTE_TEXT_INVALID")
}

func TestButtonsArePressedAndBadOnesRefused(t *testing.T) {
	t.Parallel()
	s, ada, b, ctx := begin(t)
	send := func(buttons ...models.InlineKeyboardButton) error {
		return errOf(b.SendMessage(ctx, &bot.SendMessageParams{
			ChatID: ada.ID, Text: "?", ReplyMarkup: &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{buttons}},
		}))
	}
	refused(t, send(models.InlineKeyboardButton{Text: "a", CallbackData: strings.Repeat("x", 65)}), "BUTTON_DATA_INVALID")
	refused(t, send(models.InlineKeyboardButton{Text: "a"}), "Text buttons are unallowed")
	refused(t, send(models.InlineKeyboardButton{CallbackData: "x"}), "must be non-empty")
	refused(t, send(models.InlineKeyboardButton{Text: "a", CallbackData: "x", URL: "https://example.org"}), "exactly one")
	accepted(t, send(models.InlineKeyboardButton{Text: "Yes", CallbackData: strings.Repeat("x", 64)}))
	shown := s.FromBot(ada.ID)[0]
	if id := s.Press(ada.ID, ada.ID, shown.ID, "No"); id != "" {
		t.Error("a button that is not there was pressed")
	}
	id := s.Press(ada.ID, ada.ID, shown.ID, "Yes")
	if p := s.Pending(); !strings.Contains(string(p[len(p)-1]), `"callback_query":{"id":"`+id+`"`) {
		t.Errorf("told %s", p[len(p)-1])
	}
	refused(t, errOf(b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: "1"})), "query is too old")
	must[bool](t)(b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: id, Text: "thanks"}))
	if got := s.Answered(id); got != (telegramtest.Answer{Done: true, Text: "thanks"}) {
		t.Errorf("answered %+v", got)
	}
	refused(t, errOf(b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: id})), "query is too old")
}

// picture is a real PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func TestFilesOfTheBotAreShown(t *testing.T) {
	t.Parallel()
	s, ada, b, ctx := begin(t)
	file := func(name, data string) *models.InputFileUpload {
		return &models.InputFileUpload{Filename: name, Data: strings.NewReader(data)}
	}
	sent := must[*models.Message](t)(b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: ada.ID, Document: file("a.txt", "hello"), Caption: "bold", CaptionEntities: []models.MessageEntity{{Type: "bold", Length: 4}}}))
	if sent.Document == nil || sent.Document.FileName != "a.txt" || sent.Document.MimeType != "text/plain" || sent.CaptionEntities[0].Type != "bold" {
		t.Errorf("sent %+v", sent)
	}
	if kept, ok := s.File(sent.Document.FileID); !ok || string(kept.Data) != "hello" {
		t.Errorf("kept %q", kept.Data)
	}
	must[*models.Message](t)(b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: ada.ID, Document: &models.InputFileString{Data: sent.Document.FileID}}))
	must[*models.Message](t)(b.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: ada.ID, Photo: &models.InputFileUpload{Filename: "p.png", Data: bytes.NewReader(picture(t))}}))
	refused(t, errOf(b.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: ada.ID, Photo: file("p.png", "no picture")})), "IMAGE_PROCESS_FAILED")
	refused(t, errOf(b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: ada.ID, Document: file("a.txt", "")})), "file must be non-empty")
	refused(t, errOf(b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: ada.ID, Document: file("a.txt", "x"), Caption: strings.Repeat("x", 1025)})), "message caption is too long")
	refused(t, errOf(b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: ada.ID, Document: &models.InputFileString{Data: "nothing"}})), "wrong file identifier")

	group := func(media ...models.InputMedia) ([]*models.Message, error) {
		return b.SendMediaGroup(ctx, &bot.SendMediaGroupParams{ChatID: ada.ID, Media: media})
	}
	doc := func(name string) *models.InputMediaDocument {
		return &models.InputMediaDocument{Media: "attach://" + name, Caption: name, MediaAttachment: strings.NewReader(name)}
	}
	album := must[[]*models.Message](t)(group(doc("a.txt"), doc("b.txt")))
	if len(album) != 2 || album[0].MediaGroupID == "" || album[0].MediaGroupID != album[1].MediaGroupID || album[1].Caption != "b.txt" {
		t.Errorf("album %+v", album)
	}
	refused(t, errOf(group(doc("a.txt"))), "2-10 items")
	refused(t, errOf(group(doc("a.txt"), &models.InputMediaPhoto{Media: "attach://p", MediaAttachment: bytes.NewReader(picture(t))})), "can't be mixed")
	refused(t, send50MB(t, b, ada.ID), "413")
}

func send50MB(t *testing.T, b *bot.Bot, chat int64) error {
	t.Helper()
	_, err := b.SendDocument(soon(t), &bot.SendDocumentParams{ChatID: chat, Document: &models.InputFileUpload{
		Filename: "large", Data: io.LimitReader(zeros{}, 50<<20+1),
	}})
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFilesOfPeopleAreDownloaded(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	b, ctx := client(t, s), soon(t)
	m := s.Post(telegramtest.Post{Chat: ada.ID, Text: "look", Files: []telegramtest.File{
		{Name: "notes.txt", Type: "text/plain", Data: []byte("hello")},
		{Kind: "photo", Name: "p.jpg", Data: []byte("jpeg")},
	}})
	if len(m) != 2 || m[0].MediaGroupID == "" || m[0].MediaGroupID != m[1].MediaGroupID || m[0].Caption != "look" || m[1].Caption != "" || len(m[1].Photo) != 2 {
		t.Fatalf("media group %+v", m)
	}
	for _, message := range m {
		f := must[*models.File](t)(b.GetFile(ctx, &bot.GetFileParams{FileID: message.FileID()}))
		resp := must[*http.Response](t)(http.Get(b.FileDownloadLink(f)))
		data := must[[]byte](t)(io.ReadAll(resp.Body))
		if err := resp.Body.Close(); err != nil || int64(len(data)) != f.FileSize {
			t.Errorf("%q, %v", data, err)
		}
	}
	large := s.Post(telegramtest.Post{Chat: ada.ID, Files: []telegramtest.File{{Name: "x", Size: 20<<20 + 1}}})[0]
	refused(t, errOf(b.GetFile(ctx, &bot.GetFileParams{FileID: large.FileID()})), "file is too big")
	s.Forget(m[0].FileID())
	refused(t, errOf(b.GetFile(ctx, &bot.GetFileParams{FileID: m[0].FileID()})), "invalid file_id")
	http.DefaultClient.CloseIdleConnections()
}

func TestMenusAreKeptByScopeAndLanguage(t *testing.T) {
	t.Parallel()
	s, ada, b, ctx := begin(t)
	set := func(name string, scope models.BotCommandScope, language string) error {
		return errOf(b.SetMyCommands(ctx, &bot.SetMyCommandsParams{
			Commands: []models.BotCommand{{Command: name, Description: "does it"}}, Scope: scope, LanguageCode: language,
		}))
	}
	refused(t, set("Help", nil, ""), "BOT_COMMAND_INVALID")
	refused(t, set("help", nil, "english"), "invalid language code")
	refused(t, set("help", &models.BotCommandScopeChat{ChatID: 12}, ""), "chat not found")
	accepted(t, set("all", nil, ""))
	accepted(t, set("direct", &models.BotCommandScopeAllPrivateChats{}, ""))
	accepted(t, set("direkt", &models.BotCommandScopeAllPrivateChats{}, "de"))
	accepted(t, set("admin", &models.BotCommandScopeChat{ChatID: ada.ID}, ""))
	if got := s.Menu(ada.ID, ada.ID); len(got) != 1 || got[0].Command != "admin" {
		t.Errorf("ada sees %v", got)
	}
	got := must[[]models.BotCommand](t)(b.GetMyCommands(ctx, &bot.GetMyCommandsParams{Scope: &models.BotCommandScopeAllPrivateChats{}, LanguageCode: "de"}))
	if len(got) != 1 || got[0].Command != "direkt" {
		t.Errorf("in German %v", got)
	}
	must[bool](t)(b.DeleteMyCommands(ctx, &bot.DeleteMyCommandsParams{Scope: &models.BotCommandScopeChat{ChatID: ada.ID}}))
	if got := s.Menu(ada.ID, ada.ID); len(got) != 1 || got[0].Command != "direct" || s.Menus() != 3 {
		t.Errorf("ada sees %v", got)
	}
}

func TestSendsToClosedChatsAreRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada, bob, eve := s.AddUser("Ada"), s.AddUser("Bob"), s.AddUser("Eve")
	s.Say(ada.ID, "hi")
	s.Say(eve.ID, "hi")
	group := s.AddGroup("Friends", ada, bob)
	b, ctx := client(t, s), soon(t)
	send := func(chat int64) error {
		return errOf(b.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, Text: "x"}))
	}
	s.Block(ada.ID, true)
	refused(t, send(ada.ID), "forbidden, Forbidden: bot was blocked by the user")
	s.Block(ada.ID, false)
	accepted(t, send(ada.ID))
	refused(t, send(bob.ID), "Forbidden: bot can't initiate conversation with a user")
	s.Deactivate(eve.ID)
	refused(t, send(eve.ID), "Forbidden: user is deactivated")
	s.Kick(group.ID)
	refused(t, send(group.ID), "Forbidden: bot was kicked from the group chat")
	s.Invite(group.ID)
	fresh := s.Migrate(group.ID)
	migrated, ok := errors.AsType[*bot.MigrateError](send(group.ID))
	if !ok || int64(migrated.MigrateToChatID) != fresh.ID {
		t.Errorf("an upgraded group: %v", migrated)
	}
	accepted(t, send(fresh.ID))
	must[bool](t)(b.LeaveChat(ctx, &bot.LeaveChatParams{ChatID: fresh.ID}))
	refused(t, send(fresh.ID), "Forbidden: bot is not a member of the supergroup chat")
}

func TestSendsToUnknownTopicsAreRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	forum, plain := s.AddForum("Forum", ada), s.AddSupergroup("Plain", ada)
	topic := s.AddTopic(forum.ID, "Rain")
	b, ctx := client(t, s), soon(t)
	send := func(chat, thread int64) (*models.Message, error) {
		return b.SendMessage(ctx, &bot.SendMessageParams{ChatID: chat, MessageThreadID: int(thread), Text: "x"})
	}
	got := must[*models.Message](t)(send(forum.ID, topic))
	if !got.IsTopicMessage || int64(got.MessageThreadID) != topic {
		t.Errorf("in a topic: %+v", got)
	}
	refused(t, errOf(send(forum.ID, topic+1)), "message thread not found")
	refused(t, errOf(send(plain.ID, topic)), "message thread not found")
	s.CloseTopic(forum.ID, topic, true)
	refused(t, errOf(send(forum.ID, topic)), "TOPIC_CLOSED")
	said := s.Post(telegramtest.Post{Chat: forum.ID, From: ada.ID, Thread: topic, Text: "wet"})[0]
	if said.ReplyTo == nil || said.ReplyTo.ForumTopicCreated == nil || !said.IsTopicMessage {
		t.Errorf("what is said in a topic answers to its beginning: %+v", said)
	}
	first := s.SayIn(plain.ID, ada.ID, "one")
	second := s.Post(telegramtest.Post{Chat: plain.ID, From: ada.ID, Text: "two", ReplyTo: first.ID})[0]
	if second.ThreadID != first.ID || second.IsTopicMessage {
		t.Errorf("an answer in a supergroup has a thread and is in no topic: %+v", second)
	}
}

func TestUnknownReactionsAreRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	said := s.Say(ada.ID, "hi")
	b, ctx := client(t, s), soon(t)
	react := func(emoji string) error {
		return errOf(b.SetMessageReaction(ctx, &bot.SetMessageReactionParams{ChatID: ada.ID, MessageID: int(said.ID), Reaction: []models.ReactionType{
			{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Type: models.ReactionTypeTypeEmoji, Emoji: emoji}},
		}}))
	}
	refused(t, react("🧮"), "REACTION_INVALID")
	accepted(t, react("👀"))
	if got := s.Messages(ada.ID)[0].Reactions; len(got) != 1 || got[0].Emoji != "👀" {
		t.Errorf("shown %v", got)
	}
	before := len(s.Pending())
	if s.React(ada.ID, ada.ID, said.ID, "👍"); len(s.Pending()) != before {
		t.Error("told of a reaction without having asked for such")
	}
	must[bool](t)(b.SetWebhook(ctx, &bot.SetWebhookParams{AllowedUpdates: []string{"message_reaction"}}))
	s.React(ada.ID, ada.ID, said.ID)
	if p := s.Pending(); len(p) != before+1 || !strings.Contains(string(p[before]), `"old_reaction":[{"type":"emoji","emoji":"👍"}],"new_reaction":[]`) {
		t.Errorf("told %s", p)
	}
}

func TestUnparsableMarkupIsRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	b := client(t, s)
	for _, c := range []struct {
		mode       models.ParseMode
		text, want string
		types      string
		refused    string
	}{
		{mode: models.ParseModeHTML, text: `<b>a</b> &lt;<a href="https://e.org">l</a> <pre><code class="language-go">x</code></pre>`, want: "a <l x", types: "bold text_link pre/go"},
		{mode: models.ParseModeHTML, text: "<b>a", refused: "Can't find end tag"},
		{mode: models.ParseModeHTML, text: "<h1>a</h1>", refused: "Unsupported start tag"},
		{mode: models.ParseModeHTML, text: "<b><i>a</b></i>", refused: "Unmatched end tag"},
		{mode: models.ParseModeMarkdown, text: "*b* _i_ __u__ ~s~ ||h|| [l](https://e.org) `c\\``\n```go\nx```\n>q", want: "b i u s h l c`\nx\nq", types: "bold italic underline strikethrough spoiler text_link code pre/go blockquote"},
		{mode: models.ParseModeMarkdown, text: "1. a", refused: "Character '.' is reserved"},
		{mode: models.ParseModeMarkdown, text: "*a", refused: "Can't find end"},
		{mode: "BBCode", text: "a", refused: "unsupported parse_mode"},
	} {
		got, err := b.SendMessage(soon(t), &bot.SendMessageParams{ChatID: ada.ID, Text: c.text, ParseMode: c.mode})
		if c.refused != "" {
			refused(t, err, c.refused)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var types []string
		for _, e := range got.Entities {
			name := string(e.Type)
			if e.Language != "" {
				name += "/" + e.Language
			}
			types = append(types, name)
		}
		if got.Text != c.want || strings.Join(types, " ") != c.types {
			t.Errorf("%s: %q %v", c.text, got.Text, types)
		}
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	for _, c := range []struct {
		method, typ, body string
		code              int
		want              string
	}{
		{"sendMessage", "application/json", `{"chat_id":` + itoa(ada.ID) + `,"text":"ok","unknown":true}`, 200, `"text":"ok"`},
		{"SENDMESSAGE", "application/x-www-form-urlencoded", "chat_id=" + itoa(ada.ID) + "&text=ok", 200, `"text":"ok"`},
		{"sendMessage", "application/json", `{"chat_id":`, 400, "can't parse JSON object"},
		{"sendMessage", "application/json", `{"text":"x"}`, 400, "chat_id is empty"},
		{"sendMessage", "application/json", `{"chat_id":"abc","text":"x"}`, 400, "chat not found"},
		{"sendMessage", "application/json", `{"chat_id":` + itoa(ada.ID) + `,"text":"x","entities":{"a":1}}`, 400, "can't parse entities: expected an Array"},
		{"sendMessage", "application/json", `{"chat_id":` + itoa(ada.ID) + `,"text":"x","disable_notification":"maybe"}`, 400, "invalid disable_notification"},
		{"sendMessage", "application/json", `{"chat_id":` + itoa(ada.ID) + `,"text":"x","reply_markup":"keys"}`, 400, "can't parse reply_markup"},
		{"editMessageText", "application/json", `{"chat_id":` + itoa(ada.ID) + `,"text":"x","message_id":"first"}`, 400, "invalid message_id"},
		{"sendMessage", "application/x-www-form-urlencoded", "chat_id=" + itoa(ada.ID) + "&text=%ff", 400, "UTF-8"},
		{"sendMessage", "multipart/form-data", "no boundary", 400, "can't parse multipart form"},
		{"sendNothing", "application/json", `{}`, 404, "Not Found: method not found"},
	} {
		code, answer := call(t, s, s.Token(), c.method, c.typ, c.body)
		if code != c.code || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.body, code, answer, c.code, c.want)
		}
	}
	if code, answer := call(t, s, "1:wrong", "getMe", "", ""); code != 401 || answer != `{"description":"Unauthorized","error_code":401,"ok":false}` {
		t.Errorf("a wrong token: %d %s", code, answer)
	}
	if n := len(s.FromBot(ada.ID)); n != 2 {
		t.Errorf("%d messages arrived", n)
	}
	last := s.Calls("sendmessage")
	if i := slices.IndexFunc(last, func(c telegramtest.Call) bool { return c.Rejected != nil }); i != 2 || !strings.Contains(last[i].Rejected.Error(), "core.telegram.org") {
		t.Errorf("the log of calls: %+v", last)
	}
}

func TestTypingEndsWithAMessageOrTheClock(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	now := time.Now()
	s.SetClock(func() time.Time { return now })
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	b, ctx := client(t, s), soon(t)
	refused(t, errOf(b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: ada.ID, Action: "thinking"})), "wrong parameter action")
	must[bool](t)(b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: ada.ID, Action: models.ChatActionTyping}))
	if !s.Typing(ada.ID) {
		t.Error("typing is not shown")
	}
	said := must[*models.Message](t)(b.SendMessage(ctx, &bot.SendMessageParams{ChatID: ada.ID, Text: "a draft"}))
	if s.Typing(ada.ID) {
		t.Error("typing is shown beside the message")
	}
	must[bool](t)(b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: ada.ID, Action: models.ChatActionTyping}))
	must[*models.Message](t)(b.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: ada.ID, MessageID: said.ID, Text: "the answer"}))
	if s.Typing(ada.ID) {
		t.Error("typing is shown beside the edit")
	}
	must[bool](t)(b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: ada.ID, Action: models.ChatActionTyping}))
	s.SetClock(func() time.Time { return now.Add(5 * time.Second) })
	if s.Typing(ada.ID) {
		t.Error("typing is shown for longer than 5 s")
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Await(ctx, func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
