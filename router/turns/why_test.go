package turns_test

import (
	"strings"
	"testing"

	"switchboard/channels/channelstest/scripted"
)

func TestWhyExplainsTheTurnThatIsMeant(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c1", "ada", "/why")
		r.Shows(1, "There is no answer with that number in this conversation.")
		r.Platform.Say("c1", "ada", "one")
		answer := r.Await(2)[1]
		r.Platform.Say("c1", "ada", "two")
		r.Await(3)
		r.Platform.Say("c2", "bob", "mine")
		r.Await(4)
		ask := func(m scripted.Message, want ...string) {
			t.Helper()
			n := len(r.Platform.Sent())
			r.Platform.Write(m)
			got := r.Await(n + 1)[n].Text
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
