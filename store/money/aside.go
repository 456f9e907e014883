package money

import (
	"context"

	"switchboard/router/money"
	"switchboard/router/plain"
	"switchboard/store/database"
)

var _ plain.Store = (*Store)(nil)

// addAside is addSpending for what is of no session.
const addAside = `
	INSERT INTO spending (day, scope, name, settled, reserved) VALUES (?, 'day', '', ?, ?), (?, 'person', ?, ?, ?)
	ON CONFLICT (day, scope, name) DO UPDATE SET settled = spending.settled + excluded.settled, reserved = spending.reserved + excluded.reserved`

// SetAside reserves what a call that is of no turn can cost, as Reserve does for one that is. What an engine had set aside as it was
// killed stays so to the end of the day.
func (r *Store) SetAside(ctx context.Context, person string, of money.Reservation) error {
	of.Budget.PerSessionDay = 0 // it is of none
	var over error
	err := r.Write(ctx, database.Durable, "set money aside", func(t *database.Tx) (err error) {
		if err := lockSums(t); err != nil {
			return err
		}
		person, most := database.Clean(person), Billionths(of.Most)
		if _, over, err = compare(t, &of, of.Day, person, "", most); err != nil || over != nil {
			return err
		}
		return t.Do(addAside, of.Day, 0, most, of.Day, person, 0, most)
	})
	if err == nil {
		err = over
	}
	return err
}

// Spend counts what such a call cost.
func (r *Store) Spend(ctx context.Context, day, person string, aside, cost float64) error {
	return r.Write(ctx, database.Async, "count what a call cost", func(t *database.Tx) error {
		if err := lockSums(t); err != nil {
			return err
		}
		person, settled, reserved := database.Clean(person), Billionths(cost), -Billionths(aside)
		return t.Do(addAside, day, settled, reserved, day, person, settled, reserved)
	})
}
