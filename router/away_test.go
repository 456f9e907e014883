package router_test

import (
	"strings"
	"testing"

	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// What was dropped while its channel was away is told once to its people and to the admins, and neither
// /resend nor /deliveries says that all arrived.
func TestWhatWasDroppedIsTold(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.commands = []commands.Command{outbox.Command(r.db.Router())}
		r.start()
		r.asks("c1", "ada", "hello")
		r.asks("c2", "bob", "hello")
		r.until("both were sent", func() bool { return len(r.deliveries("sent")) == 2 })
		storetest.Exec(t, r.db, "UPDATE deliveries SET state = 'dropped', outcome = 'away', unnamed = TRUE WHERE id = (SELECT max(id) FROM deliveries)")
		for range 2 {
			r.router.Lines.NotifyDropped(t.Context(), "play", 1)
		}
		r.until("both are told", func() bool {
			return r.shownIn("c1", "The channel play is away") && r.shownIn("c2", "1 message of mine, from")
		})
		if got := r.asks("c2", "bob", "/resend"); !strings.Contains(got, "There is nothing to send again. Parts of 1 message from the last 7 days could not be sent") {
			t.Errorf("resend: %q", got)
		}
		if got := r.asks("c1", "ada", "/resend"); !strings.Contains(got, "arrived, or is on its way") {
			t.Errorf("resend where all arrived: %q", got)
		}
		if got := r.asks("c1", "ada", "/deliveries"); !strings.Contains(got, "dropped (away) on play: re: hello") {
			t.Errorf("deliveries: %q", got)
		}
		said := strings.Join(texts(r.platform.Sent()), "\n")
		for _, once := range []string{"The channel play is away", "I could not reach you here"} {
			if n := strings.Count(said, once); n != 1 {
				t.Errorf("%q is said %d times", once, n)
			}
		}
	})
}
