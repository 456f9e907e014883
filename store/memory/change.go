package memory

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

// dayMicros is a day in µs.
const dayMicros = 24 * 60 * 60 * 1_000_000

const (
	sessionID = `SELECT id FROM sessions WHERE key = ?`
	same      = columns + `m.scope = ? AND m.kind = ? AND m.category = ? AND m.key = ? AND m.text = ? AND m.always = ? AND m.state = 'active' AND (m.scope = 'global' OR m.person = ?)`
	former    = columns + `m.scope = ? AND m.person = ? AND m.kind = 'preference' AND m.category = ? AND m.key = ? AND m.state = 'active'`
	insert    = `
		INSERT INTO memories (kind, scope, category, key, text, state, person, session_id, turn_id, source, confidence, taint, kept, always, created_at, updated_at, expires_at, aged_at)
		VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	supersede = `UPDATE memories SET state = 'superseded', superseded_by = ?, updated_at = ? WHERE id = ?`
	// saidWhen: what is put together was said when the last of it was.
	saidWhen = `
		UPDATE recalled SET said_at = coalesce((SELECT max(y.said_at) FROM recalled y WHERE y.kind = 'memory' AND y.ref IN (%s)), said_at) WHERE kind = 'memory' AND ref = ?`
	keep   = `UPDATE memories SET state = 'active', kept = TRUE, confidence = 1, taint = '', expires_at = 0, updated_at = ? WHERE id = ? AND kind <> 'learning'`
	always = `UPDATE memories SET always = TRUE, kept = TRUE, scope = 'global', updated_at = ? WHERE id = ? AND kind = 'rule'`
	forget = `UPDATE memories SET state = 'forgotten', outcome = ?, updated_at = ? WHERE id = ?`
	setOwn = `
		INSERT INTO memory_settings (person, learning, recall, expire_after, denied, updated_at) SELECT name, ?, ?, ?, ?, ? FROM people WHERE name = ?
		ON CONFLICT (person) DO UPDATE SET learning = excluded.learning, recall = excluded.recall, expire_after = excluded.expire_after,
			denied = excluded.denied, updated_at = excluded.updated_at`
)

// Change makes a change that the gate has judged, and fills it in. *core.StateError: the gate refuses it. Other errors as
// memory.Change says.
func Change(t *database.Tx, c *routermemory.Change) (a audit.Entry, err error) {
	switch {
	case !c.Judged():
		return a, errors.New("a memory is not written past its gate")
	case c.Refusal != nil:
		return a, &core.StateError{Sentence: c.Refusal.Text}
	}
	c.Done, c.Known = nil, false
	a.Outcome = "done"
	switch c.Kind {
	case routermemory.SetSettings:
		s := &c.Settings
		a.Data = s
		return a, t.Do(setOwn, s.Learning, s.Recall, s.Expire*dayMicros, database.JSONText(append([]string{}, s.Denied...)), t.Now, database.Clean(c.Person))
	case routermemory.TakeRecords:
		return take(t, c)
	case routermemory.EndCopy:
		return endCopy(t)
	case routermemory.ForgetSummaries:
		return forgetSummaries(t, c)
	}
	if copied, err := t.Has(copyNow); err != nil {
		return a, err
	} else if copied {
		return a, &core.StateError{Sentence: "What I remember here is a copy of another bot's memory: it is changed there."}
	}
	if c.Kind != routermemory.Add {
		if err := found(t, c); err != nil {
			return a, err
		}
		if takesBack(c) { // they are read again: what is made of them at rest is committed by then, or never
			if err := void(t, scopesOf(c.Done)); err != nil {
				return a, err
			}
			if err := found(t, c); err != nil {
				return a, err
			}
			stays := func(old memory.Entry) bool { return c.Kind == routermemory.Correct && saysToo(&c.Entry, &old) } // it is said with the right one
			if err := unlearn(t, slices.DeleteFunc(slices.Clone(c.Done), stays)); err != nil {
				return a, err
			}
		}
	}
	switch c.Kind {
	case routermemory.Add, routermemory.Correct:
		err = write(t, c)
		a.Data = map[string]any{"kind": c.Entry.Kind, "scope": c.Entry.Scope, "source": c.Entry.Source}
	case routermemory.Keep:
		err = each(t, c, func(e *memory.Entry) error { return confirm(t, e) })
	case routermemory.Always:
		err = each(t, c, func(e *memory.Entry) error {
			e.Always, e.Kept, e.Scope = true, true, memory.Global
			return t.Change(core.ErrNotFound, always, t.Now, e.ID)
		})
	case routermemory.Undo:
		var former []int64
		if former, err = t.IDs(mergedOf, c.Done[0].ID); err == nil {
			err = Unmerge(t, c.Done[0].ID)
		}
		if err == nil && len(former) == 0 { // what it was made of was erased
			err = core.ErrNotFound
		}
		if err == nil {
			c.Done, err = list(t, &routermemory.Filter{IDs: former})
		}
	case routermemory.Forget:
		err = each(t, c, func(e *memory.Entry) error {
			e.State, e.Outcome = "forgotten", "asked"
			if err := t.Do(forget, e.Outcome, t.Now, e.ID); err != nil {
				return err
			}
			return unsay(t, e)
		})
	}
	return a, err
}

// found reads those of a change that may be changed so. ErrNotFound: none.
func found(t *database.Tx, c *routermemory.Change) (err error) {
	c.Done, err = list(t, &routermemory.Filter{IDs: append([]int64{}, c.IDs...), Scopes: c.Of, Person: c.By, All: true})
	if err == nil && len(c.Done) == 0 {
		err = core.ErrNotFound
	}
	return err
}

func scopesOf(list []memory.Entry) (scopes []memory.Scope) {
	for i := range list {
		scopes = append(scopes, list[i].Scope)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// void has nothing written by work at rest that may have read what surfaces in these scopes: what is somebody's own is read in their
// own work alone.
func void(t *database.Tx, scopes []memory.Scope) error {
	own := string(memory.OfPerson(""))
	if slices.ContainsFunc(scopes, func(s memory.Scope) bool { return !strings.HasPrefix(string(s), own) }) {
		return engines.VoidAll(t, engines.Memory)
	}
	for _, s := range scopes {
		if err := engines.Void(t, engines.Memory, string(s)[len(own):]); err != nil {
			return err
		}
	}
	return nil
}

// each changes what a change found, and indexes again what is not forgotten.
func each(t *database.Tx, c *routermemory.Change, do func(e *memory.Entry) error) error {
	for i := range c.Done {
		if err := do(&c.Done[i]); err != nil {
			return err
		}
		c.Done[i].UpdatedAt = database.Instant(t.Now)
		if c.Kind != routermemory.Forget {
			if err := index(t, c.Done[i].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirm has a memory be sure, and stay. ErrNotFound: it is none yet.
func confirm(t *database.Tx, e *memory.Entry) error {
	e.Kept, e.Confidence, e.Taint, e.State, e.ExpiresAt = true, 1, tools.Clean, "active", time.Time{}
	return t.Change(core.ErrNotFound, keep, t.Now, e.ID)
}

// write writes the entry of a change, in place of what it corrects, and of the preference of that name.
func write(t *database.Tx, c *routermemory.Change) error {
	e := &c.Entry
	clean(e)
	known, err := database.First[memory.Entry](t, same, e.Scope, e.Kind, e.Category, e.Key, e.Text, e.Always, e.Person)
	if err != nil {
		return err
	}
	if known != nil && len(c.Done) < 2 {
		asked := e.Kept && !known.Kept && e.Taint == tools.Clean
		c.Entry, c.Known = *known, true
		if len(c.Done) == 1 && c.Done[0].ID != known.ID { // what it is corrected to is there already
			if err := t.Do(supersede, known.ID, t.Now, c.Done[0].ID); err != nil {
				return err
			}
			if err := gone(t, e, &c.Done[0]); err != nil {
				return err
			}
		}
		if !asked {
			return nil
		}
		if err := confirm(t, e); err != nil {
			return err
		}
		return index(t, e.ID)
	}
	before := slices.Clone(c.Done)
	if e.Kind == memory.Preference {
		list, err := database.Select[memory.Entry](t, former, e.Scope, e.Person, e.Category, e.Key)
		if err != nil {
			return err
		}
		before = append(before, list...)
	}
	for _, old := range before { // first: of a preference there is one at a time
		if err := t.Do(supersede, nil, t.Now, old.ID); err != nil {
			return err
		}
	}
	if e.ID, err = Insert(t, e, database.Micros(c.Expires)); err != nil {
		return err
	}
	if e.Source == routermemory.Merge {
		marks, args := database.In(c.IDs)
		if err := t.Do(strings.Replace(saidWhen, "%s", marks, 1), append(args, e.ID)...); err != nil {
			return err
		}
	}
	for i := range before {
		if err := t.Do(supersede, e.ID, t.Now, before[i].ID); err != nil {
			return err
		}
		if err := gone(t, &c.Entry, &before[i]); err != nil {
			return err
		}
	}
	e.CreatedAt, e.UpdatedAt, e.ExpiresAt, e.State = database.Instant(madeAt(t, e)), database.Instant(t.Now), c.Expires, "active"
	return nil
}

// takesBack says that a person takes away what they said.
func takesBack(c *routermemory.Change) bool {
	return c.Kind == routermemory.Forget || c.Kind == routermemory.Correct && (c.Entry.Source == routermemory.Said || c.Entry.Source == routermemory.Command)
}

// saysToo says that a memory says what another did.
func saysToo(e, old *memory.Entry) bool {
	return e.Source == routermemory.Merge || memory.HasAll(memory.Words(indexedText(e)), memory.Terms(indexedText(old)))
}

// gone has nobody find a memory in whose place another stands.
func gone(t *database.Tx, e, old *memory.Entry) error {
	if saysToo(e, old) {
		return Unindex(t, memory.OfMemory, old.ID)
	}
	return unsay(t, old)
}

// Insert writes a memory that the gate has judged, and indexes it.
func Insert(t *database.Tx, e *memory.Entry, expires int64) (id int64, err error) {
	var session int64
	if e.Session != "" {
		if _, err := t.Row(sessionID, []any{e.Session}, &session); err != nil {
			return 0, err
		}
	}
	var aged int64 // what is imported begins to age now
	if e.Source == routermemory.Import {
		aged = t.Now
	}
	id, err = t.Insert(insert, e.Kind, e.Scope, e.Category, e.Key, e.Text, e.Person, sessions.OrNull(session), sessions.OrNull(e.Turn), e.Source,
		cmp.Or(e.Confidence, 1), e.Taint, e.Kept, e.Always, madeAt(t, e), t.Now, expires, aged)
	if err != nil {
		return 0, err
	}
	return id, index(t, id)
}

// madeAt is when a memory came to be, in µs: now, but for what is imported.
func madeAt(t *database.Tx, e *memory.Entry) int64 {
	if at := database.Micros(e.CreatedAt); e.Source == routermemory.Import && at > 0 && at < t.Now {
		return at
	}
	return t.Now
}

// index has a memory found by its words, and what it is called.
func index(t *database.Tx, id int64) error {
	e, err := database.First[struct {
		memory.Entry
		SessionID int64
	}](t, `SELECT scope, category, key, text, taint, created_at, coalesce(session_id, 0) AS session_id FROM memories WHERE id = ?`, id)
	if err != nil || e == nil {
		return err
	}
	return Index(t, Indexed{Record: memory.OfMemory, Ref: id, Scope: e.Scope, Session: e.SessionID, Taint: e.Taint, SaidAt: e.CreatedAt, Text: indexedText(&e.Entry)})
}

func clean(e *memory.Entry) {
	e.Scope, e.Category, e.Key = memory.Scope(database.Clean(string(e.Scope))), database.Clean(e.Category), database.Clean(e.Key)
	e.Text, e.Person, e.Session = database.Clean(e.Text), database.Clean(e.Person), database.Clean(e.Session)
}
