package page_test

import (
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

// A chat of another channel is read on the page as it goes on, and what is written there from the page is shown in it, then answered.
func TestChatOfAnotherChannel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
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
