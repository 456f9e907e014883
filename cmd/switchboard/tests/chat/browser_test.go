package chat_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// What the model of the page's test answers.
const (
	tableText = "Three **cities**:\n\n| city | people | river |\n|---|---:|---|\n| Rome | 2,748,109 | Tiber |\n| Paris | 2,102,650 | Seine |\n| Zürich | 443,037 | Limmat |\n\nSee [the list](https://example.org/cities), `LIMIT 3`." +
		"\n\n## And more\n\nA first paragraph\nof two lines.\n\nA second one.\n\n1. one\n2. two\n   - inner *slanted*\n   - ~~gone~~\n3. three\n\n> A quote\n> of two lines.\n\nThe end, <@everyone> & @here."
	growsText = "One **two** three four five six seven eight nine ten eleven twelve."
)

// codeText is an answer that no platform takes in one message.
func codeText() string {
	var b strings.Builder
	b.WriteString("Here is the program:\n\n```go\n")
	for i := range 170 {
		fmt.Fprintf(&b, "func step%03d(in int) int { return in*%d + 1 } // <&>\n", i, i)
	}
	return b.String() + "```\n\nThat was all."
}

// shower answers as what was said asks for; a file it sends back. The end of an answer that grows on a platform waits until its hold
// is closed.
func shower(req llmtest.Request, holds map[string]chan struct{}) llmtest.Reply {
	if req.Role != "planner" || programtest.AttachedID.MatchString(req.Section("Attachments")) {
		return programtest.Filer(req)
	}
	reply := func(tasks ...llmtest.Task) llmtest.Reply { return llmtest.Text(llmtest.Plan("show it", tasks...)) }
	switch text := programtest.Said(req); {
	case strings.Contains(text, "table"):
		return reply(llmtest.Answer(tableText))
	case strings.Contains(text, "code"):
		return reply(llmtest.Answer(codeText()))
	case strings.Contains(text, "count"):
		grows := slowly(growsText, 0)
		grows.HoldAt, grows.Hold = 6, holds[strings.TrimPrefix(text, "count on ")]
		return grows
	case strings.Contains(text, "choose"):
		return reply(llmtest.Ask("Which one?", "Tea", "Coffee"))
	default:
		return reply(llmtest.Answer("heard: " + text))
	}
}

// A new user on the page of each platform: a table, code in several parts, an answer that grows, a
// choice by button, a file both ways, a mention that is answered where the platform's people expect it.
func TestPagesShowAConversation(t *testing.T) {
	t.Parallel()
	dir, model := t.TempDir(), llmtest.New(t)
	holds := map[string]chan struct{}{"telegram": make(chan struct{}), "slack": make(chan struct{}), "discord": make(chan struct{})}
	model.Handle(func(req llmtest.Request) llmtest.Reply { return shower(req, holds) })
	log := programtest.DevStarted(t, dir, "all", "--listen", "127.0.0.1:0")
	settings := testkit.Read(t, filepath.Join(dir, "dev-all.toml"))
	settings = strings.NewReplacer(`planner = "offline"`, `planner = "fake/model"`, "# reply_in", "reply_in").Replace(settings) +
		fmt.Sprintf("[llm.providers.fake]\nkind = \"openai\"\nbase_url = %q\napi_key = \"test-key-not-secret\"\n", model.URL())
	testkit.Write(t, filepath.Join(dir, "mine.toml"), settings)
	programtest.Run(t, dir, "--config", "mine.toml", "serve")
	for _, platform := range regexp.MustCompile(`A fake (\w+) is on this machine at (\S+)`).FindAllStringSubmatch(log.String(), -1) {
		t.Run(platform[1], func(t *testing.T) {
			t.Parallel()
			name := strings.ToLower(platform[1])
			p := pagetest.Open(t, platform[2])
			shoot := func(what string) { p.Shoot(name + "-" + what) }
			p.Await("the bot listens", `document.querySelector("#state.on")`)
			p.Await("the platform's name and colour", "document.title.includes('"+platform[1]+"') && document.getElementById('platform').textContent.endsWith('"+platform[1]+"') && getComputedStyle(document.getElementById('send')).backgroundColor !== 'rgb(47, 111, 219)'")
			p.Await("a hint in an empty chat", `document.querySelectorAll("#messages > li").length === 1 && document.querySelector("#messages > li.hint").textContent.includes("Say hello")`)
			p.Await("an empty line to write in has no scrollbar", `(({scrollHeight, clientHeight}) => scrollHeight <= clientHeight)(document.getElementById("text"))`)
			p.Await("even buttons", `(([a, b]) => a === b)([...document.querySelectorAll("aside footer button:not([hidden])")].map((x) => x.offsetWidth).concat(0, 0).slice(0, 2)) || document.getElementById("block").hidden`)
			shoot("empty")
			p.Do(`document.getElementById("commands").click()`)
			p.Await("the menu", `!document.getElementById("menu").hidden`)

			p.Say("show me a table")
			p.Await("the menu closed", `document.getElementById("menu").hidden`)
			p.Await("the table", `last("bot").querySelector("pre").textContent.includes("Tiber")`)
			shoot("table")
			p.Say("show me code")
			p.Await("the code", `last("bot").textContent.includes("That was all.") && last("bot").querySelector("pre").textContent.includes("step169")`)
			shoot("code")
			if n := pagetest.Evaluate[int](p, `document.querySelectorAll("#messages > li.bot pre").length`); n < 3 {
				t.Errorf("the code is in %d parts", n-1)
			}

			p.Say("count on " + name)
			p.Await("a beginning", `last("bot").textContent.includes("three") && !last("bot").textContent.includes("twelve")`)
			shoot("growing")
			close(holds[name])
			p.Await("the whole", `last("bot").textContent.includes("twelve.") && last("bot").querySelector("strong").textContent === "two"`)
			shoot("grown")

			p.Say("let me choose")
			p.Await("buttons", `last("bot").querySelectorAll(".keyboard button").length === 2`)
			shoot("buttons")
			p.Do(`[...last("bot").querySelectorAll(".keyboard button")].at(-1).click()`)
			p.Await("what was chosen", `last("bot").textContent.includes("heard: Coffee")`)
			shoot("chosen")

			file := filepath.Join(dir, name+".txt")
			testkit.Write(t, file, "milk\nbread\n")
			p.Run(chromedp.SetUploadFiles("#file", []string{file}))
			p.Say("send it back")
			p.Await("the file back", `last("bot").querySelector("a.file b").textContent.endsWith("list.txt")`)
			p.Await("its bytes", `window.got === "milk\nbread\n" || (fetch(last("bot").querySelector("a.file").href).then((r) => r.text()).then((x) => window.got = x), false)`)
			shoot("file")

			p.Do(`document.querySelector("#chats .group").click()`)
			p.Await("a group", `!document.getElementById("mention").hidden`)
			p.Do(`document.getElementById("mention").click()`)
			p.Run(chromedp.SendKeys("#text", "are you there?\r"))
			if name == "telegram" { // groups have no threads
				p.Await("the answer", `last("bot").textContent.includes("heard: are you there?")`)
				shoot("mention")
				return
			}
			p.Await("the thread", `last("mine").querySelector(".thread").textContent === "1 reply" && !last("bot")`)
			shoot("mention")
			p.Do(`last("mine").querySelector(".thread").click()`)
			p.Await("the answer", `last("bot").textContent.includes("heard: are you there?")`)
			p.Say("and now?")
			p.Await("an answer without a mention", `last("bot").textContent.includes("heard: and now?")`)
			shoot("thread")
		})
	}
}
