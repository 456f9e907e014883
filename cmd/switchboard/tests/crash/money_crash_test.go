package crash_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

const (
	moneyUsers  = 50
	moneyRounds = 6
	moneyTurns  = 2 * moneyUsers * moneyRounds
	moneyLimit  = 800
)

// A till is the provider's own account of what it bills, in billionths of a EUR: a call once it
// has come whole, whatever becomes of its answer.
type till struct{ billed, calls atomic.Int64 }

// serve bills up to a token for each byte that it is sent, at 10 EUR a million, and 1 to 4 for the
// answer, at 1 EUR each; of a call that breaks without a word of what it used the most.
func (b *till) serve(req llmtest.Request) llmtest.Reply {
	in, out := rand.Int64N(int64(len(req.Body)))+1, rand.Int64N(4)+1
	reply := programtest.Echo(req)
	reply.Usage, reply.Delay = &llmtest.Usage{In: in, Out: out}, time.Duration(rand.IntN(400))*time.Millisecond
	if b.calls.Add(1)%20 == 0 {
		in, out, reply = int64(len(req.Body)), 4, llmtest.Raw(500, "{}")
	}
	b.billed.Add(10_000*in + 1e9*out)
	return reply
}

// newTill is a rig of 50 people whose planner bills, with a limit for the day.
func newTill(t *testing.T) (*programtest.Rig, *till) {
	t.Helper()
	var people []string
	for i := range moneyUsers {
		people = append(people, fmt.Sprintf("u%d", i))
	}
	settings := strings.Replace(fmt.Sprintf(programtest.Priced, fmt.Sprintf("per_day = %d.0", moneyLimit)), "price_in = 0", "price_in = 10.0", 1)
	r := programtest.NewRig(t, people, settings+"[router]\nrate_person = \"off\"\n[notify]\nbudget = [\"play:cnotices\"]\n")
	b := &till{}
	r.Model.Handle(b.serve)
	return r, b
}

// Fifty turns at once on two engines that are killed at random: what the provider bills is
// never above the limit, what we count is never below that, nothing stays reserved, and one notice says
// that the limit is reached.
func TestMoneyOnTwoEnginesThatAreKilled(t *testing.T) {
	t.Parallel()
	url := storetest.MigratedURL(t)
	r, b := newTill(t)
	f := programtest.NewFleet(r, url, "one", "two")
	f.Up()
	for round := range moneyRounds {
		b.during(func() { talk(r, round) })
		victim := f.Engines[round%2] // each in turn, so that the one that works is among the first
		victim.Kill()
		f.Other(victim).MustLive()
		victim.Up()
	}
	sums := func(query string) float64 {
		t.Helper()
		n, err := strconv.ParseFloat(f.Query(query)[0][0], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	b.check(r, sums)
	if n := sums("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n > 0 {
		t.Errorf("%g deadlocks", n)
	}
	f.Stop()
}

// The same on SQLite, with one engine.
func TestMoneyOnAnEngineThatIsKilled(t *testing.T) {
	t.Parallel()
	r, b := newTill(t)
	r.Up()
	for round := range moneyRounds {
		b.during(func() { talk(r, round) })
		r.Kill()
		r.Up()
	}
	b.check(r, func(query string) float64 {
		t.Helper()
		n, err := strconv.ParseFloat(r.Query(query)[0][0], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	})
	r.Stop(20 * time.Second)
}

// during waits until some calls that talk brings are being made, or none is any more at the limit.
func (b *till) during(talk func()) {
	before, late := b.calls.Load(), time.Now().Add(5*time.Second)
	for talk(); b.calls.Load() < before+10 && time.Now().Before(late); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
}

// talk has everybody write two messages.
func talk(r *programtest.Rig, round int) {
	for i := range 2 * moneyUsers {
		user := fmt.Sprintf("u%d", i%moneyUsers)
		r.Platform.Say("c"+user, user, fmt.Sprintf("hello %d.%d", round, i/moneyUsers))
	}
}

// check waits until everybody is answered, and holds the provider's account against the
// limit and the database.
func (b *till) check(r *programtest.Rig, sum func(query string) float64) {
	r.T.Helper()
	r.Await("all turns have ended", 5*time.Minute, func() bool {
		return sum("SELECT count(*) FROM turns WHERE state IN ('done', 'failed')") == moneyTurns
	})
	const day = " FROM spending WHERE scope = 'day'"
	billed, settled := float64(b.billed.Load())/1e9, sum("SELECT sum(settled)"+day)/1e9
	lost := sum("SELECT count(*) FROM llm_calls WHERE lost = TRUE")
	over := sum("SELECT count(*) FROM turns WHERE outcome = 'over_limit'")
	r.T.Logf("%g of %d billed, %g counted, %d calls, %g lost, %g turns over the limit", billed, moneyLimit, settled, b.calls.Load(), lost, over)
	if billed > moneyLimit || settled > moneyLimit {
		r.T.Errorf("%g billed and %g counted, with a limit of %d", billed, settled, moneyLimit)
	}
	if settled < billed {
		r.T.Errorf("%g billed, and %g counted", billed, settled)
	}
	if reserved := sum("SELECT sum(reserved) FROM spending"); reserved != 0 {
		r.T.Errorf("%g stays reserved", reserved)
	}
	if calls := sum("SELECT sum(cost) FROM llm_calls"); math.Abs(calls-settled) > 1e-6 {
		r.T.Errorf("the calls cost %g, and %g is counted", calls, settled)
	}
	for _, scope := range []string{"person", "session"} {
		if n := sum("SELECT sum(settled) FROM spending WHERE scope = '"+scope+"'") / 1e9; n != settled {
			r.T.Errorf("%g counted by %s, %g in all", n, scope, settled)
		}
	}
	if lost == 0 || over == 0 || settled < 0.8*moneyLimit {
		r.T.Errorf("%g calls lost, %g turns over the limit, %g of %d counted: too little to show anything", lost, over, settled, moneyLimit)
	}
	r.Await("the limit is said", 20*time.Second, func() bool {
		return len(r.Shown("notices")) > 0 && !slices.ContainsFunc(r.Deliveries(), func(d outbox.Info) bool {
			return d.Conversation == "cnotices" && (d.State == "pending" || d.State == "sending")
		})
	})
	said, repeated := 0, 0 // that a kill cut off while it was sent, marked
	for _, text := range r.Shown("notices") {
		switch {
		case !strings.Contains(text, "is reached"):
		case strings.HasPrefix(text, "(repeated)"):
			repeated++
		default:
			said++
		}
	}
	if said > 1 || repeated > 1 || said+repeated == 0 {
		r.T.Errorf("the limit is said %d times, and %d times with a mark", said, repeated)
	}
}
