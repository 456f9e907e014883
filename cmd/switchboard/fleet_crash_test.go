package main_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// Two engines on one PostgreSQL, one of which is killed at any instant and started
// again, 25 times: the promises of TestCrash hold, and both did their share.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	crashTwo(t, func(r *rig) place { return newScriptedPlace(r.platform) })
}

// The same over the Bot API: its updates are polled by one engine at a time.
func TestTwoEnginesTelegram(t *testing.T) {
	t.Parallel()
	var telegram *telegramPlace
	crashTwo(t, func(r *rig) place {
		telegram = newTelegramPlace(r.t, false)
		return telegram
	})
	polls := 0
	for _, call := range telegram.server.Calls("getUpdates") {
		polls++
		if call.Rejected != nil && strings.Contains(call.Rejected.Error(), "Conflict") {
			t.Errorf("two pollers met at %s: %v", call.At, call.Rejected)
		}
	}
	t.Logf("%d polls", polls)
}

// crashTwo is crashTest with two engines, each killed at random.
func crashTwo(t *testing.T, place func(*rig) place) {
	t.Helper()
	busy(t)
	seed := crashSeed(t)
	url := storetest.PostgresURL(t)
	c := newCrash(t, seed, place, "workers = 4\n")
	f := newFleet(c.rig, url, "one", "two")
	f.up()
	for kill := range crashKills {
		c.write((kill + 1) * crashTurns)
		time.Sleep(time.Duration(20+c.random.IntN(230)) * time.Millisecond)
		victim := f.engines[c.random.IntN(2)]
		victim.kill()
		f.other(victim).mustLive()
		if kill%2 == 0 {
			time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond) // the other is alone
		}
		victim.up()
	}
	for _, m := range f.engines {
		m.kill()
	}
	f.up()
	c.settle()
	c.check()
	f.shared()
	f.stop()
}

// A channel goes to the other engine when its holder is killed and stays away.
func TestTakeoverAfterAKillAnswersOnTheOtherEngine(t *testing.T) {
	t.Parallel()
	f := twoEngines(t, "", "u1")
	f.model.Handle(echo)
	f.up()
	f.answers("u1", "first", "heard: first")
	for _, text := range []string{"second", "third"} {
		holder := f.holder("play")
		if holder == nil {
			t.Fatal("nobody holds the channel")
		}
		f.noted()
		holder.kill()
		began := time.Now()
		f.answers("u1", text, "heard: "+text)
		t.Logf("answered %s after the kill", time.Since(began).Round(time.Millisecond))
		began = time.Now()
		holder.up()
		testkit.Within(t, time.Since(began), 10*time.Second) // an owner that is gone expires after 15 s
	}
	f.stop()
}
