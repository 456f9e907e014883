package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"switchboard/agent"
	"switchboard/router/ledger"
)

const (
	// lockSpending lets one transaction at a time change the sums. It is the last lock that a transaction waits for
	// (but where two persons or sessions become one), so that the order of the sums does not matter.
	lockSpending = `SELECT 1 FROM pg_advisory_xact_lock(CAST(CAST(CAST('spending' AS regclass) AS oid) AS integer), 0)`
	readSpending = `
		SELECT scope, settled, reserved FROM spending
		WHERE day = ? AND (scope = 'day' AND name = '' OR scope = 'person' AND name = ? OR scope = 'session' AND name = ?)`
	// spentInRun is what the tries of a run before cost, and the calls of this one's turn.
	spentInRun = `
		SELECT coalesce((SELECT cost FROM runs WHERE id = ?), 0) + coalesce(sum(cost), 0), coalesce(sum(reserved), 0) FROM llm_calls WHERE turn_id = ?`
	addSpending = `
		INSERT INTO spending (day, scope, name, settled, reserved) VALUES (?, 'day', '', ?, ?), (?, 'person', ?, ?, ?), (?, 'session', ?, ?, ?)
		ON CONFLICT (day, scope, name) DO UPDATE SET settled = spending.settled + excluded.settled, reserved = spending.reserved + excluded.reserved`
	joinSpending = `
		INSERT INTO spending (day, scope, name, settled, reserved) SELECT day, scope, ?, settled, reserved FROM spending WHERE scope = ? AND name = ?
		ON CONFLICT (day, scope, name) DO UPDATE SET settled = spending.settled + excluded.settled, reserved = spending.reserved + excluded.reserved`
	dropSpending = `DELETE FROM spending WHERE scope = ? AND name = ?`

	openCall    = `SELECT reserved, day FROM llm_calls WHERE turn_id = ? AND step = ? AND reserved > 0`
	reserveCall = `
		INSERT INTO llm_calls (turn_id, step, ordinal, role, provider, model, day, reserved, created_at)
		VALUES (?, ?, (SELECT count(*) FROM llm_calls WHERE turn_id = ?), ?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn_id, step) DO UPDATE SET role = excluded.role, provider = excluded.provider, model = excluded.model,
			day = excluded.day, reserved = excluded.reserved
		WHERE llm_calls.error <> '' OR llm_calls.reserved > 0`
	// settleCall gives the row of a call that was made the key under which it is kept; insertCall does the rest.
	settleCall = `UPDATE llm_calls SET step = ? WHERE turn_id = ? AND step = ? AND reserved > 0 RETURNING reserved, day`
	leftCalls  = `
		SELECT c.turn_id, c.step, c.reserved, c.day, t.person, t.session_id FROM llm_calls c JOIN turns t ON t.id = c.turn_id
		WHERE c.turn_id IN (%s) AND c.reserved > 0 ORDER BY c.turn_id, c.step`
	// loseCall keeps a call of which nobody knows the answer apart from its step, which may be asked again.
	loseCall = `
		UPDATE llm_calls SET lost = TRUE, cost = cost + ?, reserved = 0, error = ?,
			step = step || '+lost' || (SELECT count(*) FROM llm_calls l WHERE l.turn_id = llm_calls.turn_id AND l.lost = TRUE)
		WHERE turn_id = ? AND step = ?`
	addLost = `UPDATE turns SET calls = calls + 1, cost = cost + ? WHERE id = ?`
)

// lostCall is the error of a call that was being made as its engine ended.
const lostCall = "the engine ended before the answer was written down; it counts as what it can cost at most"

// billionths is money as it is summed up. What is more than any sum is cut.
func billionths(sum float64) int64 { return int64(math.Round(min(sum*1e9, 1e17))) }

func money(billionths int64) float64 { return float64(billionths) / 1e9 }

// A charge is what changes the sums of a day.
type charge struct {
	day, person       string
	session           int64
	settled, reserved int64
}

// charge changes sums. It is the last that a transaction does.
func (t *tx) charge(list ...charge) error {
	if len(list) == 0 {
		return nil
	}
	if err := t.lockSpending(); err != nil {
		return err
	}
	for _, c := range list {
		session := name(c.session)
		if _, err := t.Exec(addSpending, c.day, c.settled, c.reserved, c.day, c.person, c.settled, c.reserved, c.day, session, c.settled, c.reserved); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) lockSpending() (err error) {
	if t.PG {
		var one int
		_, err = t.Row(lockSpending, nil, &one)
	}
	return err
}

// joinSpending adds the sums of one person or session to those of another.
func (t *tx) joinSpending(scope ledger.SpendingScope, into, from string) error {
	if err := t.lockSpending(); err != nil {
		return err
	}
	return t.run(
		statement{joinSpending, []any{into, string(scope), from}},
		statement{dropSpending, []any{string(scope), from}},
	)
}

// Reserve implements router.Money. It is durable to power loss: money is spent after it.
func (r *Router) Reserve(ctx context.Context, ref ledger.TurnRef, of ledger.Reservation) (spent []ledger.Spending, err error) {
	var over error
	err = r.db.write(ctx, full, "reserve", func(t *tx) error {
		spent, over, err = t.reserve(ref, &of)
		return err
	})
	return spent, cmp.Or(err, over)
}

func (t *tx) reserve(ref ledger.TurnRef, of *ledger.Reservation) (spent []ledger.Spending, over, err error) {
	if _, err := t.holding(ref); err != nil {
		return nil, nil, err
	}
	step, day, was := clean(of.Step), of.Day, int64(0)
	if _, err := t.Row(openCall, []any{ref.TurnID, step}, &was, &day); err != nil { // an earlier try of the call
		return nil, nil, err
	}
	var person string
	if _, err := t.Row(personOf, []any{ref.TurnID}, &person); err != nil {
		return nil, nil, err
	}
	most := billionths(of.Most)
	if err := t.lockSpending(); err != nil {
		return nil, nil, err
	}
	spent, over, err = t.compare(of, day, person, name(ref.SessionID), most-was)
	if err == nil && over == nil {
		over, err = t.compareRun(of, ref.TurnID, most-was)
	}
	if err != nil || over != nil {
		return spent, over, err
	}
	n, err := t.Exec(reserveCall, ref.TurnID, step, ref.TurnID, clean(of.Role), clean(of.Provider), clean(of.Model), day, most, t.now)
	if err == nil && n == 0 {
		err = fmt.Errorf("the call %s is answered already: %w", step, ledger.ErrConflict)
	}
	if err == nil {
		err = t.charge(charge{day: day, person: person, session: ref.SessionID, reserved: most - was})
	}
	return spent, nil, err
}

// compare says what was spent of each limit, and which one is passed if that much more is.
func (t *tx) compare(of *ledger.Reservation, day, person, session string, more int64) (spent []ledger.Spending, over, err error) {
	var sums []struct {
		Scope             ledger.SpendingScope
		Settled, Reserved int64
	}
	if err := t.All(&sums, readSpending, day, person, session); err != nil {
		return nil, nil, err
	}
	b := &of.Budget
	for _, s := range []ledger.Spending{
		{Scope: ledger.SpentInAll, Limit: b.PerDay},
		{Scope: ledger.SpentByPerson, Name: person, Limit: b.PerPersonDay},
		{Scope: ledger.SpentInSession, Name: session, Limit: b.PerSessionDay},
	} {
		if s.Limit <= 0 {
			continue
		}
		left := billionths(s.Limit)
		for _, sum := range sums {
			if sum.Scope == s.Scope {
				s.Settled, s.Reserved = money(sum.Settled), money(sum.Reserved)
				left -= sum.Settled + sum.Reserved
			}
		}
		if spent = append(spent, s); more > left && over == nil {
			over = &ledger.OverLimitError{Spending: s, Most: of.Most}
		}
	}
	return spent, over, nil
}

// compareRun says whether the limit of the turn's run is passed if that much more is spent.
func (t *tx) compareRun(of *ledger.Reservation, turn, more int64) (over, err error) {
	s := ledger.Spending{Scope: ledger.SpentInRun, Limit: of.Budget.PerRun}
	if s.Limit <= 0 {
		return nil, nil
	}
	var reserved int64
	if _, err := t.Row(spentInRun, []any{of.Run, turn}, &s.Settled, &reserved); err != nil {
		return nil, err
	}
	if s.Reserved = money(reserved); billionths(s.Settled)+reserved+more > billionths(s.Limit) {
		over = &ledger.OverLimitError{Spending: s, Most: of.Most}
	}
	return over, nil
}

// SettleLost implements router.Money.
func (r *Router) SettleLost(ctx context.Context, ref ledger.TurnRef) error {
	return r.db.write(ctx, full, "settle lost calls", func(t *tx) error {
		if _, err := t.holding(ref); err != nil {
			return err
		}
		charges, err := t.loseCalls("?", []any{ref.TurnID})
		if err != nil {
			return err
		}
		return t.charge(charges...)
	})
}

// loseCalls ends the calls that turns left open, at what was reserved for them.
func (t *tx) loseCalls(marks string, turns []any) (charges []charge, err error) {
	var left []struct {
		TurnID      int64 `db:"turn_id"`
		Step        string
		Reserved    int64
		Day, Person string
		SessionID   int64 `db:"session_id"`
	}
	if err := t.All(&left, fmt.Sprintf(leftCalls, marks), turns...); err != nil {
		return nil, err
	}
	for _, c := range left {
		cost := money(c.Reserved)
		if err := t.run(statement{loseCall, []any{cost, lostCall, c.TurnID, c.Step}}, statement{addLost, []any{cost, c.TurnID}}); err != nil {
			return nil, err
		}
		charges = append(charges, charge{c.Day, c.Person, c.SessionID, c.Reserved, -c.Reserved})
	}
	return charges, nil
}

// callDay is the day by which a call is counted.
func callDay(c *agent.Call, now int64) string {
	return cmp.Or(c.Day, instant(now).Format(time.DateOnly))
}

// settle is what a call cost, with nothing set aside for it any more. Settled says that it was
// noted before.
func (w *stepWriter) settle(c *agent.Call) (ch charge, settled bool) {
	ch = charge{day: callDay(c, w.t.now), session: w.session, settled: billionths(c.Usage.Cost)}
	if c.Held == "" || w.err != nil {
		return ch, false
	}
	var found bool
	found, w.err = w.t.Row(settleCall, []any{clean(c.Step), w.turn, clean(c.Held)}, &ch.reserved, &ch.day)
	ch.reserved = -ch.reserved
	return ch, !found
}

// charge changes the sums by what the calls of the step cost.
func (w *stepWriter) charge() error {
	if len(w.charges) == 0 {
		return nil
	}
	var person string
	if _, err := w.t.Row(personOf, []any{w.turn}, &person); err != nil {
		return err
	}
	for i := range w.charges {
		w.charges[i].person = person
	}
	return w.t.charge(w.charges...)
}
