package page_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
)

// A chat of another channel is read on the page as it goes on, and what is written there from the page is shown in it, then answered.
func TestChatOfAnotherChannel(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Platform.Say("a1", "ada", "from the phone")
		s.Await("an answer", programtest.Patience, func() bool { return len(s.Platform.SentIn("a1")) == 1 })
		ada := s.signedIn(t, "ada")
		ada.Await("the chat with its channel", `document.querySelector("#sessions .channel").innerText === "play"`)
		ada.clicks(`#sessions a`)
		ada.reads("heard: from the phone")
		s.Platform.Say("a1", "ada", "once more")
		ada.reads("heard: once more")
		ada.writes("from the page")
		ada.reads("heard: from the page")
		s.Await("all of it is on the platform", programtest.Patience, func() bool { return len(s.Platform.SentIn("a1")) >= 4 })
		sent := s.Platform.SentIn("a1")
		if n := len(sent); n != 4 || !strings.Contains(sent[2].Text, "You wrote on the page") || !strings.Contains(sent[2].Text, "from the page") || !strings.Contains(sent[3].Text, "heard: from the page") {
			t.Errorf("the chat has %d messages: %+v", n, sent)
		}
		bob := s.signedIn(t, "bob")
		bob.refused = "status of 404"
		bob.opens("/c/play:a1")
		bob.Await("a refusal", `document.body.innerText.includes("it is not yours")`)
	})
}

// What was decided on another page, or is not asked any more, loses its buttons on every open page.
func TestDecidedElsewhereLosesItsButtons(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Model.Handle(teller)
		root, ada := s.signedIn(t, "root"), s.signedIn(t, "ada")
		root.writes("hello")
		root.reads("heard: hello")
		ada.writes("run echo one")
		root.Await("root is asked", `document.querySelector("#items .approval.proposed pre").innerText.includes("echo one")`)
		now := &browser{Page: root.Tab(), site: s, t: t}
		now.opens("/now")
		now.clicks(`#now-approvals button[value=once]`)
		ada.reads("ran: ")
		gone := func(n int) string {
			return fmt.Sprintf(`document.querySelectorAll("#items .approval").length === %d && !document.querySelector("#items form")`, n)
		}
		root.Await("the chat asks no more", gone(1))
		ada.writes("run echo two " + strings.Repeat("and more ", 500))
		root.Await("root is asked", `document.querySelector("#items .approval:last-of-type pre").innerText.includes("echo two")`)
		if kept := fmt.Sprint(s.rows("SELECT name, state FROM attachments")); kept != "[[command.txt clean]]" {
			t.Errorf("the whole of it is kept as %s", kept)
		}
		ada.clicks(`#state .working button`)
		root.Await("what was stopped is not asked", gone(2))
		ada.Await("nor where it was stopped", gone(2))

		ada.writes("choose something")
		ada.reads("Which one?")
		other := &browser{Page: ada.Tab(), site: s, t: t}
		other.opens(pagetest.Evaluate[string](ada.Page, "location.pathname"))
		ada.Do(`disconnect()`) // as a hidden page does
		other.clicks(`#items .choices button`)
		other.reads("heard: Tea")
		ada.Do(`connect()`)
		ada.Await("it was chosen", gone(2))
	})
}

// An admin reads what somebody else said after a press, which the audit log has, and writes nothing there; users do not.
func TestAdminReadsAfterAPress(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Platform.Say("a1", "ada", "a secret plan")
		s.Await("an answer", programtest.Patience, func() bool { return len(s.Platform.SentIn("a1")) == 1 })
		root := s.signedIn(t, "root")
		root.opens("/c/play:a1")
		root.shows("This chat is of ada")
		if root.Is(`document.body.innerText.includes("a secret plan")`) {
			t.Error("it is read before the press")
		}
		root.clicks(`#main form button`)
		root.reads("heard: a secret plan")
		root.Await("no line to write in, and nothing to try again", `!document.querySelector("#composer") && !document.querySelector("#state button")`)
		s.Platform.Say("a1", "ada", "goes on")
		root.reads("heard: goes on")
		root.opens("/audit")
		root.shows("read what others said in")
		v := &visit{site: s, t: t}
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("bob")))
		v.is(http.StatusForbidden, "", "POST", "/c/play:a1/read", nil)
		v.is(http.StatusNotFound, "", "GET", "/c/play:a1", nil)
		boss := &visit{site: s, t: t}
		boss.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("root")))
		boss.is(http.StatusNotFound, "", "GET", "/c/play:a1/live?after=0", nil)
		boss.is(http.StatusSeeOther, "", "POST", "/c/play:a1/read", nil)
		boss.is(http.StatusNotFound, "", "POST", "/c/play:a1/messages", url.Values{"text": {"in her name"}})
	})
}
