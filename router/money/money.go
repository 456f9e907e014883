// Package money has budgets: what may be spent on models, what is set aside and what was used.
package money

import (
	"fmt"
	"time"

	"switchboard/agent"
)

// Budget is [budget], as turns go by it. Limits are in Currency; 0: no limit.
type Budget struct {
	Currency                            string
	Zone                                *time.Location // by whose days money is counted; nil: UTC
	PerDay, PerPersonDay, PerSessionDay float64
	PerRun                              float64 // of a job, all of its tries
}

// Limited says that there is a limit.
func (b Budget) Limited() bool {
	return b.PerDay > 0 || b.PerPersonDay > 0 || b.PerSessionDay > 0 || b.PerRun > 0
}

// Under is b for a turn under these terms: a run's limit is its job's own, but no more than that of [budget] where no
// admin allowed it, and of no other turn.
func (b Budget) Under(terms agent.Terms) Budget {
	if own := terms.Budget; terms.Run == 0 || own > 0 && (own < b.PerRun || b.PerRun == 0 || terms.Allowed) {
		b.PerRun = own
	}
	return b
}

// Day is the day at t, by which money is counted, as YYYY-MM-DD.
func (b Budget) Day(t time.Time) string { return b.in(t).Format(time.DateOnly) }

// Over is when the day at t is over.
func (b Budget) Over(t time.Time) time.Time {
	y, m, d := b.in(t).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, b.in(t).Location())
}

func (b Budget) in(t time.Time) time.Time {
	if b.Zone == nil {
		return t.UTC()
	}
	return t.In(b.Zone)
}

// Amount is money for people to read.
func (b Budget) Amount(sum float64) string {
	if sum > 0 && sum < 0.1 {
		return fmt.Sprintf("%.6f %s", sum, b.Currency)
	}
	return fmt.Sprintf("%.2f %s", sum, b.Currency)
}

// A SpendingScope says what a sum of a day is of.
type SpendingScope string

const (
	SpentInAll     SpendingScope = "day"
	SpentByPerson  SpendingScope = "person"
	SpentInSession SpendingScope = "session"
	SpentInRun     SpendingScope = "run" // it is of no day
)

// A Reservation is what is set aside for a model call before it is made.
type Reservation struct {
	Step, Role, Provider, Model string
	Most                        float64 // in all; it replaces what was reserved for the same call before
	Day                         string
	Budget                      Budget
	Run                         int64 // of a job, that the turn is the work of; 0: none
}

// Spending is a limit of a day, or of a run, and what was spent of it.
type Spending struct {
	Scope             SpendingScope
	Name              string // the person, the number of the session
	Limit             float64
	Settled, Reserved float64 // Reserved is for calls that are being made
}

// OverLimitError is returned by Reserve for a call with which more than the limit might be
// spent; nothing was reserved.
type OverLimitError struct {
	Spending
	Most float64 // what the call can cost
}

func (e *OverLimitError) Error() string {
	return fmt.Sprintf("a call that may cost %g is over the limit (%s %s): %g of %g are spent, %g reserved", e.Most, e.Scope, e.Name, e.Settled, e.Limit, e.Reserved)
}
