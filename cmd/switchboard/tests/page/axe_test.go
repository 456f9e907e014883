package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
)

// asksAxe keeps in window.found what a page makes hard to use. By night colours alone are other than by day. Of the settings on a
// telephone it cannot tell the colours ("midpoint exceeds the grid bounds"), which are those of the wide page.
const asksAxe = `window.found = ""; axe.run(document, {resultTypes: ["violations"]%s}).then((r) => { window.found = JSON.stringify(
	[...r.violations.filter((v) => ["serious", "critical"].includes(v.impact)), ...r.incomplete.filter((v) => v.error && !v.error.message.includes("grid bounds"))].map((v) => v.id + ": " + (v.error?.message ?? v.help) + "\n" + v.nodes.slice(0, 6).map((n) => "    " + n.target.join(" ") + "  " + n.any.map((a) => a.message).join("; ")).join("\n")))
}, (err) => { window.found = JSON.stringify(["axe: " + err]) })`

// found is what axe-core says of the open page, by rules; none: all of them.
func (b *browser) found(axe, rules string) (found []string) {
	b.t.Helper()
	if !b.Is("window.axe") {
		b.Do(axe)
	}
	b.Do(fmt.Sprintf(asksAxe, rules))
	b.Await("what axe finds", `window.found`)
	if err := json.Unmarshal([]byte(pagetest.Evaluate[string](b.Page, `window.found`)), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

// usable looks at the open page in all its looks.
func (b *browser) usable(name, axe string) {
	b.t.Helper()
	b.Await("the page", settled)
	b.Looks(func(look string) {
		if b.Is(`document.querySelector("#main")?.scrollWidth > document.querySelector("#main")?.clientWidth`) {
			b.t.Errorf("%s by %s is wider than the screen", name, look)
		}
		rules := ""
		if strings.HasSuffix(look, "night") {
			rules = `, runOnly: ["color-contrast", "link-in-text-block"]`
		}
		for _, f := range b.found(axe, rules) {
			b.t.Errorf("%s by %s: %s", name, look, f)
		}
	})
}

// Every page can be used by everybody, as far as a program can tell: with a screen reader, with a keyboard, with weak eyes.
func TestPagesAreUsable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/axe.min.js") // https://github.com/dequelabs/axe-core, 4.14.1
	if err != nil {
		t.Fatal(err)
	}
	axe := string(data) + "\n"
	s := newSite(t, "sqlite", "[llm.models.dear]\nmodel = \"fake/model\"\nprice_in = 100.0\nprice_out = 1000.0\n")
	s.Model.Handle(teller)
	nobody := &browser{Page: pagetest.Start(t), site: s, t: t}
	nobody.opens("/signin")
	nobody.usable("/signin", axe)
	nobody.Do(`document.querySelector("h1").outerHTML = "<h1><button></button></h1>"`)
	if found := nobody.found(axe, ""); len(found) != 1 || !strings.HasPrefix(found[0], "button-name") {
		t.Errorf("of a button without a name axe says %q", found)
	}

	root := s.signedIn(t, "root")
	root.usable("a new chat", axe)
	root.writes("count, and say what there is to be said about each of the numbers")
	root.reads("all that is to be said was said")
	root.writes("work on it")
	root.reads("ran")
	root.writes("choose something")
	root.reads("Which one?")
	root.writes("run echo this waits")
	root.Await("a question", `document.querySelector("#items .approval.proposed")`)
	root.Do(`document.querySelectorAll("#items details").forEach((e) => { e.open = true })`)
	root.usable("the chat", axe)

	s.Platform.Say("czed", "zed", "let me in")
	s.Prints("config set router.workers 9", 0)
	for _, set := range []string{"agent.planner dear", "budget.per_day 20", "budget.per_person_day 10"} {
		s.Prints("config set "+set, 0)
	}
	root.writes("hello")
	root.reads("heard: hello")
	admin := s.visitor("root")
	for path, form := range map[string]string{
		"/memory": "text=the+keys+are+at+Ann's", "/jobs": "kind=reminder&when=every+day+at+9&text=stretch", "/people/add": "name=eve&role=user&tools=*", "/secrets/set": "name=spare&value=a-long-value-1", "/tokens": "name=watcher&days=1&scope=read&person=ada",
	} {
		if status, _, page := admin.does("POST", path, form); status >= 400 {
			t.Fatalf("%s: %d %s", path, status, page)
		}
	}
	for _, path := range []string{
		"/me", "/now", "/jobs", "/jobs/1", "/memory", "/memory?of=ada", "/money", "/people", "/people/eve", "/people/ada", "/people/eve/remove", "/secrets", "/tokens", "/settings", "/settings/router.workers", "/settings/changes", "/audit",
		fmt.Sprint("/turns/", s.TurnOf("work on it").ID), "/setup", "/setup/model", "/setup/channel", "/setup/zone", "/setup/first",
	} {
		root.Run(chromedp.Navigate("http://" + s.address + path))
		root.Do(`document.querySelectorAll("#main details:not(.menu)").forEach((e) => { e.open = true })`)
		root.usable(path, axe)
	}
}
