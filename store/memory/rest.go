package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

var _ routermemory.RestStore = (*Store)(nil)

const (
	// restFor is for whom work is done: in a direct chat nobody but whose it is, else who wrote there last.
	restFor = `CASE WHEN c.kind = 'direct' THEN s.person
		ELSE coalesce((SELECT m.person FROM messages m WHERE m.session_id = s.id AND m.direction = 'in' AND m.person <> '' ORDER BY m.id DESC LIMIT 1), '') END AS person`
	rests = `FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.restless = TRUE AND s.used_at <= ?
		AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND t.rank IS NOT NULL)`
	restOf = `
		SELECT s.id AS session, c.channel, c.place AS "group", c.kind = 'direct' AS direct, s.private <> '' AS private, NOT ` + notCopied + ` AS copied, ` + restFor + `,
			s.summary, s.summary_taint, s.reset_message AS reset, s.looked_to, s.summed_to, s.reported_to, s.indexed_to, s.indexed_turn, s.used_at, s.rest_tries AS tries,
			s.rest_after <= ? AS due ` + rests + ` AND s.id = ?`
	// resting are those that are due or have something to be indexed, three of a person, whom no other engine works for: %s says that
	// the owner o of a lease lives.
	resting = `
		SELECT session, person FROM (
			SELECT session, person, rest_after, row_number() OVER (PARTITION BY person ORDER BY rest_after, session) AS nth FROM (
				SELECT s.id AS session, ` + restFor + `, s.rest_after ` + rests + `
					AND (s.rest_after <= ? OR EXISTS (SELECT 1 FROM messages n WHERE n.session_id = s.id AND n.id > s.indexed_to))
				ORDER BY s.rest_after LIMIT 1000
			) x WHERE NOT EXISTS (SELECT 1 FROM leases l JOIN owners o ON o.id = l.owner WHERE l.kind = 'memory' AND l.name = x.person AND o.id <> ? AND %s)
		) y WHERE nth <= 3 ORDER BY rest_after, session LIMIT ?`
	rested = `UPDATE sessions SET restless = FALSE, rest_tries = 0, rest_fault = '', rest_after = 0 WHERE id = ? AND used_at = ?`
	// restFails: without another time, it rests until something is new there.
	restFails = `
		UPDATE sessions SET restless = CASE WHEN CAST(? AS bigint) = 0 AND used_at = ? THEN FALSE ELSE restless END,
			rest_tries = CASE WHEN CAST(? AS bigint) = 0 THEN 0 ELSE CAST(? AS bigint) END, rest_fault = ?, rest_after = ? WHERE id = ?`
	restDid = `UPDATE sessions SET rest_tries = 0, rest_fault = '', rest_after = 0 WHERE id = ? AND rest_fault <> ''`

	// spoken: what people typed, as they last edited it, and what they were answered, but for late answers to what is left behind.
	spoken = `
		SELECT id, coalesce(turn_id, 0) AS turn, direction = 'in' AS "in", person AS who, coalesce(said, text) AS text, direction = 'in' AND outside = FALSE AND origin IN ('chat', 'api') AS own,
			CASE WHEN direction = 'out' OR origin = 'job' THEN taint WHEN outside = TRUE THEN 'forwarded' ELSE '' END AS taint,
			CASE WHEN happened_at > 0 THEN happened_at ELSE created_at END AS at
		FROM messages m WHERE session_id = ? AND id > ? AND (direction = 'in' AND class IN ('turn', 'revision') AND person <> '' OR class = 'say' AND notice = FALSE)
			AND coalesce(said, text) <> '' AND coalesce(said, text) NOT LIKE '/%'
			AND (direction = 'in' OR NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND m.turn_id <= CASE WHEN s.left_turn > s.reset_turn THEN s.left_turn ELSE s.reset_turn END))
			AND NOT EXISTS (SELECT 1 FROM messages y WHERE y.session_id = m.session_id AND y.id > m.id AND y.replaces = coalesce(m.replaces, m.id))
		ORDER BY id LIMIT ?`
	learnings = columns + `m.session_id = ? AND m.kind = 'learning' AND m.state = 'pending' ORDER BY m.id LIMIT ?`
	learn     = `
		INSERT INTO memories (kind, scope, text, state, person, session_id, source, confidence, taint, created_at, updated_at)
		VALUES ('learning', ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?)`
	// judge: of what is discarded nothing is kept but why.
	judge = `
		UPDATE memories SET state = ?, outcome = ?, superseded_by = ?, updated_at = ?, text = CASE WHEN CAST(? AS text) = 'discarded' THEN '' ELSE text END
		WHERE id = ? AND kind = 'learning' AND state = 'pending'`
	// asItWas: it was not reset, forgotten, or made private or not.
	asItWas = ` AND reset_message = ? AND (private <> '') = ?`
	isAsWas = `SELECT id FROM sessions WHERE id = ?` + asItWas
	looked  = `UPDATE sessions SET looked_to = ? WHERE id = ? AND looked_to = ?` + asItWas
	summed  = `UPDATE sessions SET summed_to = ?, summary = ?, summary_taint = ? WHERE id = ? AND summed_to = ?` + asItWas

	mergeable = `m.scope = ? AND m.kind = 'fact' AND m.state = 'active' AND m.taint = '' AND (m.expires_at = 0 OR m.expires_at > ?) AND ` + notCopied
	facts     = `SELECT count(*) AS "all", coalesce(sum(CASE WHEN m.id > coalesce((SELECT merged_to FROM memory_scopes y WHERE y.scope = ?), 0) THEN 1 ELSE 0 END), 0) AS fresh
		FROM memories m WHERE ` + mergeable
	mergedTo  = `INSERT INTO memory_scopes (scope, merged_to) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET merged_to = excluded.merged_to`
	countCall = `
		INSERT INTO memory_days (person, day, calls) SELECT ?, ?, 1 WHERE CAST(? AS bigint) > 0
		ON CONFLICT (person, day) DO UPDATE SET calls = memory_days.calls + 1 WHERE memory_days.calls < ? RETURNING calls`
	restTrouble = `SELECT count(*) AS failing, coalesce(max(rest_tries), 0) AS tries, coalesce(max(rest_fault), '') AS fault FROM sessions WHERE rest_fault <> ''`
)

// Resting implements routermemory.RestStore. What is left alone after many tries is not among them.
func (s *Store) Resting(ctx context.Context, owner int64, before time.Time, limit int) ([]routermemory.Resting, error) {
	return database.Read(ctx, s.DB, "look for sessions that rest", func(t *database.Tx) ([]routermemory.Resting, error) {
		return database.Select[routermemory.Resting](t, fmt.Sprintf(resting, engines.Alive(t)), before, t.Now, owner, limit)
	})
}

// Rest implements routermemory.RestStore.
func (s *Store) Rest(ctx context.Context, session, owner int64, before time.Time) (r *routermemory.Resting, err error) {
	err = s.Write(ctx, s.ForLeases(), "lease a person's memory", func(t *database.Tx) error {
		if r, err = database.First[routermemory.Resting](t, restOf, t.Now, before, session); err != nil || r == nil {
			return err
		}
		fence, ok, err := engines.Take(t, engines.Memory, r.Person, owner)
		if r.Fence = fence; err == nil && !ok {
			r = nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// FreeRest implements routermemory.RestStore.
func (s *Store) FreeRest(ctx context.Context, r *routermemory.Resting) error {
	return s.Write(ctx, s.ForLeases(), "give back a person's memory", func(t *database.Tx) error {
		return engines.Release(t, engines.Memory, r.Person, r.Fence)
	})
}

// under writes a piece of work under the lease.
func (s *Store) under(ctx context.Context, op string, r *routermemory.Resting, fn func(*database.Tx) error) error {
	return s.Write(ctx, database.Async, op, func(t *database.Tx) error {
		if ok, err := engines.Keep(t, engines.Memory, r.Person, r.Fence); err != nil {
			return err
		} else if !ok {
			return core.ErrFenced
		}
		return fn(t)
	})
}

// did is under for what models did: what failed there before is over.
func (s *Store) did(ctx context.Context, op string, r *routermemory.Resting, fn func(*database.Tx) error) error {
	return s.under(ctx, op, r, func(t *database.Tx) error {
		if err := fn(t); err != nil {
			return err
		}
		return t.Do(restDid, r.Session)
	})
}

// SpokenAfter implements routermemory.RestStore.
func (s *Store) SpokenAfter(ctx context.Context, r *routermemory.Resting, after int64, limit int) (list []routermemory.Spoken, err error) {
	err = s.Read(ctx, "read what was said", func(t *database.Tx) error {
		if list, err = database.Select[routermemory.Spoken](t, spoken, r.Session, after, limit); err != nil {
			return err
		}
		gone, err := takenBackIn(t, r)
		if err != nil {
			return err
		}
		denied := deniedBy{}
		for i := range list {
			m := &list[i]
			if m.Hidden = gone.saidIn(m.Turn, m.Text, m.At); !m.Hidden {
				m.Hidden, err = denied.says(t, r, m.Who, m.Text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// Learnings implements routermemory.RestStore.
func (s *Store) Learnings(ctx context.Context, session int64, limit int) ([]memory.Entry, error) {
	return database.List[memory.Entry](ctx, s.DB, "list learnings", learnings, session, limit)
}

// MergeableFacts implements routermemory.RestStore.
func (s *Store) MergeableFacts(ctx context.Context, scope memory.Scope) (all, fresh int, err error) {
	err = s.Read(ctx, "count facts", func(t *database.Tx) error {
		_, err := t.Row(facts, []any{scope, scope, t.Now}, &all, &fresh)
		return err
	})
	return all, fresh, err
}

// WriteLook implements routermemory.RestStore.
func (s *Store) WriteLook(ctx context.Context, r *routermemory.Resting, to int64, learned []memory.Entry) error {
	return s.did(ctx, "write what a look taught", r, func(t *database.Tx) error {
		if err := t.Change(core.ErrConflict, looked, to, r.Session, r.LookedTo, r.Reset, r.Private); err != nil {
			return err
		}
		for i := range learned {
			e := &learned[i]
			clean(e)
			if err := t.Do(learn, e.Scope, e.Text, e.Person, r.Session, e.Source, e.Confidence, e.Taint, t.Now, t.Now); err != nil {
				return err
			}
		}
		return nil
	})
}

// WriteVerdicts implements routermemory.RestStore.
func (s *Store) WriteVerdicts(ctx context.Context, r *routermemory.Resting, list []routermemory.Judged) error {
	return s.did(ctx, "write verdicts", r, func(t *database.Tx) error {
		var id int64
		if err := t.Must(core.ErrConflict, t.Locked(isAsWas), []any{r.Session, r.Reset, r.Private}, &id); err != nil {
			return err
		}
		for i := range list {
			j := &list[i]
			became := int64(0)
			if j.Change != nil {
				if err := made(t, j.Change); err != nil {
					return err
				}
				became = j.Change.Entry.ID
			}
			if err := t.Change(core.ErrConflict, judge, j.State, database.Clean(j.Outcome), sessions.OrNull(became), t.Now, j.State, j.Learning); err != nil {
				return err
			}
		}
		return nil
	})
}

// made makes a change of which all that it replaces has to be there still.
func made(t *database.Tx, c *routermemory.Change) error {
	if _, err := Change(t, c); errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("what is replaced is gone: %w", core.ErrConflict)
	} else if err != nil {
		return err
	}
	if len(c.Done) != len(c.IDs) {
		return fmt.Errorf("what is replaced is gone: %w", core.ErrConflict)
	}
	for _, e := range c.Done {
		if e.State != "active" {
			return fmt.Errorf("memory %d is %s: %w", e.ID, e.State, core.ErrConflict)
		}
	}
	return nil
}

// WriteSummary implements routermemory.RestStore.
func (s *Store) WriteSummary(ctx context.Context, r *routermemory.Resting, to int64, summary string, taint tools.Taint) error {
	summary = database.Clean(summary)
	return s.did(ctx, "write a summary", r, func(t *database.Tx) error {
		if err := t.Change(core.ErrConflict, summed, to, summary, taint, r.Session, r.SummedTo, r.Reset, r.Private); err != nil || r.Private || summary == "" {
			return err
		}
		was, err := takenBackIn(t, r)
		if err != nil {
			return err
		}
		return was.index(t, Indexed{Record: memory.OfSummary, Ref: r.Session, Scope: r.Place(r.Person).Own(), Session: r.Session, Taint: taint, SaidAt: database.Instant(t.Now), Text: summary})
	})
}

// WriteMerged implements routermemory.RestStore.
func (s *Store) WriteMerged(ctx context.Context, r *routermemory.Resting, scope memory.Scope, to int64, list []*routermemory.Change) error {
	return s.did(ctx, "consolidate facts", r, func(t *database.Tx) error {
		if err := t.Do(mergedTo, scope, to); err != nil { // first: who consolidates them at the same time waits here, and finds others
			return err
		}
		for _, c := range list {
			if err := made(t, c); err != nil {
				return err
			}
			to = max(to, c.Entry.ID)
		}
		return t.Do(mergedTo, scope, to)
	})
}

// CountCall implements routermemory.RestStore.
func (s *Store) CountCall(ctx context.Context, person, day string, most int) (ok bool, err error) {
	return database.Write(ctx, s.DB, database.Async, "count a call", func(t *database.Tx) (bool, error) {
		return t.Has(countCall, database.Clean(person), day, most, most)
	})
}

// Rested implements routermemory.RestStore.
func (s *Store) Rested(ctx context.Context, r *routermemory.Resting) error {
	return s.Write(ctx, database.Async, "note that a session rests", func(t *database.Tx) error { return t.Do(rested, r.Session, r.UsedAt) })
}

// RestFailed implements routermemory.RestStore.
func (s *Store) RestFailed(ctx context.Context, r *routermemory.Resting, fault string, again time.Time) error {
	at := database.Micros(again)
	return s.Write(ctx, database.Async, "note that work at rest failed", func(t *database.Tx) error {
		return t.Do(restFails, at, r.UsedAt, at, r.Tries+1, database.Clean(strings.TrimSpace(fault)), at, r.Session)
	})
}

// RestTrouble is what of the work at rest fails, for doctor.
func (s *Store) RestTrouble(ctx context.Context) (d routermemory.Doing, err error) {
	_, err = s.ReadRow(ctx, "look at the work at rest", restTrouble, nil, &d.Failing, &d.Tries, &d.Fault)
	return d, err
}
