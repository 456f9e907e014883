package crash_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// The engine that polls a Telegram bot is cut off from the database, and not from the
// platform: whoever has the channel next is never driven out by it, and answers.
func TestTelegramPollerThatIsCutOffDrivesNobodyOut(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	var telegram *programtest.TelegramPlace
	c := newCrash(t, crashSeed(t), func(r *programtest.Rig) programtest.Place {
		telegram = programtest.NewTelegramPlace(r.T, false)
		return telegram
	}, "workers = 4\n")
	f := programtest.NewFleet(c.rig, server.URL(), "one", "two")
	ways := map[*programtest.Member]*storetest.Proxy{}
	for _, m := range f.Engines {
		p := storetest.NewProxy(t, server.Addr())
		ways[m] = p
		m.Env = append(m.Env, "SWITCHBOARD_STORE__URL="+server.URLAt(p.Addr()))
	}
	f.Up()
	raw, err := sql.Open("postgres", server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	// Owners of a server that was just started do not expire.
	if _, err := raw.ExecContext(t.Context(), "CREATE OR REPLACE FUNCTION sb_started() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT CAST(0 AS bigint)'"); err != nil {
		t.Fatal(err)
	}
	holder := f.Holder("telegram")
	ways[holder].Stall()
	f.Await("the other engine holds the channel", 30*time.Second, func() bool { return f.Holder("telegram") == f.Other(holder) })
	c.write(c.written + 3)
	f.Await("what was written is taken", 10*time.Second, func() bool { return len(telegram.Server.Pending()) == 0 })
	for _, call := range telegram.Server.Calls("getUpdates") {
		if call.Rejected != nil && strings.Contains(call.Rejected.Error(), "Conflict") {
			t.Errorf("a poll was refused: %v", call.Rejected)
		}
	}
	ways[holder].Flow()
	c.settle()
	f.Stop()
}
