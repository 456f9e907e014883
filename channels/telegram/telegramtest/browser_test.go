package telegramtest_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/channels/telegram/telegramtest"
)

// styled is a message with many entities.
const styled = `<b>Bold <i>both</i></b> <s>gone</s> <tg-spoiler>secret</tg-spoiler> <a href="https://example.org/x">link</a>
<pre><code class="language-go">a &lt; b</code></pre><blockquote>quoted</blockquote>
end
<blockquote>again</blockquote>

end`

// parrot is a trivial bot: it echoes texts and files; "style" and "choose" make it
// show what else a bot can do.
func parrot(ctx context.Context, b *bot.Bot, u *models.Update) {
	switch q := u.CallbackQuery; {
	case q != nil:
		_, _ = b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: "you chose " + q.Data})
	case u.Message == nil:
	case u.Message.Text == "style":
		_, _ = b.SendMessage(ctx, &bot.SendMessageParams{ChatID: u.Message.Chat.ID, Text: styled, ParseMode: models.ParseModeHTML})
	case u.Message.Text == "choose":
		_, _ = b.SendMessage(ctx, &bot.SendMessageParams{ChatID: u.Message.Chat.ID, Text: "which?", ReplyMarkup: models.InlineKeyboardMarkup{
			InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Left", CallbackData: "l"}, {Text: "Right", CallbackData: "r"}}},
		}})
	case u.Message.Text == "wait":
		_, _ = b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: u.Message.Chat.ID, Action: models.ChatActionTyping})
	case u.Message.Document != nil:
		_, _ = b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: u.Message.Chat.ID, Document: &models.InputFileString{Data: u.Message.Document.FileID}})
	case u.Message.Text != "":
		_, _ = b.SendMessage(ctx, &bot.SendMessageParams{
			ChatID: u.Message.Chat.ID, Text: "You said: " + u.Message.Text, ReplyParameters: &models.ReplyParameters{MessageID: u.Message.ID},
		})
	}
}

func TestPageInABrowserSendsAndShows(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.Furnish()
	p := pagetest.Open(t, s.URL()+"/")
	b := client(t, s, bot.WithNotAsyncHandlers(), bot.WithDefaultHandler(parrot))
	polling, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { b.Start(polling) })
	defer wg.Wait()
	defer stop()

	p.Await("the bot listens", `document.querySelector("#state.on")`)
	p.Say(`<img src=x onerror="window.stolen=1"> & *so*`)
	p.Await("the echo", `last("bot").textContent.includes('You said: <img src=x')`)
	p.Await("the echo's reply", `last("bot").querySelector(".re").textContent.includes("Ada Lovelace")`)
	if p.Is(`window.stolen || document.querySelector("#messages img")`) {
		t.Error("what a person wrote became markup")
	}

	p.Do(`last("mine").querySelector("[title=Edit]").click()`)
	p.Await("the text to edit", `document.getElementById("text").value.startsWith("<img")`)
	p.Do(`document.getElementById("text").value = "edited"; document.getElementById("composer").requestSubmit()`)
	p.Await("the edit", `last("mine").querySelector(".text").textContent === "edited" && last("mine").querySelector("details p").textContent.startsWith("<img")`)

	p.Say("style")
	p.Await("styles", `(() => { const m = last("bot").querySelector(".text");
		return m.querySelector("strong em").textContent === "both" && m.querySelector("s") && m.querySelector("blockquote").textContent === "quoted" &&
			m.querySelector("pre[data-language=go] code").textContent === "a < b" && m.querySelector("a").href === "https://example.org/x" && m.querySelector(".spoiler") })()`)
	p.Await("one line break swallowed by a block, no more", `(() => { const m = last("bot").querySelector(".text");
		return m.querySelector("blockquote").nextSibling.textContent === "end\n" && m.querySelectorAll("blockquote")[1].nextSibling.textContent === "\nend" })()`)

	p.Say("choose")
	p.Await("buttons", `last("bot").querySelectorAll(".keyboard button").length === 2`)
	p.Do(`last("bot").querySelectorAll(".keyboard button")[1].click()`)
	p.Await("what came back", `document.getElementById("toast").textContent === "you chose r"`)

	p.Say("try /help")
	p.Await("a command in a text", `last("mine").querySelector(".command")`)
	p.Do(`last("mine").querySelector(".command").click()`)
	p.Await("the command", `last("bot").textContent.includes("You said: /help")`)

	p.Say("wait")
	p.Await("typing", `document.getElementById("typing").textContent === "typing…"`)

	file := filepath.Join(t.TempDir(), "notes ü.txt")
	if err := os.WriteFile(file, []byte("hello file"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Run(chromedp.SetUploadFiles("#file", []string{file}))
	p.Run(chromedp.Click("#send"))
	p.Await("the file back", `last("bot").querySelector("a.file b")?.textContent === "notes ü.txt"`)
	p.Await("its bytes", `window.got === "hello file" || (fetch(last("bot").querySelector("a.file").href).then((r) => r.text()).then((x) => window.got = x), false)`)

	p.Do(`last("mine").querySelector("[title='React with 👍']").click()`)
	p.Await("the reaction", `last("mine").querySelector(".reaction").textContent === "👍"`)
	p.Await("its picture", `last("mine").querySelector(".reaction svg").getBoundingClientRect().width > 5`)

	p.Run(chromedp.EmulateViewport(390, 844))
	p.Await("room on a telephone", `document.documentElement.scrollWidth <= 390 && document.getElementById("send").getBoundingClientRect().right <= 390`)
	p.Run(chromedp.EmulateReset())

	p.Shoot("direct")
	p.Do(`document.querySelector("#chats .group").click()`)
	p.Await("the group", `document.getElementById("title").textContent === "Friends"`)
	p.Do(`document.getElementById("mention").click()`)
	p.Run(chromedp.SendKeys("#text", "are you there?"+kb.Enter))
	p.Await("an answer in the group", `last("bot").textContent.includes("are you there?")`)
	var group int64
	for _, c := range s.Calls("sendMessage") {
		group = c.Int("chat_id")
	}
	said := s.Messages(group)[0]
	if group >= 0 || said.From.ID != ada.ID || len(said.Entities) != 1 || said.Entities[0].Type != "mention" {
		t.Errorf("said in the group: %+v", said)
	}
	p.Do(`[...document.querySelectorAll("#chats .topic")].find((b) => b.textContent === "Repairs").click()`)
	p.Say("in a topic")
	p.Await("the topic", `last("mine").textContent.includes("in a topic")`)
	p.Shoot("topic")
}
