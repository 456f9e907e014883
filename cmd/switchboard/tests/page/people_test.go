package page_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
)

// sends presses what a selector finds, and waits for the page that comes of it.
func (b *browser) sends(selector string) {
	b.t.Helper()
	b.Await("a page that is whole", `document.readyState === "complete"`)
	b.agrees()
	b.Do(`window.leaves = true`)
	b.clicks(selector)
	b.Await("the page after "+selector, `!window.leaves && document.readyState === "complete"`)
}

// fills writes into what a selector finds.
func (b *browser) fills(selector, text string) {
	b.t.Helper()
	b.Await(selector, fmt.Sprintf(`document.querySelector(%q)`, selector))
	b.Do(fmt.Sprintf(`document.querySelector(%q).value = %q`, selector, text))
}

// agrees has the page's questions answered with yes.
func (b *browser) agrees() { b.Do(`window.confirm = () => true`) }

// A stranger writes, is let in with one click, and is served; where admins are asked, they are told.
func TestStrangerIsLetIn(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.opens("/people")
		root.shows("Nobody. Who writes to the bot")
		s.Platform.Say("czed", "zed", "let me <b>in</b>")
		root.shows("scripted:zed") // by itself
		root.shows("let me <b>in</b>")
		root.fills(`.knocks input[name=name]`, "Zed")
		root.Shoot("people")
		root.sends(`.knocks button.main`)
		root.Await("the stranger among everybody", `!document.querySelector(".knocks") && document.querySelector("tbody").innerText.includes("Zed")`)
		s.Answers("zed", "hello", "heard: hello")

		s.Prints("config set channels.play.dm pairing", 0)
		s.Counts("channels.play.dm", "pairing")
		if got := s.Ask("yan", "hi"); !strings.Contains(got, "Tell them this code") {
			t.Errorf("a stranger reads %q", got)
		}
		root.opens("/people")
		root.shows("asks to be let in")
		root.sends(`.knocks button.main`)
		root.Await("nobody knocks", `!document.querySelector(".knocks")`)
		s.Await("the stranger is told", time.Second, func() bool { return len(s.Shown("yan")) > 1 })
		if got := s.Shown("yan")[1]; !strings.HasPrefix(got, "Hello. You can write to me here.") {
			t.Errorf("who was let in reads %q", got)
		}
		s.Answers("yan", "hello", "heard: hello")
	})
}

// An admin adds somebody, changes what they may, and removes them; the audit log has it all.
func TestPeopleAreChanged(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.opens("/people")
		root.fills(`form[action="/people/add"] [name=name]`, "eve")
		root.fills(`form[action="/people/add"] [name=identity]`, "scripted:eve, scripted:eve2")
		root.sends(`form[action="/people/add"] button`)
		root.Await("her page", `location.pathname === "/people/eve"`)
		root.shows("eve\n")
		s.Answers("eve", "hello", "heard: hello")
		root.Do(`document.querySelector("#person [name=role]").value = "admin"`)
		root.sends(`form[action="/people/role"] button`)
		root.shows("admin, added by hand since")
		root.fills(`form[action="/people/tools"] [name=tools]`, "web exec")
		root.sends(`form[action="/people/tools"] button`)
		root.Await("her tools", `document.querySelector("[name=tools]").value === "web exec"`)
		root.sends(`form[action="/people/unlink"]:has([value="scripted:eve2"]) button`)
		root.Await("one account", `document.querySelector("#person") && !document.body.innerText.includes("scripted:eve2")`)
		root.Shoot("person")

		root.clicks(`form[action="/people/eve/signin"] button`)
		root.Await("a link", `document.querySelector("#link code")`)
		root.Shoot("link")
		link := pagetest.Evaluate[string](root.Page, `document.querySelector("#link code").innerText`)
		eve := &browser{Page: pagetest.Start(t), site: s, t: t}
		eve.Run(chromedp.Navigate(link))
		eve.clicks(`#link button`)
		eve.Await("the page", `document.querySelector("a.me").innerText === "eve"`)
		root.opens("/people/eve")
		root.shows("Chrome on Linux")
		root.sends(`form[action="/people/signout"] button`)
		root.shows("No browser is signed in")
		eve.refused = "401"
		eve.opens("/me")
		eve.Await("the page to sign in", `document.querySelector("#signin")`)

		root.sends(`a[href="/people/eve/remove"]`)
		root.shows("Remove eve (admin, scripted:eve, tools web, exec) for good?")
		root.Shoot("removal")
		root.sends(`form[action="/people/remove"] button`)
		root.Await("the list", `location.pathname === "/people" && !document.querySelector("tbody").innerText.includes("eve")`)

		root.opens("/people/ada")
		root.shows("ada is named in [[people]] of ")
		if root.Is(`document.querySelector("form[action^='/people/role'], form[action^='/people/link'], a[href$='/remove']")`) {
			t.Error("somebody of the settings can be changed")
		}
		root.opens("/people/owner")
		root.shows("This is the person who runs switchboard on this machine")

		root.opens("/audit?kind=browser.link&person=root")
		root.shows("made a sign-in link for eve")
		root.opens("/audit?kind=person")
		for _, text := range []string{"let in eve", "changed the role of eve", "changed the tools of eve", "took an account off eve", "removed eve"} {
			root.shows(text)
		}
		if got := s.rows("SELECT count(*) FROM audit WHERE action LIKE 'person.%' AND person = 'root' AND rule = 'browser'")[0][0]; got != "5" {
			t.Errorf("%s changes are in the audit log, want 5", got)
		}
	})
}

// Whoever is signed in reads who they are, sets their time zone, and ends other browsers, whose open pages end with it.
func TestMe(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		here, there := s.signedIn(t, "ada"), s.signedIn(t, "ada")
		there.refused = "401"
		there.writes("hello")
		there.reads("heard: hello")
		here.sends(`a.me`)
		here.shows("You are ada, role user.")
		here.shows("exec")
		here.shows("this one used now")
		here.shows("used around ")
		here.Await("two browsers", `document.querySelectorAll("#me .rows:last-of-type li").length === 2 && document.querySelectorAll("#me .tag").length === 1`)
		here.fills(`[name=timezone]`, "Paris, but not quite")
		here.refused = "409"
		here.clicks(`form[action="/me/timezone"] button`)
		here.Await("a refusal", `document.querySelector("#toast").innerText !== ""`)
		here.fills(`[name=timezone]`, "new york")
		here.sends(`form[action="/me/timezone"] button`)
		here.Await("the time zone", `document.querySelector("[name=timezone]").value === "America/New_York"`)
		here.Shoot("me")
		here.sends(`#me form[action="/signout"] button`)
		here.Await("the page to sign in", `document.querySelector("#signin")`)
		there.Await("the end of the other page", `document.querySelector("#signin")`)
	})
}

// A code makes whoever sends it an admin; another account is added by a chat that the page opens.
func TestCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite", "")
	root := s.signedIn(t, "root")
	root.opens("/people")
	root.clicks(`form[action="/people/claim"] button`)
	root.Await("a code", `document.querySelector(".once code")`)
	code := pagetest.Evaluate[string](root.Page, `document.querySelector(".once code").innerText`)
	root.Shoot("claim")
	if got := s.Ask("zoe", "/claim "+code); !strings.HasPrefix(got, "Welcome! You are an admin") {
		t.Errorf("with the code %q: %q", code, got)
	}
	ada := s.signedIn(t, "ada")
	ada.opens("/me")
	ada.clicks(`#me form[action="/chat"] button`)
	ada.reads("Send me this from your other account")
	ada.Run(chromedp.Reload())
	ada.reads("Send me this from your other account")
}
