package discord

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A direct chat that nobody knows of was told in a session that is gone. What is noted of the next
// session says so: one that resumes it, or one after that, reads what was missed there, too.
func TestMissedMessageOfAnUnknownChatOutlivesSessions(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"resumed": false, "begun anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			bob := r.AddUser("Bob")
			restart := func(n int, gone bool) {
				t.Helper()
				r.Took(t, n)
				r.halt(t)
				if n == 1 {
					r.Say(bob.ID, "bob 1")
				}
				if gone {
					r.Forget()
				}
				r.c = client(t, r.APIURL(), r.Token())
				r.run(t)
			}
			r.run(t)
			r.Say(r.ada.ID, "one")
			restart(1, true)
			r.Say(r.ada.ID, "two")
			restart(2, gone)
			r.Say(bob.ID, "bob 2")
			r.Took(t, 4)
			if diff := cmp.Diff([]string{"one", "two", "bob 1", "bob 2"}, r.Sink.Texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
