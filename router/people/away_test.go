package people_test

import (
	"strings"
	"testing"

	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/store/storetest"
)

// What was dropped while its channel was away is told once to its people and to the admins, and neither
// /resend nor /deliveries says that all arrived.
func TestWhatWasDroppedIsTold(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{outbox.Command(r.DB.Router())}
		r.Start()
		r.Asks("c1", "ada", "hello")
		r.Asks("c2", "bob", "hello")
		r.Until("both were sent", func() bool { return len(r.Deliveries("sent")) == 2 })
		storetest.Exec(t, r.DB, "UPDATE deliveries SET state = 'dropped', outcome = 'away', unnamed = TRUE WHERE id = (SELECT max(id) FROM deliveries)")
		for range 2 {
			r.Router.Connections.NotifyDropped(t.Context(), "play", 1)
		}
		r.Until("both are told", func() bool {
			return r.shownIn("c1", "The channel play is away") && r.shownIn("c2", "1 message of mine, from")
		})
		if got := r.Asks("c2", "bob", "/resend"); !strings.Contains(got, "There is nothing to send again. Parts of 1 message from the last 7 days could not be sent") {
			t.Errorf("resend: %q", got)
		}
		if got := r.Asks("c1", "ada", "/resend"); !strings.Contains(got, "arrived, or is on its way") {
			t.Errorf("resend where all arrived: %q", got)
		}
		if got := r.Asks("c1", "ada", "/deliveries"); !strings.Contains(got, "dropped (away) on play: re: hello") {
			t.Errorf("deliveries: %q", got)
		}
		said := strings.Join(routertest.Texts(r.Platform.Sent()), "\n")
		for _, once := range []string{"The channel play is away", "I could not reach you here"} {
			if n := strings.Count(said, once); n != 1 {
				t.Errorf("%q is said %d times", once, n)
			}
		}
	})
}
