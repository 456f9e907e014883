package page_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
)

// sets writes a value into the form of the setting that is open, and sends it.
func (b *browser) sets(value string) {
	b.t.Helper()
	b.Await("the field", `document.querySelector("#value") && `+settled)
	b.Do(fmt.Sprintf(`document.querySelector("#value").value = %q; document.querySelector("#setting form.line button").click()`, value))
}

// An admin finds a setting, changes it, sees what counts and why, and takes it back.
func TestSettingIsChangedAndUndone(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.Do(`[...document.querySelectorAll("#side footer a")].find((a) => a.innerText === "Settings").click()`)
		root.shows("router.workers")
		root.Shoot("settings")
		root.Looks(func(look string) {
			root.Await("all of the values on a "+look, `(() => { const of = document.querySelector(".settings .wide"); return of.scrollWidth <= of.clientWidth })()`)
		})
		root.Run(chromedp.SendKeys("#find-setting", "messages answered engine"))
		root.Await("that setting alone", `document.querySelectorAll("#setting-rows tr").length === 1 && document.querySelector("#setting-rows").innerText.includes("router.workers")`)
		root.clicks(`#setting-rows a`)
		root.shows("one person holds at most a quarter")
		root.refused = "status of 4"
		root.sets("many")
		root.shows(`router.workers: needs a whole number, not "many"`)
		root.Await("the value that was typed", `document.querySelector("#value").value === "many"`)
		root.sets("7")
		root.shows("router.workers is 7")
		root.Shoot("setting")
		root.Run(chromedp.Reload())
		root.Await("the value and its source", `document.querySelector("#setting dl").innerText.replace(/\s+/g, " ").includes("Value 7 From run-time change")`)
		s.Counts("router.workers", "7")
		root.opens("/settings/changes")
		root.shows("router.workers is 7, in the file 64")
		root.Shoot("settings-changes")
		root.clicks(`tbody form button`)
		root.shows("Takes back version 1.")
		root.shows("Taken back by version 2.")
		s.Counts("router.workers", "64")

		root.opens("/settings/router.workers")
		root.sets("9")
		root.shows("router.workers is 9")
		root.opens("/settings/changes")
		root.Do(`[...document.querySelectorAll("button")].find((b) => b.innerText === "Save to the file").click()`)
		root.shows("In the file: router.workers")
		root.opens("/settings/router.workers")
		root.Await("the file as its source", `/From\s*\S*\.toml:\d+/.test(document.querySelector("#setting dl").innerText)`)
		root.opens("/settings/agent.sandbox")
		root.shows("changed in the file alone")
		root.opens("/settings/no.such.setting")
		root.shows("There is no such thing")

		ada := s.signedIn(t, "ada")
		ada.Await("no entry of the menu", `!document.querySelector("#side").innerText.includes("Settings")`)
		ada.refused = "status of 403"
		for _, path := range []string{"/settings", "/settings/changes", "/settings/router.workers", "/settings/waiting", "/setup/model", "/setup/channel", "/setup/live"} {
			ada.opens(path)
			ada.shows("That is for admins.")
		}
		ada.opens("/")
		for path, form := range map[string]string{
			"/settings": "key=router.workers&value=3", "/settings/undo": "version=1", "/settings/confirm": "version=1", "/settings/save": "",
			"/setup/zone": "zone=Rome", "/setup/claim": "", "/setup/model": "server=local", "/setup/channel": "kind=scripted",
		} {
			if status := pagetest.Evaluate[int](ada.Page, fmt.Sprintf(`(() => { const x = new XMLHttpRequest(); x.open("POST", %q, false);
				x.setRequestHeader("Content-Type", "application/x-www-form-urlencoded"); x.send(%q); return x.status })()`, path, form)); status != 403 {
				t.Errorf("a user's post to %s is answered with %d", path, status)
			}
		}
		s.Counts("router.workers", "9")
	})
}

// A change that shuts the admin out is taken back by itself, unless they confirm it.
func TestSettingThatShutsOutIsTakenBack(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		root := s.signedIn(t, "root")
		root.opens("/settings/router.rate_person")
		root.sets("1/h")
		root.shows("Confirm it, or I take it back.")
		root.Shoot("setting-waits")
		root.opens("/")
		root.Await("it on other pages", `document.querySelector("#waiting [data-left]")`)
		root.writes("one")
		root.reads("heard: one")
		root.refused = "status of 409"
		root.writes("two")
		root.Await("that they are not heard", `document.querySelector("#toast").innerText.includes("too fast")`)
		root.opens("/settings/router.workers")
		root.sets("7")
		root.Await("that nothing else is changed", `document.querySelector("#toast").innerText.includes("waits for root to confirm it")`)
		root.Await("that half of the time is over", `parseInt(document.querySelector("#waiting [data-left]").innerText) <= 30`)
		root.Await("that nobody confirmed it", `document.querySelector("#waiting").innerText.includes("Nobody confirmed the change of router.rate_person")`)
		s.Counts("router.rate_person", `"off"`)
		root.opens("/settings/changes")
		root.shows("Not confirmed, so it is not used.")
		root.opens("/")
		root.Do(`document.querySelector("#text").value = ""`)
		root.writes("three")
		root.reads("heard: three")

		root.opens("/settings/router.message_limit")
		root.sets("32KB")
		root.shows("Confirm it, or I take it back.")
		root.clicks(`#waiting .button`)
		root.Await("nothing that waits", `!document.querySelector("#waiting [data-left]")`)
		root.opens("/settings/changes")
		root.shows("Confirmed.")
		s.Counts("router.message_limit", `"32KB"`)
	})
}
