package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/internal/retry"
	"switchboard/router/core"
	routermoney "switchboard/router/money"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/money"
)

const (
	takeTurns = 100 // of a batch
	lookTurns = 1000
	// lateTurns is how long a transaction may take to commit a turn whose number was given
	// out: those of the last while are looked at again.
	lateTurns = 10 * time.Minute

	// unaudited are turns from a number on: those that have ended and do not stand in the
	// audit log, and where the ones that need no second look begin.
	unaudited = `
		SELECT t.id, t.audited = FALSE AND t.state IN ('done', 'failed', 'cancelled', 'merged') AS ready, t.audited = FALSE OR t.created_at > ? AS recent
		FROM turns t WHERE t.id > ? ORDER BY t.id LIMIT ?`
	unauditedStrangers = `SELECT m.id FROM messages m WHERE m.class = 'stranger' AND m.audited = FALSE ORDER BY m.id LIMIT 100`
	// Whoever has a row locked goes first, and it is taken the next time.
	claimTurns    = `SELECT id FROM turns WHERE id IN (%s) AND audited = FALSE ORDER BY id`
	claimMessages = `SELECT id FROM messages WHERE id IN (%s) AND audited = FALSE ORDER BY id`
	markTurns     = `UPDATE turns SET audited = TRUE WHERE id IN (%s)`
	markMessages  = `UPDATE messages SET audited = TRUE WHERE id IN (%s)`
	endedTurns    = `
		SELECT t.id, t.session_id, t.person, t.state, t.outcome, t.cost, coalesce(t.merged_into, 0) AS merged_into, coalesce(t.retry_of, 0) AS retry_of,
			coalesce(t.terms, '') AS terms, t.calls, t.tokens_in, t.tokens_out, t.created_at, coalesce(t.finished_at, 0) AS finished_at,
			m.rule, m.identity, m.origin, m.taint, c.channel, c.conversation
		FROM turns t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id WHERE t.id IN (%s) ORDER BY t.id`
	ranTools = `
		SELECT turn_id, coalesce(tool, type) AS tool, outcome, CASE WHEN allowed_by = '' THEN rule ELSE allowed_by END AS rule, count(*) AS n
		FROM tasks WHERE turn_id IN (%s) AND type <> 'msg' AND state NOT IN ('pending', 'cancelled')
		GROUP BY turn_id, coalesce(tool, type), outcome, CASE WHEN allowed_by = '' THEN rule ELSE allowed_by END ORDER BY 1, 2, 3, 4`
	strangersSaid = `
		SELECT m.id, m.rule, m.identity, m.created_at, c.channel, c.conversation
		FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.id IN (%s) ORDER BY m.id`
)

// takeIntoAudit writes into the audit log, once each, the turns that have ended and what
// strangers wrote, which have their rows already: nothing is written for each message.
func (db *DB) takeIntoAudit(ctx context.Context) error {
	if err := db.takeTurns(ctx); err != nil {
		return err
	}
	for {
		ids, err := database.Read(ctx, db.DB, "look for strangers to audit", func(t *database.Tx) ([]int64, error) { return t.IDs(unauditedStrangers) })
		if err != nil || len(ids) == 0 {
			return err
		}
		taken, err := db.takeBatch(ctx, claimMessages, ids, auditStrangers)
		if err != nil || taken == 0 {
			return err
		}
	}
}

// takeTurns goes through the turns by their numbers, from the first that may not stand in
// the audit log.
func (db *DB) takeTurns(ctx context.Context) error {
	db.audits.Lock()
	defer db.audits.Unlock()
	after, seen := db.audited, true
	for {
		rows, err := database.Read(ctx, db.DB, "look for turns to audit", func(t *database.Tx) ([]page, error) {
			return database.Select[page](t, unaudited, t.Now-lateTurns.Microseconds(), after, lookTurns)
		})
		if err != nil {
			return err
		}
		var ids []int64
		for _, r := range rows {
			if seen = seen && !r.Recent; seen {
				db.audited = r.ID
			}
			if after = r.ID; r.Ready {
				ids = append(ids, r.ID)
			}
		}
		for some := range slices.Chunk(ids, takeTurns) {
			if _, err := db.takeBatch(ctx, claimTurns, some, auditTurns); err != nil {
				return err
			}
		}
		if len(rows) < lookTurns || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// takeBatch has rows written into the audit log that are not there yet, and lets others
// work.
func (db *DB) takeBatch(ctx context.Context, claim string, ids []int64, write func(*database.Tx, string, []any) error) (taken int, err error) {
	began := time.Now()
	err = db.Write(ctx, database.Async, "take into the audit log", func(t *database.Tx) error {
		marks, args := database.In(ids)
		found, err := t.IDs(t.Free(fmt.Sprintf(claim, marks)), args...)
		if taken = len(found); err != nil || taken == 0 {
			return err
		}
		marks, args = database.In(found)
		return write(t, marks, args)
	})
	retry.Sleep(ctx, max(pauseLeast, pauseTimes*time.Since(began)))
	return taken, err
}

// A ranTool says how often a tool ended so by a rule.
type ranTool struct {
	TurnID  int64  `json:"-"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome,omitempty"`
	Rule    string `json:"rule,omitempty"`
	N       int    `json:"n"`
}

func auditTurns(t *database.Tx, marks string, args []any) error {
	charges, err := money.LoseCalls(t, marks, args) // nobody resumes them
	if err != nil {
		return err
	}
	if err := t.Do(fmt.Sprintf(money.TakeUsage, marks), args...); err != nil {
		return err
	}
	var turns []struct {
		ID, SessionID, MergedInto, RetryOf, TokensIn, TokensOut, FinishedAt int64
		Person, State, Outcome, Rule, Identity, Origin, Terms, Taint        string
		Channel, Conversation                                               string
		Cost                                                                float64
		Calls                                                               int
		CreatedAt                                                           time.Time
	}
	if err := t.All(&turns, fmt.Sprintf(endedTurns, marks), args...); err != nil {
		return err
	}
	ran, err := database.Select[ranTool](t, fmt.Sprintf(ranTools, marks), args...)
	if err != nil {
		return err
	}
	tools := map[int64][]ranTool{}
	for _, r := range ran {
		tools[r.TurnID] = append(tools[r.TurnID], r)
	}
	for _, u := range turns {
		data := map[string]any{
			"identity": u.Identity, "origin": u.Origin, "channel": u.Channel, "conversation": u.Conversation, "asked_at": u.CreatedAt,
			"calls": u.Calls, "tokens_in": u.TokensIn, "tokens_out": u.TokensOut,
		}
		for key, n := range map[string]int64{"merged_into": u.MergedInto, "retry_of": u.RetryOf, "job": jobOf(u.Terms)} {
			if n != 0 {
				data[key] = database.Digits(n)
			}
		}
		if u.Taint != "" {
			data["taint"] = u.Taint
		}
		if list := tools[u.ID]; list != nil {
			data["tools"] = list
		}
		if err := audit.Write(t, core.Actor{Person: u.Person, Rule: u.Rule}, audit.Entry{
			Action: audit.ActionTurn, Target: "turn " + database.Digits(u.ID), Outcome: u.State, Why: u.Outcome, Cost: database.ShownCost(u.Cost), Data: data,
			Session: u.SessionID, Turn: u.ID, At: u.FinishedAt,
		}); err != nil {
			return err
		}
	}
	if err := t.Do(fmt.Sprintf(markTurns, marks), args...); err != nil {
		return err
	}
	return money.Add(t, charges...)
}

func auditStrangers(t *database.Tx, marks string, args []any) error {
	var said []struct {
		ID, CreatedAt                         int64
		Rule, Identity, Channel, Conversation string
	}
	if err := t.All(&said, fmt.Sprintf(strangersSaid, marks), args...); err != nil {
		return err
	}
	for _, m := range said {
		if err := audit.Write(t, core.Actor{Rule: m.Rule}, audit.Entry{
			Action: "message.refused", Target: m.Identity, Outcome: "kept out", At: m.CreatedAt,
			Data: map[string]any{"channel": m.Channel, "conversation": m.Conversation, "message": database.Digits(m.ID)},
		}); err != nil {
			return err
		}
	}
	return t.Do(fmt.Sprintf(markMessages, marks), args...)
}

// Usage sums up what was used of models since a day.
func (db *DB) Usage(ctx context.Context, f routermoney.UsageFilter) ([]routermoney.Usage, error) {
	db.audits.Lock()
	after := db.audited
	db.audits.Unlock()
	return db.moneyStore.Usage(ctx, f, after)
}

// money deletes sums of days that nobody asks for: limits go by today's.
func (s *sweeper) money(ctx context.Context) error {
	day := func(before int64) string { return database.Instant(before).Format(time.DateOnly) }
	_, err := s.batch(ctx, func(t *database.Tx) (int64, error) {
		n, err := t.Exec(money.DeleteSpending, day(s.before(s.keep.Turns)))
		if err != nil {
			return n, err
		}
		m, err := t.Exec(money.DeleteUsage, day(s.before(s.keep.Audit)))
		return n + m, err
	})
	return err
}
