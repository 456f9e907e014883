package money_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/money"
	"switchboard/store"
	"switchboard/store/storetest"
)

const today = "2026-03-01"

// reservation is one for the first call of a turn.
func reservation(most float64, b money.Budget) money.Reservation {
	return money.Reservation{Step: "plan.0.0", Role: "planner", Provider: "p", Model: "m", Most: most, Day: today, Budget: b}
}

// called is a step with a call that was reserved.
func called(cost float64) agent.Step {
	return agent.Step{Calls: []agent.Call{{
		Step: "plan.0.0", Role: "planner", Answer: "{}", Held: "plan.0.0", Day: today,
		Usage: llm.Usage{In: 10, Out: 5, Cached: 4, Cost: cost}, Exchange: llm.Exchange{Provider: "p", Model: "m"},
	}}}
}

func (h *house) reserve(ref core.TurnRef, most float64, b money.Budget) error {
	_, err := h.Router.Reserve(h.Ctx, ref, reservation(most, b))
	return err
}

// spent wants the sums of today, as "scope name settled reserved".
func (h *house) spent(want ...string) {
	h.Helper()
	list, err := h.DB.Spent(h.Ctx, today, 10)
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s %g %g", s.Scope, s.Name, s.Settled, s.Reserved))
	}
	if err != nil || strings.Join(got, "; ") != strings.Join(want, "; ") {
		h.Errorf("spent: %q, %v; want %q", got, err, want)
	}
}

func TestWhatIsReservedIsGivenBackAndLimitsAreKept(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		all := money.Budget{PerDay: 1}
		one, two := h.Begun("c", "1"), h.Begun("d", "2")
		if err := h.reserve(one, 0.6, all); err != nil {
			t.Fatal(err)
		}
		h.spent("day  0 0.6", "person marco 0 0.6", "session tg:c 0 0.6")
		err := h.reserve(two, 0.400000001, all)
		over, ok := errors.AsType[*money.OverLimitError](err)
		if want := (money.OverLimitError{Spending: money.Spending{Scope: money.SpentInAll, Limit: 1, Reserved: 0.6}, Most: 0.400000001}); !ok || *over != want {
			t.Errorf("over the limit: %v", err)
		}
		if err := h.reserve(two, 0.4, all); err != nil { // to the brim
			t.Error(err)
		}
		// Another try of the same call is reserved in place of the first.
		if err := h.reserve(one, 0.7, all); err == nil {
			t.Error("a second try passed the limit")
		}
		h.Commit(two, called(0.1))
		h.spent("day  0.1 0.6", "person marco 0.1 0.6", "session tg:c 0 0.6", "session tg:d 0.1 0")
		if err := h.reserve(one, 0.9, all); err != nil {
			t.Error(err)
		}
		h.Commit(one, called(0.85))
		h.Commit(one, called(0.85)) // its answer was lost
		h.spent("day  0.95 0", "person marco 0.95 0", "session tg:c 0.85 0", "session tg:d 0.1 0")

		// Each scope by itself, and what costs something where nothing was reserved.
		three := h.Begun("c2", "3")
		for name, b := range map[money.SpendingScope]money.Budget{
			money.SpentInAll: {PerDay: 1}, money.SpentByPerson: {PerPersonDay: 1}, money.SpentInSession: {PerSessionDay: 0.05},
		} {
			if over, ok := errors.AsType[*money.OverLimitError](h.reserve(three, 0.06, b)); !ok || over.Scope != name {
				t.Errorf("%s: %v", name, over)
			}
		}
		step := called(0.01)
		step.Calls[0].Held = ""
		h.Commit(three, step)
		h.spent("day  0.96 0", "person marco 0.96 0", "session tg:c 0.85 0", "session tg:d 0.1 0", "session tg:c2 0.01 0")
		turn, err := h.Router.Turn(h.Ctx, one.TurnID, false)
		if err != nil || turn.Calls != 1 || turn.Cost != 0.85 || len(turn.LLM) != 1 || turn.LLM[0].Cost != 0.85 {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

// However many calls are reserved at the same time, over however many connections, no
// limit is passed, and what was reserved and not used can be.
func TestNoNumberOfCallsPassesALimit(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const turns, limit, most = 50, 10, 1
		b := money.Budget{PerDay: limit, PerPersonDay: limit, PerSessionDay: limit}
		refs := make([]core.TurnRef, turns)
		for i := range refs {
			refs[i] = h.Begun(fmt.Sprintf("c%d", i), fmt.Sprint(i))
		}
		// All at once, and nobody is answered yet: as many as fit.
		var mu sync.Mutex
		var waiting, begun []core.TurnRef
		var wg sync.WaitGroup
		for _, ref := range refs {
			wg.Go(func() {
				err := h.reserve(ref, most, b)
				_, over := errors.AsType[*money.OverLimitError](err)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case over:
					waiting = append(waiting, ref)
				case err != nil:
					t.Errorf("reserve: %v", err)
				default:
					begun = append(begun, ref)
				}
			})
		}
		wg.Wait()
		if len(begun) != limit/most {
			t.Fatalf("%d calls are reserved, want %d", len(begun), limit/most)
		}
		// Those are answered while the others ask again.
		var calls atomic.Int64
		for _, ref := range begun {
			wg.Go(func() {
				calls.Add(1)
				if _, err := h.Router.Commit(h.Ctx, ref, called(0.5), nil); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
		}
		for _, ref := range waiting {
			wg.Go(func() {
				if err := h.reserve(ref, most, b); err != nil {
					if _, over := errors.AsType[*money.OverLimitError](err); !over {
						t.Errorf("reserve: %v", err)
					}
					return
				}
				calls.Add(1)
				if _, err := h.Router.Commit(h.Ctx, ref, called(0.5), nil); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
		}
		wg.Wait()
		sum := float64(calls.Load()) / 2
		if calls.Load() < limit || sum > limit {
			t.Errorf("%d calls", calls.Load())
		}
		spent, err := h.DB.Spent(h.Ctx, today, 1)
		if err != nil || len(spent) != 3 || spent[0].Settled != sum || spent[0].Reserved != 0 || spent[1].Settled != sum {
			t.Errorf("%+v, %v, want %g", spent, err, sum)
		}
	})
}

// A call that was being made as its holder died counts as what was reserved, once, and may
// be made again by whoever resumes the turn.
func TestACallLostWithItsHolderCountsAtMostOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		b := money.Budget{PerDay: 1}
		ref := h.Begun("c", "1")
		if d, err := h.Router.Load(h.Ctx, ref); err != nil || d.Unsettled {
			t.Fatalf("%+v, %v", d, err)
		}
		for n := range 2 {
			if err := h.reserve(ref, 0.3, b); err != nil {
				t.Fatal(err)
			}
			h.Release(ref)
			again := h.Claim(1)
			if len(again) != 1 || again[0].Data != nil && !again[0].Data.Unsettled {
				t.Fatalf("%+v", again)
			}
			former := ref
			ref = again[0].TurnRef
			if err := h.Router.SettleLost(h.Ctx, former); !errors.Is(err, core.ErrFenced) {
				t.Errorf("who had it before: %v", err)
			}
			if err := h.reserve(former, 0.3, b); !errors.Is(err, core.ErrFenced) {
				t.Errorf("who had it before: %v", err)
			}
			d, err := h.Router.Load(h.Ctx, ref)
			if err != nil || !d.Unsettled || len(d.State.Calls) != n {
				t.Errorf("%+v, %v", d, err)
			}
			for range 2 {
				if err := h.Router.SettleLost(h.Ctx, ref); err != nil {
					t.Error(err)
				}
			}
		}
		d, err := h.Router.Load(h.Ctx, ref)
		if err != nil || d.Unsettled || len(d.State.Calls) != 2 || d.State.Calls[0].Step != "plan.0.0+lost0" || d.State.Calls[1].Step != "plan.0.0+lost1" ||
			d.State.Calls[0].Error == "" || d.State.Calls[0].Usage.Cost != 0.3 {
			t.Errorf("%+v, %v", d.State.Calls, err)
		}
		h.spent("day  0.6 0", "person marco 0.6 0", "session tg:c 0.6 0")
		if err := h.reserve(ref, 0.4, b); err != nil {
			t.Fatal(err)
		}
		last := called(0.2)
		last.End = storetest.End("done", "answered").End
		h.Commit(ref, last)
		h.spent("day  0.8 0", "person marco 0.8 0", "session tg:c 0.8 0")
		turn, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || turn.Calls != 3 || turn.Cost != 0.8 || !turn.LLM[0].Lost || turn.LLM[2].Lost {
			t.Errorf("%+v, %v", turn, err)
		}
	})
}

// What nobody resumes is settled as its turn is taken into the audit log, with what was used.
func TestUsageIsSummedOnceAndOutlivesTurns(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		b := money.Budget{PerDay: 10}
		left, done, open := h.Begun("c", "1"), h.Begun("d", "2"), h.Begun("e", "3")
		for _, ref := range []core.TurnRef{left, done, open} {
			if err := h.reserve(ref, 1, b); err != nil {
				t.Fatal(err)
			}
		}
		h.Release(left)
		h.Cancel(left.TurnID) // nobody works on it
		step := called(0.5)
		step.End = storetest.End("done", "answered").End
		h.Commit(done, step)
		h.Commit(open, called(0.25))
		check := func(want string) {
			t.Helper()
			for _, by := range money.UsageBy {
				list, err := h.DB.Usage(h.Ctx, money.UsageFilter{By: by, Since: today})
				name := map[string]string{"day": today, "person": "marco", "model": "p/m", "role": "planner"}[by]
				own, e := h.DB.Usage(h.Ctx, money.UsageFilter{By: by, Since: today, Person: "marco"})
				others, f := h.DB.Usage(h.Ctx, money.UsageFilter{By: by, Since: today, Person: "bob"})
				if e != nil || f != nil || !slices.Equal(own, list) || len(others) != 0 {
					t.Errorf("by %s of marco: %+v, %v; of bob: %+v, %v", by, own, e, others, f)
				}
				if err != nil || len(list) != 1 || list[0].Name != name ||
					fmt.Sprint(list[0].Calls, list[0].BilledTokens, list[0].TokensIn, list[0].CachedTokens, list[0].Cost) != want {
					t.Errorf("by %s: %+v, %v; want %s", by, list, err, want)
				}
			}
		}
		storetest.Exec(t, h.DB, "INSERT INTO usage (day, person, model, role, calls, tokens_in, tokens_out, cached, cost) VALUES ('"+today+"', 'bob', 'offline/offline', 'worker', 1, 1, 1, 0, 0)") // which is not shown
		check("2 30 20 8 0.75")
		for range 2 {
			if _, err := h.DB.SealAudit(h.Ctx, h.Owner()); err != nil {
				t.Fatal(err)
			}
			check("3 30 20 8 1.75")
		}
		if own, err := h.DB.SpentBy(h.Ctx, today, "marco"); err != nil || own != (money.Spent{Scope: "person", Name: "marco", Settled: 1.75}) {
			t.Errorf("marco spent %+v, %v", own, err)
		}
		if none, err := h.DB.SpentBy(h.Ctx, today, "bob"); err != nil || none != (money.Spent{}) {
			t.Errorf("bob spent %+v, %v", none, err)
		}
		h.spent("day  1.75 0", "person marco 1.75 0", "session tg:c 1 0", "session tg:d 0.5 0", "session tg:e 0.25 0")
		storetest.Exec(t, h.DB, "UPDATE turns SET created_at = 1, finished_at = 1 WHERE state <> 'running'")
		h.Sweep(store.Retention{Turns: 1, Audit: 1 << 62})
		h.WantCount(1, "SELECT count(*) FROM turns")
		check("3 30 20 8 1.75")
		h.spent() // of a day that is over
		if list, err := h.DB.Usage(h.Ctx, money.UsageFilter{By: "day", Since: "2026-03-02"}); len(list) != 0 || err != nil {
			t.Errorf("%+v, %v", list, err)
		}
		h.Sweep(store.Retention{Turns: 1 << 62, Audit: 1})
		check("1 15 10 4 0.25") // of the turn that is open
	})
}

// Where two conversations become one, so do what was spent in them and what is reserved.
func TestSessionsThatBecomeOneAddWhatTheySpent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		b := money.Budget{PerSessionDay: 2}
		old, young := h.Begun("old", "1"), h.Begun("new", "2")
		for _, ref := range []core.TurnRef{old, young} {
			if err := h.reserve(ref, 1, b); err != nil {
				t.Fatal(err)
			}
		}
		h.One(storetest.Moves("old", "new", "1"))
		h.spent("day  0 2", "person marco 0 2", "session tg:new 0 2")
		last := called(0.5)
		last.End = storetest.End("done", "answered").End
		next := h.Commit(old, last)
		if next == nil || next.TurnID != young.TurnID {
			t.Fatalf("next %+v", next)
		}
		if err := h.Router.SettleLost(h.Ctx, next.TurnRef); err != nil {
			t.Error(err)
		}
		h.spent("day  1.5 0", "person marco 1.5 0", "session tg:new 1.5 0")
	})
}

// A turn with no limits asks the database for nothing more than before.
func TestMoneyCostsNothingWhereNothingCosts(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Begun("c", "1")
		step := called(0)
		step.Calls[0].Held = ""
		h.Commit(ref, step)
		if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM spending"); n != 0 || err != nil {
			t.Errorf("%d sums, %v", n, err)
		}
	})
}

// A run of a job has a limit for all of its tries, and other turns of the session have none of it.
func TestRunHasALimitForAllOfItsTries(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.WithRun()
		storetest.Exec(h, h.DB, `UPDATE runs SET cost = 0.5`) // of a try before
		ref := h.Submit(storetest.Submission("k"), intake.TurnIntent{MayClaim: true}).Claimed.TurnRef
		limit := money.Budget{PerRun: 0.4}.Under(agent.Limits{Run: 1, Budget: 1, Allowed: true})
		of := reservation(0.6, limit)
		of.Run = 1
		_, err := h.Router.Reserve(h.Ctx, ref, of)
		want := money.OverLimitError{Spending: money.Spending{Scope: money.SpentInRun, Limit: 1, Settled: 0.5}, Most: 0.6}
		if over, ok := errors.AsType[*money.OverLimitError](err); !ok || *over != want {
			t.Fatalf("over the limit of its run: %v", err)
		}
		h.spent()
		for _, most := range []float64{0.4, 0.5} { // another try of the same call
			of.Most = most
			if _, err := h.Router.Reserve(h.Ctx, ref, of); err != nil {
				t.Fatalf("%g: %v", most, err)
			}
		}
		h.Commit(ref, called(0.2))
		of.Step, of.Most = "review.0.0.1", 0.300000001
		if _, err := h.Router.Reserve(h.Ctx, ref, of); err == nil {
			t.Error("its second call passed the limit")
		}
		of.Most = 0.3
		if _, err := h.Router.Reserve(h.Ctx, ref, of); err != nil {
			t.Error(err)
		}
		if err := h.reserve(h.Begun("d", "other"), 5, money.Budget{PerRun: 1}.Under(agent.Limits{})); err != nil {
			t.Errorf("a turn of no run: %v", err)
		}
	})
}
