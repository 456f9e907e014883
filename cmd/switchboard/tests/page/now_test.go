package page_test

import (
	"fmt"
	"testing"

	"switchboard/channels/channelstest"
)

// What waits and what was not delivered comes to an open page by itself, and an admin does there what is to be done.
func TestNow(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Ask("root", "hello") // so that there is a chat in which to ask
		root := s.signedIn(t, "root")
		root.opens("/now")
		root.Await("the stream", `document.querySelector("#live")`)
		root.Await("the channels", `document.querySelector("#now-channels").innerText.includes("play") && document.querySelector("#now-channels .connected")`)
		root.Await("nothing at work", `document.querySelector("#now-turns .none")`)
		root.Shoot("now-empty")
		root.Do(`window.same = true`)

		s.Platform.Say("cada", "ada", "run echo hi there")
		root.Await("the question", `document.querySelector("#now-approvals .approval.proposed pre").innerText.includes("echo hi there")`)
		root.Await("the turn", `document.querySelector("#now-turns tbody").innerText.includes("ada")`)
		root.Shoot("now-question")
		root.clicks(`#now-approvals button[value=once]`)
		root.Await("no question", `document.querySelector("#now-approvals .none")`)
		root.Await("nothing at work", `document.querySelector("#now-turns .none")`)

		s.Platform.Next(channelstest.Fault{Refused: "no such chat"})
		s.Platform.Say("cbob", "bob", "are you there")
		root.Await("the dead delivery", `document.querySelector("#now-deliveries tbody").innerText.includes("are you there")`)
		root.Shoot("now-dead")
		root.clicks(`#now-deliveries button[value=drop]`)
		root.Await("what was done", `document.querySelector("#toast").innerText.includes("is dropped now")`)
		root.Await("no delivery", `document.querySelector("#now-deliveries .none")`)
		if !root.Is("window.same") {
			t.Error("the page was loaded again")
		}
		root.clicks(`#now form[action$=check] button`)
		root.Await("the findings", `document.querySelector("#findings details summary")`)
		root.Shoot("now-findings")

		turn := s.TurnOf("run echo hi there").ID
		ada := s.signedIn(t, "ada")
		ada.opens(fmt.Sprint("/turns/", turn))
		for _, text := range []string{"Heard", "ada (scripted:ada) in play:cada", "Plan 1: run it", "root allowed it once", "Review: ok", "Said", "Cost"} {
			ada.Await(text, fmt.Sprintf(`document.querySelector(".timeline").innerText.includes(%q)`, text))
		}
		ada.clicks(`.timeline .output`)
		ada.Await("what the step brought", `document.querySelector(".timeline pre.brought").innerText.includes("hi there")`)
		ada.Shoot("why")
		ada.refused = "status of 403"
		ada.opens("/now")
		ada.Await("a refusal", `document.body.innerText.includes("That is not for you") && document.body.innerText.includes("That is for admins.")`)

		bob := s.signedIn(t, "bob")
		bob.refused = "status of 404"
		bob.opens(fmt.Sprint("/turns/", turn))
		bob.Await("a refusal", `document.body.innerText.includes("it is not yours")`)
	})
}

// A turn that runs is stopped where all are shown.
func TestNowStops(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Ask("root", "hello")
		root := s.signedIn(t, "root")
		s.Platform.Say("cada", "ada", "run echo never")
		root.opens("/now")
		root.Await("the turn", `document.querySelector("#now-turns button").innerText === "Stop"`)
		root.Do(`document.querySelector("#now-turns button").focus()`)
		s.Platform.Say("cbob", "bob", "run echo nor this")
		root.Await("another turn", `document.querySelectorAll("#now-turns button").length === 2`)
		if !root.Is(`document.activeElement.id.startsWith("stop-")`) {
			t.Error("the keyboard's place is lost")
		}
		root.clicks(`#now-turns button`)
		root.Await("the other turn", `document.querySelectorAll("#now-turns button").length === 1`)
		root.clicks(`#now-turns button`)
		root.Await("nothing at work", `document.querySelector("#now-turns .none") && document.querySelector("#now-approvals .none")`)
	})
}
