package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/outbox"
	"switchboard/router/turns"
)

// What the platform refused is sent again when somebody says so, beside the engine and
// after one; what is sent or given up is not, and a sentence says why.
func TestDeadDeliveryIsRetriedOrDroppedByHand(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(programtest.Echo)
	r.Up()
	r.Platform.Next(channelstest.Fault{Refused: "the words are bad"}, channelstest.Fault{}) // then the notice to the admin
	r.Platform.Say("cu1", "u1", "hello")
	state := func(want string) outbox.Info {
		t.Helper()
		var found outbox.Info
		r.Await("the answer is "+want, 20*time.Second, func() bool {
			for _, d := range slices.Backward(r.Deliveries()) { // the newest last
				if d.TurnID != 0 {
					found = d
				}
			}
			return found.State == want
		})
		return found
	}
	id := fmt.Sprint(state("dead").ID)
	tell := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := r.Command(append([]string{"delivery"}, args...)...)
		if got != code || !strings.Contains(out+errs, want) || (code == 0) != (errs == "") {
			log, _ := os.ReadFile(filepath.Join(r.Dir, "data", "switchboard.log"))
			t.Errorf("delivery %v: exit %d, %q, %q; want %q\n%s", args, got, out, errs, want, log)
		}
	}
	tell(0, "delivery "+id+": it is sent again", "retry", id)
	state("sent")
	tell(1, "is sent: it was sent, and would be there twice", "retry", id)
	tell(1, "is sent: it was sent, and cannot be taken back", "drop", id)
	tell(1, "delivery drop 99999: not found", "drop", "99999")
	tell(2, "", "retry", "one")

	r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
		if strings.Contains(p.Text, "again") {
			return channelstest.Fault{Refused: "no"}
		}
		return channelstest.Fault{}
	})
	r.Platform.Say("cu1", "u1", "again")
	second := fmt.Sprint(state("dead").ID)
	r.Stop(20 * time.Second)
	tell(0, "delivery "+second+": it is sent again", "retry", second) // with no engine beside it
	if d := state("pending"); d.Outcome != "by_hand" {
		t.Errorf("%+v", d)
	}
	tell(0, "delivery "+second+": it was pending and is given up", "drop", second)
	tell(1, "it was given up for good", "retry", second)
	e := programtest.List[turns.Explanation](r, "explain", "turn", fmt.Sprint(state("dropped").TurnID), "--json")
	if len(e.Audit) != 2 || e.Audit[0].Action != "delivery.retry" || e.Audit[1].Action != "delivery.drop" || e.Audit[1].Person != "owner" {
		t.Errorf("audit: %+v", e.Audit)
	}
}
