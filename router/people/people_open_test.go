package people_test

import (
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// Whom an open channel let in is called by their own name in lists and questions, and made an admin by it only
// where one person calls themselves so, after platform and identity were shown and confirmed.
func TestOpenPeopleAreChangedByTheirNames(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.manage()
		r.Channel.DM = "open"
		r.Start()
		for _, user := range []string{"noyce", "eve", "eva"} {
			label := map[string]string{"noyce": "Bob Noyce", "eve": "Eve", "eva": "eve"}[user]
			r.Platform.Write(scripted.Message{Conversation: "c-" + user, User: user, Title: label, Text: "hello"})
			r.Until(user+" is answered", func() bool { return len(r.Platform.SentIn("c-"+user)) == 1 })
		}
		if got := r.Asks("c1", "ada", "/people"); !strings.Contains(got, "Bob Noyce (scripted:noyce), user") {
			t.Errorf("the list reads %q", got)
		}
		r.Platform.Write(scripted.Message{Conversation: "c-noyce", User: "noyce", Title: "Bob Noyce", Text: "ask make x"})
		r.Until("ada is asked", func() bool { return r.shownIn("c1", "asks me to run this command") })
		if !r.shownIn("c1", "Bob Noyce (scripted:noyce)** asks me", "Bob Noyce (scripted:noyce) asks me") {
			t.Errorf("ada is asked %q", routertest.Texts(r.Platform.SentIn("c1")))
		}
		if got := r.Asks("c1", "ada", "/people role EVE admin"); !strings.Contains(got, "2 people call themselves so") || !strings.Contains(got, "/people role scripted:eva admin") {
			t.Errorf("of two: %q", got)
		}
		if sent := r.Platform.SentIn("c1"); len(sent[len(sent)-1].Buttons) != 0 {
			t.Errorf("of two: %+v", sent[len(sent)-1].Buttons)
		}
		got := r.Asks("c1", "ada", "/people role bob noyce admin")
		if !strings.Contains(got, "Is this who you mean?") || !strings.Contains(got, "Bob Noyce (scripted:noyce)") || strings.Contains(r.persons(), "noyce admin") {
			t.Errorf("it is asked %q; people: %s", got, r.persons())
		}
		r.Platform.Press("c1", "ada", "Yes: scripted:noyce")
		r.Until("ada is told", func() bool { return r.shownIn("c1", "scripted:noyce is changed: admin") })
		if got := r.persons(); !strings.Contains(got, "scripted:noyce admin") {
			t.Errorf("people: %s", got)
		}
		if got := r.Asks("c1", "ada", "/people role nobody admin"); got != "There is no person nobody." {
			t.Errorf("of nobody: %q", got)
		}
	})
}
