package page_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"switchboard/channels/platformtest/pagetest"
)

// unseen says why nobody sees where the keyboard is; empty: it can be seen, or is nowhere.
const unseen = `(() => {
	const at = document.activeElement
	if (!at || at === document.body) return ""
	const e = at.type === "file" ? at.parentElement : at, style = getComputedStyle(e), box = e.getBoundingClientRect()
	const name = e.tagName + "#" + e.id + "." + e.className + " " + (e.innerText ?? "").slice(0, 30) + ": "
	if (!(style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) && style.boxShadow === "none") return name + "no outline"
	if (box.width < 4 || box.height < 4 || box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return name + "out of sight"
	for (let p = e; p; p = p.parentElement) if (getComputedStyle(p).opacity < .9) return name + "as good as transparent"
	return ""
})()`

// keys presses keys one after the other, and wants to see where the keyboard is then.
func (b *browser) keys(keys string) {
	b.t.Helper()
	b.Await("the page at rest", settled)
	b.Run(chromedp.KeyEvent(keys, func(p *input.DispatchKeyEventParams) {
		if p.Type == kb.KeyDown {
			p.Type = kb.KeyRawDown // after any other, also a key that the page took is written
		}
	}))
	for began := time.Now(); time.Since(began) < time.Minute; { // what fades in takes a moment
		if b.Is(settled + " && " + unseen + ` === ""`) {
			return
		}
	}
	b.t.Fatalf("after %q: %s", keys, pagetest.Evaluate[string](b.Page, unseen))
}

// tabs presses Tab until the keyboard is at what a selector finds.
func (b *browser) tabs(selector string) {
	b.t.Helper()
	b.Await(selector, fmt.Sprintf(`document.querySelector(%q)`, selector))
	for range 150 {
		if b.Is(fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("Tab does not come to %s", selector)
}

// at waits until the keyboard is at what a selector finds.
func (b *browser) at(selector string) {
	b.t.Helper()
	b.Await("the keyboard at "+selector, fmt.Sprintf(`document.activeElement.matches(%q) && %s`, selector, settled))
}

// All is done with the keyboard alone, and where it is can be seen.
func TestAllByKeyboard(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		b := &browser{Page: pagetest.Start(t), site: s, t: t}
		b.Run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { // as the window in front
			_, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
			return err
		}), chromedp.Navigate(s.link("root")))
		b.at(`#link button`)
		b.keys(kb.Enter)
		b.at(`#text`)
		b.keys("hello there" + kb.Enter)
		b.reads("heard: hello there")
		b.at(`#text`)

		b.keys("/mod")
		b.Await("the commands that begin so", `[...document.querySelectorAll("#commands:not([hidden]) li:not([hidden]) b")].map((e) => e.innerText).join() === "/mode,/model"`)
		b.keys(kb.ArrowDown + kb.ArrowDown + kb.ArrowUp + kb.Escape)
		b.at(`#text`)
		b.Await("no commands", `document.querySelector("#commands").hidden`)
		b.keys("e")
		b.keys(kb.ArrowDown + kb.Enter)
		b.at(`#text`)
		b.Await("the command", `document.querySelector("#text").value === "/mode " && document.querySelector("#commands").hidden`)
		b.keys(strings.Repeat(kb.Backspace, 6))
		b.keys("choose something" + kb.Enter)
		b.reads("Which one?")
		b.tabs(`#items .choices button:last-child`)
		b.keys(kb.Enter)
		b.reads("heard: Coffee")
		b.keys(kb.Enter)
		b.at(`#text`)
		b.keys("run echo page" + kb.Enter)
		b.tabs(`#items .approval button[value=once]`)
		b.keys(" ")
		b.reads("ran: ")
		b.tabs(`#items article:last-of-type footer a`)

		b.tabs(`#text`)
		b.keys("count slowly" + kb.Enter)
		b.Await("it works", `document.querySelector("#state .working")`)
		b.keys(kb.Escape)
		b.Await("it is stopped", `document.querySelector("#items .end") && !document.querySelector("#state .working")`)
		b.at(`#text`)
		b.keys(kb.ArrowUp)
		b.Await("it is edited", `document.querySelector("#text").value === "count slowly"`)
		b.keys(kb.Escape)
		b.Await("it is not edited", `document.querySelector("#text").value === "" && document.querySelector("#editing").hidden`)
		b.keys(kb.ArrowUp + kb.Home + "say " + kb.Enter)
		b.reads("heard: say count slowly")

		b.tabs(`.menu summary`)
		b.keys(kb.Enter)
		b.tabs(`#title`)
		b.keys(kb.End + ", renamed" + kb.Enter)
		pins := func(shown, hidden string) {
			t.Helper()
			b.Await(shown+" alone", fmt.Sprintf(`document.querySelector(%q).offsetParent && !document.querySelector(%q).offsetParent`, shown, hidden))
		}
		pins(".pins", ".unpins")
		b.tabs(".pins")
		b.keys(kb.Enter)
		pins(".unpins", ".pins")
		b.Do(`document.querySelector("#title").focus()`)
		b.tabs(".unpins")
		b.keys(kb.Enter)
		pins(".pins", ".unpins")
		b.Await("the name", `document.querySelector("#sessions .name").innerText === "hello there, renamed"`)
		b.keys(kb.Escape)
		b.at(`.menu summary`)
		b.Await("the menu is shut", `!document.querySelector(".menu").open`)
		b.keys("n")
		b.at(`#text`)
		b.keys("second chat" + kb.Enter)
		b.reads("heard: second chat")
		b.at(`#text`) // the page of a new chat puts it there once it is loaded
		b.keys(kb.Escape)
		b.Await("the keyboard is nowhere", `document.activeElement === document.body`)
		b.keys("/")
		b.at(`#q`)
		b.keys("hello")
		b.Await("the chat is found", `document.querySelectorAll("#sessions a").length === 1`)
		b.tabs(`#sessions a`)
		b.keys(kb.Enter)
		b.reads("heard: hello there")
		b.keys(kb.Escape + "j")
		b.at(`#sessions li:nth-child(2) a`)
		b.keys("k")
		b.at(`#sessions li:first-child a`)
		b.keys(kb.Enter)
		b.reads("heard: second chat")

		b.tabs(`#side footer a[href$="/now"]`)
		b.keys(kb.Enter)
		b.tabs(`#now form[action$=check] button`)
		b.keys(kb.Enter)
		b.Await("the findings", `document.querySelector("#findings details summary")`)
		b.tabs(`#findings summary`)
		b.keys(" ")
		b.Await("those that are fine", `document.querySelector("#findings details").open`)

		b.tabs(`#side footer a[href$="/jobs"]`)
		b.keys(kb.Enter)
		b.tabs(`#job-text`)
		b.keys("stretch" + kb.Tab + kb.ArrowDown + kb.Tab + "every day at 9")
		b.Await("the echo", `document.querySelector("#job-echo").innerText.startsWith("That is: every day at 09:00")`)
		b.keys(kb.Tab + " ")
		b.Await("the job", `document.querySelector("#jobs .job h2").innerText === "stretch" && document.querySelector("#jobs .kind").innerText.startsWith("Task")`)
		b.tabs(`[id^=pause-]`)
		b.keys(" ")
		b.Await("it is paused", `document.querySelector("#jobs .job.paused")`)

		b.tabs(`#side footer a[href$="/memory"]`)
		b.keys(kb.Enter)
		b.tabs(`#memory-text`)
		b.keys("be brief" + kb.Tab + kb.ArrowDown + kb.Tab + " ")
		b.Await("the rule", `document.querySelector("#memories h2")?.innerText === "Rules"`)
		b.tabs(`#memories [id^=forget-]`)
		b.keys(" ")
		b.Await("it is forgotten", `document.querySelector("#memories .empty")`)

		b.tabs(`#side footer a[href$="/settings"]`)
		b.keys(kb.Enter)
		b.tabs(`#find-setting`)
		b.keys("router.message_limit")
		b.Await("that setting alone", `document.querySelectorAll("#setting-rows tr").length === 1`)
		b.tabs(`#setting-rows a`)
		b.keys(kb.Enter)
		b.tabs(`#value`)
		b.keys("32KB" + kb.Enter)
		b.shows("Confirm it, or I take it back.")
		b.tabs(`#waiting .button`)
		b.keys(kb.Enter)
		b.Await("nothing that waits", `!document.querySelector("#waiting [data-left]")`)
		s.Counts("router.message_limit", `"32KB"`)

		b.Run(chromedp.EmulateViewport(390, 844))
		b.tabs(`#menu`)
		b.keys(kb.Enter)
		b.at(`#side a`)
		b.keys(kb.Escape)
		b.at(`#menu`)
		b.keys(kb.Enter)
		b.tabs(`#side footer form button`)
		b.keys(kb.Enter)
		b.Await("the way in", `location.pathname === "/signin" && document.querySelector("#name")`)
		for _, f := range b.Faults() {
			t.Error(f)
		}
	})
}
