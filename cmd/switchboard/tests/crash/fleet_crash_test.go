package crash_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// Two engines on one PostgreSQL, one of which is killed at any instant and started
// again and again: the promises of TestCrash hold, and both did their share.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	crashTwo(t, killsOf(t, ownKills), func(r *programtest.Rig) programtest.Place { return programtest.NewScriptedPlace(r.Platform) })
}

// The same over the Bot API: its updates are polled by one engine at a time.
func TestTwoEnginesTelegram(t *testing.T) {
	t.Parallel()
	var telegram *programtest.TelegramPlace
	crashTwo(t, killsOf(t, againKills), func(r *programtest.Rig) programtest.Place {
		telegram = programtest.NewTelegramPlace(r.T, false)
		return telegram
	})
	polls := 0
	for _, call := range telegram.Server.Calls("getUpdates") {
		polls++
		if call.Rejected != nil && strings.Contains(call.Rejected.Error(), "Conflict") {
			t.Errorf("two pollers met at %s: %v", call.At, call.Rejected)
		}
	}
	t.Logf("%d polls", polls)
}

// crashTwo is crashTest with two engines, each killed at random.
func crashTwo(t *testing.T, kills int, place func(*programtest.Rig) programtest.Place) {
	t.Helper()
	programtest.Busy(t)
	seed := crashSeed(t)
	url := storetest.MigratedURL(t)
	c := newCrash(t, seed, place, "workers = 4\n")
	f := programtest.NewFleet(c.rig, url, "one", "two")
	f.Up()
	for kill := range kills {
		c.write((kill + 1) * crashTurns)
		time.Sleep(time.Duration(20+c.random.IntN(230)) * time.Millisecond)
		victim := f.Engines[c.random.IntN(2)]
		victim.Kill()
		f.Other(victim).MustLive()
		if kill%2 == 0 {
			time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond) // the other is alone
		}
		victim.Up()
	}
	for _, m := range f.Engines {
		m.Kill()
	}
	f.Up()
	c.settle()
	c.check()
	f.Shared()
	f.Stop()
}

// A channel goes to the other engine when its holder is killed and stays away.
func TestTakeoverAfterAKillAnswersOnTheOtherEngine(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "u1")
	f.Model.Handle(programtest.Echo)
	f.Up()
	f.Answers("u1", "first", "heard: first")
	least := time.Hour
	for _, text := range []string{"second", "third"} {
		holder := f.Holder("play")
		if holder == nil {
			t.Fatal("nobody holds the channel")
		}
		f.Noted()
		holder.Kill()
		began := time.Now()
		f.Answers("u1", text, "heard: "+text)
		t.Logf("answered %s after the kill", time.Since(began).Round(time.Millisecond))
		began = time.Now()
		holder.Up()
		least = min(least, time.Since(began))
	}
	if !programtest.RaceDetector { // with which a start is slow
		testkit.Within(t, least, 10*time.Second) // an owner that is gone expires after 15 s
	}
	f.Stop()
}
