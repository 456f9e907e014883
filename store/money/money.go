// Package money has the rows of what model calls may cost and did.
package money

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

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
		INSERT INTO spending (day, scope, name, settled, reserved) VALUES (?, 'day', '', ?, ?), (?, 'person', ?, ?, ?), (?, 'session', ?, ?, ?)` + addSums
	joinSpending = `
		INSERT INTO spending (day, scope, name, settled, reserved) SELECT day, scope, ?, settled, reserved FROM spending WHERE scope = ? AND name = ?` + addSums
	addSums = `
		ON CONFLICT (day, scope, name) DO UPDATE SET settled = spending.settled + excluded.settled, reserved = spending.reserved + excluded.reserved`
	dropSpending = `DELETE FROM spending WHERE scope = ? AND name = ?`
	openCall     = `SELECT reserved, day FROM llm_calls WHERE turn_id = ? AND step = ? AND reserved > 0`
	reserveCall  = `
		INSERT INTO llm_calls (turn_id, step, ordinal, role, provider, model, day, reserved, created_at)
		VALUES (?, ?, (SELECT count(*) FROM llm_calls WHERE turn_id = ?), ?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn_id, step) DO UPDATE SET role = excluded.role, provider = excluded.provider, model = excluded.model,
			day = excluded.day, reserved = excluded.reserved
		WHERE llm_calls.error <> '' OR llm_calls.reserved > 0`
	// SettleCall gives the row of a call that was made the key under which it is kept; insertCall does the rest.
	SettleCall = `UPDATE llm_calls SET step = ? WHERE turn_id = ? AND step = ? AND reserved > 0 RETURNING reserved, day`
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

// Billionths is money as it is summed up. What is more than any sum is cut.
func Billionths(sum float64) int64 { return int64(math.Round(min(sum*1e9, 1e17))) }

// Money is what a number of billionths comes to.
func Money(billionths int64) float64 { return float64(billionths) / 1e9 }

// A Charge is what changes the sums of a day.
type Charge struct {
	Day, Person       string
	Session           int64
	Settled, Reserved int64
}

// Add changes sums. It is the last that a transaction does.
func Add(t *database.Tx, list ...Charge) error {
	if len(list) == 0 {
		return nil
	}
	if err := lockSums(t); err != nil {
		return err
	}
	for _, c := range list {
		session := database.Digits(c.Session)
		if err := t.Do(addSpending, c.Day, c.Settled, c.Reserved, c.Day, c.Person, c.Settled, c.Reserved, c.Day, session, c.Settled, c.Reserved); err != nil {
			return err
		}
	}
	return nil
}

func lockSums(t *database.Tx) (err error) {
	if t.PG {
		var one int
		_, err = t.Row(lockSpending, nil, &one)
	}
	return err
}

// JoinSpending adds the sums of one person or session to those of another.
func JoinSpending(t *database.Tx, scope money.SpendingScope, into, from string) error {
	if err := lockSums(t); err != nil {
		return err
	}
	return t.Run(
		database.Do(joinSpending, into, scope, from),
		database.Do(dropSpending, scope, from),
	)
}

// Reserve sets aside what a call of the running turn can cost, in place of what was for the same call before,
// in one transaction that compares it with the limits: no number of calls on any engines passes one. It is
// durable to power loss: money is spent after it.
func (r *Store) Reserve(ctx context.Context, ref core.TurnRef, of money.Reservation) (spent []money.Spending, err error) {
	var over error
	err = r.Write(ctx, database.Durable, "reserve", func(t *database.Tx) error {
		spent, over, err = reserve(t, ref, &of)
		return err
	})
	return spent, cmp.Or(err, over)
}

func reserve(t *database.Tx, ref core.TurnRef, of *money.Reservation) (spent []money.Spending, over, err error) {
	if _, err := sessions.Holding(t, ref); err != nil {
		return nil, nil, err
	}
	step, day, was := database.Clean(of.Step), of.Day, int64(0)
	if _, err := t.Row(openCall, []any{ref.TurnID, step}, &was, &day); err != nil { // an earlier try of the call
		return nil, nil, err
	}
	var person string
	if _, err := t.Row(sessions.PersonOf, []any{ref.TurnID}, &person); err != nil {
		return nil, nil, err
	}
	most := Billionths(of.Most)
	if err := lockSums(t); err != nil {
		return nil, nil, err
	}
	spent, over, err = compare(t, of, day, person, database.Digits(ref.SessionID), most-was)
	if err == nil && over == nil {
		over, err = compareRun(t, of, ref.TurnID, most-was)
	}
	if err != nil || over != nil {
		return spent, over, err
	}
	n, err := t.Exec(reserveCall, ref.TurnID, step, ref.TurnID, of.Role, of.Provider, of.Model, day, most, t.Now)
	if err == nil && n == 0 {
		err = fmt.Errorf("the call %s is answered already: %w", step, core.ErrConflict)
	}
	if err == nil {
		err = Add(t, Charge{Day: day, Person: person, Session: ref.SessionID, Reserved: most - was})
	}
	return spent, nil, err
}

// compare says what was spent of each limit, and which one is passed if that much more is.
func compare(t *database.Tx, of *money.Reservation, day, person, session string, more int64) (spent []money.Spending, over, err error) {
	var sums []struct {
		Scope             money.SpendingScope
		Settled, Reserved int64
	}
	if err := t.All(&sums, readSpending, day, person, session); err != nil {
		return nil, nil, err
	}
	b := &of.Budget
	for _, s := range []money.Spending{
		{Scope: money.SpentInAll, Limit: b.PerDay},
		{Scope: money.SpentByPerson, Name: person, Limit: b.PerPersonDay},
		{Scope: money.SpentInSession, Name: session, Limit: b.PerSessionDay},
	} {
		if s.Limit <= 0 {
			continue
		}
		left := Billionths(s.Limit)
		for _, sum := range sums {
			if sum.Scope == s.Scope {
				s.Settled, s.Reserved = Money(sum.Settled), Money(sum.Reserved)
				left -= sum.Settled + sum.Reserved
			}
		}
		if spent = append(spent, s); more > left && over == nil {
			over = &money.OverLimitError{Spending: s, Most: of.Most}
		}
	}
	return spent, over, nil
}

// compareRun says whether the limit of the turn's run is passed if that much more is spent.
func compareRun(t *database.Tx, of *money.Reservation, turn, more int64) (over, err error) {
	s := money.Spending{Scope: money.SpentInRun, Limit: of.Budget.PerRun}
	if s.Limit <= 0 {
		return nil, nil
	}
	var reserved int64
	if _, err := t.Row(spentInRun, []any{of.Run, turn}, &s.Settled, &reserved); err != nil {
		return nil, err
	}
	if s.Reserved = Money(reserved); Billionths(s.Settled)+reserved+more > Billionths(s.Limit) {
		over = &money.OverLimitError{Spending: s, Most: of.Most}
	}
	return over, nil
}

// SettleLost ends, once, the calls that whoever ran the turn before had begun: each counts as what was
// reserved for it, and may be made again.
func (r *Store) SettleLost(ctx context.Context, ref core.TurnRef) error {
	return r.Write(ctx, database.Durable, "settle lost calls", func(t *database.Tx) error {
		if _, err := sessions.Holding(t, ref); err != nil {
			return err
		}
		charges, err := LoseCalls(t, "?", []any{ref.TurnID})
		if err != nil {
			return err
		}
		return Add(t, charges...)
	})
}

// LoseCalls ends the calls that turns left open, at what was reserved for them.
func LoseCalls(t *database.Tx, marks string, turns []any) (charges []Charge, err error) {
	var left []struct {
		TurnID, Reserved, SessionID int64
		Step, Day, Person           string
	}
	if err := t.All(&left, fmt.Sprintf(leftCalls, marks), turns...); err != nil {
		return nil, err
	}
	for _, c := range left {
		cost := Money(c.Reserved)
		if err := t.Run(database.Do(loseCall, cost, lostCall, c.TurnID, c.Step), database.Do(addLost, cost, c.TurnID)); err != nil {
			return nil, err
		}
		charges = append(charges, Charge{c.Day, c.Person, c.SessionID, c.Reserved, -c.Reserved})
	}
	return charges, nil
}

// CallDay is the day by which a call is counted.
func CallDay(c *agent.Call, now int64) string {
	return cmp.Or(c.Day, database.Instant(now).Format(time.DateOnly))
}
