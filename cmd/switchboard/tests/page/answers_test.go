package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

const growsText = "# A title\n\nOne **two** three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty, and on to thirty, forty, fifty, sixty, seventy, eighty and ninety.\n\n```go\nfunc main() { println(\"hi\") }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
	"The end of it comes after a while, when all that is to be said was said."

// teller answers as what was said asks for.
func teller(req llmtest.Request) llmtest.Reply {
	if req.Role != "planner" {
		return programtest.Clerk(req)
	}
	reply := func(tasks ...llmtest.Task) llmtest.Reply { return llmtest.Text(llmtest.Plan("show it", tasks...)) }
	switch text := programtest.Said(req); {
	case strings.HasPrefix(text, "count"):
		slowly := reply(llmtest.Answer(growsText))
		slowly.Pause = 150 * time.Millisecond
		return slowly
	case strings.HasPrefix(text, "choose"):
		return reply(llmtest.Ask("Which one?", "Tea", "Coffee"))
	case strings.HasPrefix(text, "work"):
		return llmtest.Text(llmtest.Plan("do three things", llmtest.Exec("sleep 1; pwd", "it says where"), llmtest.Exec("ls / >/dev/null; printf 'second output'", "it lists"), llmtest.Msg("Say that you ran them")))
	}
	return programtest.Clerk(req)
}

// held answers with a long text, the end of which waits until hold is closed.
func held(hold chan struct{}) func(llmtest.Request) llmtest.Reply {
	return func(llmtest.Request) llmtest.Reply {
		slowly := llmtest.Text(llmtest.Plan("show it", llmtest.Answer(growsText)))
		slowly.Pause, slowly.HoldAt, slowly.Hold = 50*time.Millisecond, 20, hold
		return slowly
	}
}

// shifts begins to measure how much the layout moves by itself, and says how much it was.
const (
	shiftsBegin = `window.moved = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) moved += e.value }).observe({type: "layout-shift", buffered: false})`
	shifts      = `window.moved`
)

// An answer grows while it is made, also for who comes in its middle, and nothing else moves.
func TestAnswerGrows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		ada := s.signedIn(t, "ada")
		for i := range 4 {
			ada.writes(fmt.Sprint("fill ", i))
			ada.reads(fmt.Sprint("heard: fill ", i))
		}
		hold := make(chan struct{})
		s.Model.Handle(held(hold))
		ada.Do(shiftsBegin)
		ada.writes("count please")
		grows := `document.querySelector("#growing").innerText.includes("three")`
		ada.Await("the text grows", grows)
		other := &browser{Page: ada.Tab(), site: s, t: t}
		other.opens(pagetest.Evaluate[string](ada.Page, "location.pathname"))
		other.Await("the text grows in another tab", `document.querySelector("#growing").innerText.includes("three")`)
		close(hold)
		ada.reads("all that is to be said was said")
		other.reads("all that is to be said was said")
		ada.Await("nothing grows any more", `document.querySelector("#growing").innerText === ""`)
		if moved := pagetest.Evaluate[float64](ada.Page, shifts); moved >= 0.05 {
			t.Errorf("the layout moved by %v", moved)
		}
		ada.Await("Markdown is laid out", `document.querySelector("#items article:last-of-type h1") && document.querySelector("#items .code .k") && document.querySelector("#items table td")`)
		ada.Await("code can be copied", `document.querySelector("#items .code > button")`)
		if n := pagetest.Evaluate[int](other.Page, `document.querySelectorAll("#items article").length`); n != 10 {
			t.Errorf("the other tab shows %d messages", n)
		}
		ada.Shoot("markdown")
	})
}

// A page that is loaded again in the middle of an answer shows what was made of it, and the rest as it comes.
func TestReloadInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		ada := s.signedIn(t, "ada")
		ada.writes("hello")
		ada.reads("heard: hello")
		hold := make(chan struct{})
		s.Model.Handle(held(hold))
		ada.writes("count")
		grown := func(word string) string {
			return fmt.Sprintf(`(() => { const made = document.querySelector("#growing").innerText; return made.startsWith("A title") && made.split("One two").length === 2 && made.includes(%q) })()`, word)
		}
		ada.Await("the text grows", grown("five"))
		ada.Run(chromedp.Reload())
		ada.Await("what was made is there", grown("five")+` && !document.querySelector("#growing").innerText.includes("twenty")`)
		close(hold)
		ada.Await("it grows on", grown("twenty"))
		ada.reads("all that is to be said was said")
		ada.Await("nothing grows any more", `document.querySelector("#growing").innerText === ""`)
		whole := `[...document.querySelectorAll("#items > article .text")].map((e) => e.innerText)`
		before := pagetest.Evaluate[[]string](ada.Page, whole)
		ada.Run(chromedp.Reload())
		ada.Await("the same from the beginning", `document.querySelector("#items")`)
		if after := pagetest.Evaluate[[]string](ada.Page, whole); len(before) != 4 || !slices.Equal(before, after) || !strings.HasPrefix(before[3], "A title\n\nOne two three four") {
			t.Errorf("the page showed %q, and shows %q once it is loaded again", before, after)
		}
	})
}

// A plan is a checklist that ticks itself, is folded at the end, and has its tasks' output on demand.
func TestPlanTicksItself(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(func(req llmtest.Request) llmtest.Reply {
			reply := teller(req)
			reply.Text = strings.Replace(reply.Text, "sleep 1", "until [ -e seen ]; do sleep 0.1; done", 1)
			return reply
		})
		ada := s.signedIn(t, "ada")
		ada.writes("work on it")
		ada.Await("the plan", `document.querySelectorAll("#items .plan li").length === 3`)
		ada.Await("its first task runs", `document.querySelector("#items .plan li:first-child.running")`)
		var folders []string
		s.Await("the command's folder", 20*time.Second, func() bool {
			folders, _ = filepath.Glob(filepath.Join(s.Dir, "data", "workspaces", "*"))
			return len(folders) == 1
		})
		testkit.Write(t, filepath.Join(folders[0], "seen"), "")
		ada.Await("its first task is done", `document.querySelector("#items .plan li:first-child.done")`)
		ada.Await("the second, too", `document.querySelector("#items .plan li:nth-child(2).done")`)
		ada.reads("ran")
		ada.Await("the plan is folded", `!document.querySelector("#items .plan").open`)
		ada.clicks(`#items .plan summary`)
		ada.Await("the output", `document.querySelector("#items .plan li:nth-child(2) .output").click(), document.querySelector("#items .plan li:nth-child(2) pre").innerText.includes("second output")`)
		ada.Run(chromedp.Reload())
		ada.Await("the same after a reload", `document.querySelectorAll("#items .plan li.done").length === 3 && !document.querySelector("#items .plan").open`)
	})
}

// A choice is made by a button, once.
func TestChoiceIsAButton(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		ada := s.signedIn(t, "ada")
		ada.writes("choose something")
		ada.reads("Which one?")
		ada.Await("two buttons", `document.querySelectorAll("#items .choices button").length === 2 && `+settled)
		ada.Do(`document.querySelectorAll("#items .choices button")[1].click()`)
		ada.reads("heard: Coffee")
		ada.Await("no buttons", `!document.querySelector("#items .choices")`)
		ada.Run(chromedp.Reload())
		ada.reads("heard: Coffee")
		ada.Await("no buttons after a reload", `!document.querySelector("#items .choices")`)
	})
}

// An approval that is asked on a platform is allowed on the page, and one of the page on the platform.
func TestApprovalsOfBoth(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.writes("run echo page >> runs.txt")
		root.Await("the question", `document.querySelector("#items .approval.proposed pre").innerText.includes("echo page")`)
		root.Shoot("approval")
		root.clicks(`#items .approval button[value=once]`)
		root.reads("ran: ")
		root.Await("who allowed it", `document.querySelector("#items .approval.accepted").innerText.includes("Allowed by root")`)

		// Ada may not decide: root is asked where he wrote last, which is the page.
		ada := s.signedIn(t, "ada")
		ada.writes("run echo ada >> runs.txt")
		ada.Await("she waits", `document.querySelector("#items .approval.proposed").innerText.includes("Admins are asked")`)
		root.Await("root is asked", `document.querySelector("#items .approval.proposed pre").innerText.includes("echo ada")`)
		if n := pagetest.Evaluate[int](root.Page, `[...document.querySelectorAll("#items article")].filter((a) => a.innerText.includes("/approve")).length`); n != 0 {
			t.Errorf("the question stands there %d times more", n)
		}
		root.clicks(`#items .approval.proposed button[value=once]`)
		ada.reads("ran: ")

		// A question of the page is answered on the platform, where root writes then.
		s.Platform.Say("r1", "root", "hello")
		s.Await("an answer on the platform", programtest.Patience, func() bool { return len(s.Platform.SentIn("r1")) > 0 })
		ada.writes("run echo again >> runs.txt")
		approve := ""
		s.Await("a question on the platform", programtest.Patience, func() bool {
			for _, m := range s.Platform.SentIn("r1") {
				if i := strings.Index(m.Text, "/approve "); i >= 0 {
					approve = m.Text[i : i+18]
				}
			}
			return approve != ""
		})
		s.Platform.Say("r1", "root", approve)
		ada.Await("it was allowed", `document.querySelectorAll("#items .approval.accepted").length === 2`)

		// And one of the platform on the page.
		root.writes("I am here")
		root.reads("heard: I am here")
		s.Platform.Say("a1", "ada", "run echo chat >> runs.txt")
		root.Await("root is asked", `document.querySelector("#items .approval.proposed pre").innerText.includes("echo chat")`)
		root.clicks(`#items .approval.proposed button[value=once]`)
		s.Await("it ran", programtest.Patience, func() bool {
			sent := s.Platform.SentIn("a1")
			return len(sent) > 0 && strings.Contains(sent[len(sent)-1].Text, "ran: ")
		})
	})
}

// Files go both ways.
func TestFiles(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		ada := s.signedIn(t, "ada")
		path := filepath.Join(t.TempDir(), "list.txt")
		if err := os.WriteFile(path, []byte("milk and bread\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ada.Run(chromedp.SetUploadFiles("#files", []string{path, path}))
		ada.Await("two files", `document.querySelectorAll("#attached li").length === 2`)
		ada.clicks(`#attached button[aria-label="Take off list.txt"]`)
		ada.Await("the file is named", `document.querySelector("#attached").innerText === "list.txt"`)
		ada.writes("what is in it")
		ada.reads("heard: what is in it")
		ada.Await("the file stands under the message", `document.querySelector("#items .person .files a.download").innerText.includes("list.txt")`)
		got := pagetest.Evaluate[string](ada.Page, `(() => { const r = new XMLHttpRequest(); r.open("GET", document.querySelector("#items .person .files a").href, false); r.send(); return r.status + r.getResponseHeader("Content-Security-Policy") + r.getResponseHeader("X-Content-Type-Options") + r.getResponseHeader("Content-Disposition") + r.responseText })()`)
		if got != "200sandboxnosniffattachment; filename=list.txtmilk and bread\n" {
			t.Errorf("the file is answered %q", got)
		}
		// One that is pasted.
		ada.Do(`const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), c => c.charCodeAt(0))], "dot.png", {type: "image/png"})); document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", {clipboardData: d, cancelable: true, bubbles: true}))`)
		ada.Await("the picture is named", `document.querySelector("#attached").innerText === "dot.png"`)
		ada.writes("and this")
		ada.Await("the picture is shown", `document.querySelector("#items .person .files img").naturalWidth === 1`)

		// What is refused stays to be sent.
		ada.refused = "409"
		ada.Run(chromedp.SetUploadFiles("#files", slices.Repeat([]string{path}, 11)))
		ada.writes("too many")
		ada.Await("it says why", `document.querySelector("#toast").innerText.includes("10 files at most")`)
		if got := pagetest.Evaluate[string](ada.Page, `document.querySelector("#text").value.trim()`); got != "too many" {
			t.Errorf("the text is %q", got)
		}
	})
}

// Keys do what the mouse does: Esc stops, arrow up edits, / searches.
func TestKeysStopEditAndSearch(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		ada := s.signedIn(t, "ada")
		ada.writes("first words")
		ada.reads("heard: first words")
		ada.Run(chromedp.SendKeys("#text", kb.ArrowUp))
		ada.Await("it is edited", `document.querySelector("#text").value === "first words" && !document.querySelector("#editing").hidden`)
		ada.Do(`document.querySelector("#text").value = "other words"`)
		ada.Run(chromedp.SendKeys("#text", kb.Enter))
		ada.reads("heard: other words") // it was answered, so it is written again
		ada.Await("no edit", `document.querySelector("#editing").hidden && document.querySelector("#text").value === ""`)
		ada.writes("count slowly")
		ada.Await("it works", `document.querySelector("#state .working")`)
		ada.Run(chromedp.SendKeys("#text", kb.Escape))
		ada.Await("it is stopped", `document.querySelector("#items .end") && !document.querySelector("#state .working")`)
		ada.Do(`document.activeElement.blur()`)
		ada.Run(chromedp.KeyEvent("/"))
		ada.Await("the search has the focus", `document.activeElement.id === "q"`)
		ada.Run(chromedp.SendKeys("#q", "nothing like it"))
		ada.Await("nothing is found", `document.querySelector("#sessions").innerText.includes("Nothing has that in it")`)
		ada.Do(`document.querySelector("#q").value = ""`)
		ada.Run(chromedp.SendKeys("#q", "first"))
		ada.Await("the chat is found", `document.querySelectorAll("#sessions a").length === 1`)
	})
}

// What is written while a message is on its way is not sent with it, and stays.
func TestWhatIsWrittenWhileAMessageIsSentStays(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		ada := s.signedIn(t, "ada")
		ada.writes("hello")
		ada.reads("heard: hello")
		ada.Do(`const text = document.querySelector("#text"), write = (more) => { text.value += more; text.dispatchEvent(new Event("input")) }
			write("first words"); document.querySelector("#composer").requestSubmit(); write("and more")`)
		ada.reads("heard: first words")
		ada.Await("what was written since", `document.querySelector("#text").value === "and more"`)
		ada.Run(chromedp.Reload())
		ada.Await("it stays", `document.querySelector("#text").value === "and more"`)
		ada.Run(chromedp.SendKeys("#text", kb.Enter))
		ada.reads("heard: and more")
		ada.Await("nothing is left", `document.querySelector("#text").value.trim() === ""`)
	})
}

// The program is killed under an open page, with an answer on its way: nothing is missed and nothing twice, and what was not sent stays.
func TestPageOutlivesAKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		ada := s.signedIn(t, "ada")
		ada.refused = "net::ERR_"
		ada.writes("hello")
		ada.reads("heard: hello")
		ada.writes("count for me")
		ada.Await("the text grows", `document.querySelector("#growing").innerText.includes("three")`)
		s.Kill()
		ada.Await("it says so", `document.querySelector("#net").textContent.includes("Reconnecting")`)
		ada.Run(chromedp.SendKeys("#text", "not yet sent"))
		s.Ready()
		ada.reads("all that is to be said was said")
		ada.Await("it is connected", `document.querySelector("#net").textContent === ""`)
		ada.Run(chromedp.Reload())
		// The browser may put the line of a typed Enter behind the text when that is sent already.
		ada.Await("what was not sent", `document.querySelector("#text").value.trim() === "not yet sent"`)
		ada.Run(chromedp.SendKeys("#text", kb.Enter))
		ada.reads("heard: not yet sent")
		if texts := pagetest.Evaluate[[]string](ada.Page, `[...document.querySelectorAll("#items article .text")].map((e) => e.innerText.slice(0, 20))`); len(texts) != 6 {
			t.Errorf("the page shows %q", texts)
		}
	})
}
