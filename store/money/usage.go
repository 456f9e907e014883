package money

import (
	"context"
	"fmt"
	"slices"

	"switchboard/router/money"
	"switchboard/store/database"
)

const (
	usageColumns = `count(*) AS calls, sum(c.tokens_in) AS tokens_in, sum(c.tokens_out) AS tokens_out, sum(c.cached) AS cached, sum(c.cost) AS cost`
	// TakeUsage adds the calls of turns that are taken into the audit log; in order, as another engine may do
	// so with the same rows.
	TakeUsage = `
		INSERT INTO usage (day, person, model, role, calls, tokens_in, tokens_out, cached, cost)
		SELECT c.day, t.person, c.provider || '/' || c.model, c.role, ` + usageColumns + `
		FROM llm_calls c JOIN turns t ON t.id = c.turn_id WHERE c.turn_id IN (%s) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
		ON CONFLICT (day, person, model, role) DO UPDATE SET calls = usage.calls + excluded.calls, tokens_in = usage.tokens_in + excluded.tokens_in,
			tokens_out = usage.tokens_out + excluded.tokens_out, cached = usage.cached + excluded.cached, cost = usage.cost + excluded.cost`
	// usageBy are the sums, and what is not in them yet, without the built-in model, which costs nothing. %s is a column.
	usageBy = `
		SELECT %[1]s AS name, sum(calls) AS calls, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(cached) AS cached_tokens, sum(cost) AS cost FROM (
			SELECT day, person, model, role, calls, tokens_in, tokens_out, cached, cost FROM usage WHERE day >= ?
			UNION ALL SELECT c.day, t.person, c.provider || '/' || c.model, c.role, 1, c.tokens_in, c.tokens_out, c.cached, c.cost
			FROM turns t JOIN llm_calls c ON c.turn_id = t.id WHERE t.audited = FALSE AND t.id > ? AND c.reserved = 0 AND c.day >= ?
		) AS u WHERE model NOT LIKE 'offline/%%' AND (? = '' OR person = ?) GROUP BY %[1]s ORDER BY %[2]s`
	listSpent = `
		SELECT scope, settled, reserved, CASE scope WHEN 'session'
			THEN coalesce((SELECT key FROM sessions WHERE id = CAST(name AS bigint)), name) ELSE name END AS name
		FROM spending WHERE day = ? AND scope = ? ORDER BY settled + reserved DESC, name LIMIT ?`
	spentBy = `SELECT scope, name, settled, reserved FROM spending WHERE day = ? AND scope = 'person' AND name = ?`
	// DeleteUsage deletes the sums of old days.
	DeleteUsage = `DELETE FROM usage WHERE day < ?`
	// DeleteSpending deletes what was spent on old days.
	DeleteSpending = `DELETE FROM spending WHERE day < ?`
)

// Usage sums up what was used of models since a day; turns up to after are in the sums already.
func (db *Store) Usage(ctx context.Context, f money.UsageFilter, after int64) ([]money.Usage, error) {
	if !slices.Contains(money.UsageBy, f.By) {
		return nil, fmt.Errorf("usage by %q is not known", f.By)
	}
	order := "cost DESC, tokens_in DESC, name"
	if f.By == "day" {
		order = "name DESC"
	}
	return database.Listed(ctx, db.DB, "sum usage up", func(u *money.Usage) money.Usage {
		u.BilledTokens, u.Cost = u.TokensIn+u.TokensOut, database.ShownCost(u.Cost)
		return *u
	}, fmt.Sprintf(usageBy, f.By, order), f.Since, after, f.Since, f.Person, f.Person)
}

// Spent lists what was spent of a day: in all, and by the top persons and sessions.
func (db *Store) Spent(ctx context.Context, day string, top int) (list []money.Spent, err error) {
	for _, scope := range []string{"day", "person", "session"} {
		spent, err := db.spent(ctx, listSpent, day, scope, top)
		if err != nil {
			return nil, err
		}
		list = append(list, spent...)
	}
	return list, nil
}

// SpentBy is what a person spent of a day.
func (db *Store) SpentBy(ctx context.Context, day, person string) (money.Spent, error) {
	list, err := db.spent(ctx, spentBy, day, person)
	return append(list, money.Spent{})[0], err
}

// spent reads sums, which are in billionths.
func (db *Store) spent(ctx context.Context, query string, args ...any) ([]money.Spent, error) {
	return database.Listed(ctx, db.DB, "list what was spent", func(s *money.Spent) money.Spent {
		s.Settled, s.Reserved = s.Settled/1e9, s.Reserved/1e9
		return *s
	}, query, args...)
}
