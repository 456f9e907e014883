package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
)

// A person signs in, writes, reads the answer, loads the page again and goes on.
func TestFirstConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
		ada := s.signedIn(t, "ada")
		ada.writes("hello there")
		ada.reads("heard: hello there")
		ada.Await("the address of the chat", `location.pathname.startsWith("/c/")`)
		ada.writes("and again")
		ada.reads("heard: and again")
		ada.Await("the chat in the list", `document.querySelector("#sessions .here .name").textContent === "hello there"`)
		ada.Shoot("chat")
		ada.Run(chromedp.Reload())
		ada.reads("heard: and again")
		if n := pagetest.Evaluate[int](ada.Page, `document.querySelectorAll("#items > article").length`); n != 4 {
			t.Errorf("%d messages are shown, want 4", n)
		}
		ada.writes("third")
		ada.reads("heard: third")
		ada.Await("nothing is worked on", `!document.querySelector("#state .working")`)
		bob := s.signedIn(t, "bob")
		path := pagetest.Evaluate[string](ada.Page, "location.pathname")
		bob.refused = "status of 404"
		bob.opens(path)
		bob.Await("a refusal", `document.body.innerText.includes("it is not yours")`)
		if strings.Contains(pagetest.Evaluate[string](bob.Page, "document.body.innerText"), "hello there") {
			t.Error("bob reads what ada wrote")
		}
		bob.opens("/")
	})
}

// A conversation that is longer than the window is scrolled by itself, and nothing around it.
func TestLongChatScrollsAlone(t *testing.T) {
	t.Parallel()
	ada := newSite(t, "sqlite", "").signedIn(t, "ada")
	for n := range 3 {
		ada.Await("the line to write in", `!document.querySelector("#send").disabled`)
		ada.Do(fmt.Sprintf(`document.querySelector("#text").value = %q`, strings.Repeat("a line\n", 40)))
		ada.Say(fmt.Sprint("and end ", n))
		ada.reads(fmt.Sprint("and end ", n))
	}
	ada.Looks(func(look string) {
		ada.Await("a long chat on a "+look, `document.querySelector("#log").scrollHeight > innerHeight`)
		for _, around := range []string{"document.scrollingElement", `document.querySelector("#main")`} {
			if !ada.Is(around + ".scrollHeight <= innerHeight") {
				t.Errorf("%s: %s is %d px high", look, around, pagetest.Evaluate[int](ada.Page, around+".scrollHeight"))
			}
		}
	})
}
