package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/channels/channelstest"
	"switchboard/router/commands"
	"switchboard/router/outbox"
)

func TestAdminsMendDeliveriesInADirectChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.commands = []commands.Command{outbox.Command(r.db.Router())}
		r.start()
		r.platform.Say("c1", "ada", "/deliveries")
		r.mentions(1, "Everything was sent")
		r.platform.Next(channelstest.Fault{Refused: "no such thing"})
		r.platform.Say("c2", "bob", "hello")
		r.until("its answer is dead", func() bool { return len(r.deliveries("dead")) == 1 })
		id := r.deliveries("dead")[0].ID
		said := func(what, part string) {
			t.Helper()
			r.platform.Say("c1", "ada", what)
			r.until(part, func() bool { return strings.Contains(strings.Join(texts(r.platform.Sent()), "\n"), part) })
		}
		said("/deliveries", "(refused) on play: re: hello")
		said("/deliveries drop 999", "There is no delivery 999.")
		said(fmt.Sprint("/deliveries retry ", id), fmt.Sprintf("Delivery %d was dead and is pending now.", id))
		r.until("it is sent", func() bool {
			return slices.ContainsFunc(r.deliveries("sent"), func(d outbox.Info) bool { return d.ID == id }) &&
				slices.Contains(texts(r.platform.Sent()), "re: hello")
		})
		said(fmt.Sprint("/deliveries drop ", id), "it was sent, and cannot be taken back")
	})
}
