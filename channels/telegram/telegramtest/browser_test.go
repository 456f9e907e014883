package telegramtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/telegram/telegramtest"
)

// browser opens a page in a real Chromium, which CI must have.
func browser(t *testing.T, url string) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no chromium; CI must have one (Debian's package chromium)")
		}
		t.Skip("SKIPPED: there is no chromium on PATH, so THE PAGE IS NOT TRIED; install Debian's package chromium")
	}
	allocated, cancel := chromedp.NewExecAllocator(t.Context(),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.WindowSize(1200, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Env("LANG=C.UTF-8")) // or it finds no file whose name is not ASCII
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

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
	ctx := browser(t, s.URL()+"/")
	b := client(t, s, bot.WithNotAsyncHandlers(), bot.WithDefaultHandler(parrot))
	polling, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { b.Start(polling) })
	defer wg.Wait()
	defer stop()
	p := page{t: t, ctx: ctx}

	p.await("the bot listens", `document.querySelector("#state.on")`)
	p.say(`<img src=x onerror="window.stolen=1"> & *so*`)
	p.await("the echo", `last("bot").textContent.includes('You said: <img src=x')`)
	p.await("the echo's reply", `last("bot").querySelector(".re").textContent.includes("Ada Lovelace")`)
	if p.is(`window.stolen || document.querySelector("#messages img")`) {
		t.Error("what a person wrote became markup")
	}

	p.do(`last("mine").querySelector("[title=Edit]").click()`)
	p.await("the text to edit", `document.getElementById("text").value.startsWith("<img")`)
	p.do(`document.getElementById("text").value = "edited"; document.getElementById("composer").requestSubmit()`)
	p.await("the edit", `last("mine").querySelector(".text").textContent === "edited" && last("mine").querySelector("details p").textContent.startsWith("<img")`)

	p.say("style")
	p.await("styles", `(() => { const m = last("bot").querySelector(".text");
		return m.querySelector("strong em").textContent === "both" && m.querySelector("s") && m.querySelector("blockquote").textContent === "quoted" &&
			m.querySelector("pre[data-language=go] code").textContent === "a < b" && m.querySelector("a").href === "https://example.org/x" && m.querySelector(".spoiler") })()`)
	p.await("one line break swallowed by a block, no more", `(() => { const m = last("bot").querySelector(".text");
		return m.querySelector("blockquote").nextSibling.textContent === "end\n" && m.querySelectorAll("blockquote")[1].nextSibling.textContent === "\nend" })()`)

	p.say("choose")
	p.await("buttons", `last("bot").querySelectorAll(".keyboard button").length === 2`)
	p.do(`last("bot").querySelectorAll(".keyboard button")[1].click()`)
	p.await("what came back", `document.getElementById("toast").textContent === "you chose r"`)

	p.say("try /help")
	p.await("a command in a text", `last("mine").querySelector(".command")`)
	p.do(`last("mine").querySelector(".command").click()`)
	p.await("the command", `last("bot").textContent.includes("You said: /help")`)

	p.say("wait")
	p.await("typing", `document.getElementById("typing").textContent === "typing…"`)

	file := filepath.Join(t.TempDir(), "notes ü.txt")
	if err := os.WriteFile(file, []byte("hello file"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(chromedp.SetUploadFiles("#file", []string{file}))
	p.run(chromedp.Click("#send"))
	p.await("the file back", `last("bot").querySelector("a.file b")?.textContent === "notes ü.txt"`)
	p.await("its bytes", `window.got === "hello file" || (fetch(last("bot").querySelector("a.file").href).then((r) => r.text()).then((x) => window.got = x), false)`)

	p.do(`last("mine").querySelector("[title='React with 👍']").click()`)
	p.await("the reaction", `last("mine").querySelector(".reaction").textContent === "👍"`)
	p.await("its picture", `last("mine").querySelector(".reaction svg").getBoundingClientRect().width > 5`)

	p.run(chromedp.EmulateViewport(390, 844))
	p.await("room on a telephone", `document.documentElement.scrollWidth <= 390 && document.getElementById("send").getBoundingClientRect().right <= 390`)
	p.run(chromedp.EmulateReset())

	p.shoot("direct")
	p.do(`document.querySelector("#chats .group").click()`)
	p.await("the group", `document.getElementById("title").textContent === "Friends"`)
	p.do(`document.getElementById("mention").click()`)
	p.run(chromedp.SendKeys("#text", "are you there?"+kb.Enter))
	p.await("an answer in the group", `last("bot").textContent.includes("are you there?")`)
	var group int64
	for _, c := range s.Calls("sendMessage") {
		group = c.Int("chat_id")
	}
	said := s.Messages(group)[0]
	if group >= 0 || said.From.ID != ada.ID || len(said.Entities) != 1 || said.Entities[0].Type != "mention" {
		t.Errorf("said in the group: %+v", said)
	}
	p.do(`[...document.querySelectorAll("#chats .topic")].find((b) => b.textContent === "Repairs").click()`)
	p.say("in a topic")
	p.await("the topic", `last("mine").textContent.includes("in a topic")`)
	p.shoot("topic")
}

// A page is the page in the browser.
type page struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // the browser's
}

// tell comes before every script.
const tell = `const last = (who) => [...document.querySelectorAll("#messages > li." + who)].at(-1);`

func (p page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p page) do(script string) {
	p.t.Helper()
	if !p.is("((() => {" + script + "})(), true)") {
		p.t.Fatalf("cannot do %s", script)
	}
}

// is evaluates; what throws is not there yet.
func (p page) is(condition string) bool {
	p.t.Helper()
	return evaluate[bool](p, "(() => {"+tell+"try { return !!("+condition+") } catch { return false } })()")
}

func evaluate[T any](p page, script string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

func (p page) await(what, condition string) {
	p.t.Helper()
	for began := time.Now(); !p.is(condition); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			p.t.Fatalf("%s did not come; the page shows\n%s", what, evaluate[string](p, "document.body.innerText"))
		}
	}
}

func (p page) say(text string) {
	p.t.Helper()
	p.run(chromedp.SendKeys("#text", text+kb.Enter))
}

// shoot keeps pictures of the page in the folder of the variable, to be looked at: by
// day, by night, and on a telephone.
func (p page) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("TELEGRAMTEST_SHOTS")
	if dir == "" {
		return
	}
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"day", "light", 1200}, {"night", "dark", 1200}, {"phone", "light", 390}, {"phone-night", "dark", 390}} {
		p.run(chromedp.EmulateViewport(look.width, 844), scheme(look.scheme))
		data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+look.name+".png"), data, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	p.run(chromedp.EmulateReset(), scheme(""))
}

// scheme is the one of colours that a person prefers.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}
