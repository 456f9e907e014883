package platforms_test

import (
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// A question that one engine asked is decided at the other, which has the channel by then; what was
// allowed runs once, and the buttons are gone.
func TestDecisionIsTakenAtTheOtherEngine(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.change("tools = [\"exec\"]", "role = \"admin\"")
	f := programtest.NewFleet(o.Rig, storetest.PostgresURL(t), "one", "two")
	f.Up()
	o.listens()
	bob := o.desks[0].bob
	bob.Writes("run echo shared >> runs.txt")
	m := bob.Asked("echo shared >> runs.txt")
	asker := f.Holder(o.desks[0].kind)
	asker.Stop()
	o.Await("the other one has the channel", 20*time.Second, func() bool { return f.Holder(o.desks[0].kind) == f.Other(asker) })
	bob.Presses(m, "Allow once")
	bob.Reads("ran: echo shared")
	bob.Closed(m.ID)
	o.wantRan(1, "shared")
}
