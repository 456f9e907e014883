package router_test

import (
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
)

func TestWhyExplainsTheTurnThatIsMeant(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.platform.Say("c1", "ada", "/why")
		r.shows(1, "There is no answer with that number in this conversation.")
		r.platform.Say("c1", "ada", "one")
		answer := r.await(2)[1]
		r.platform.Say("c1", "ada", "two")
		r.await(3)
		r.platform.Say("c2", "bob", "mine")
		r.await(4)
		ask := func(m scripted.Message, want ...string) {
			t.Helper()
			n := len(r.platform.Sent())
			r.platform.Write(m)
			got := r.await(n + 1)[n].Text
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%q, in reply to %q: %q is not in\n%s", m.Text, m.ReplyTo, w, got)
				}
			}
		}
		ask(scripted.Message{Conversation: "c1", User: "ada", Text: "/why"},
			"ada asked: two", "allowed, because the identity scripted:ada belongs to them", "Answer 2, done,")
		ask(scripted.Message{Conversation: "c1", User: "ada", Text: "/why", ReplyTo: string(answer.ID)}, "ada asked: one")
		ask(scripted.Message{Conversation: "c1", User: "ada", Text: "/why 1"}, "ada asked: one")
		ask(scripted.Message{Conversation: "c1", User: "ada", Text: "/why 3"}, "no answer with that number in this conversation") // bob's
		ask(scripted.Message{Conversation: "c1", User: "ada", Text: "/why not"}, "Write /why")
	})
}
