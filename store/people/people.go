// Package people has the rows of who is known, and of how somebody becomes so: codes, pairing, links, settings.
package people

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	agentmemory "switchboard/agent/memory"
	"switchboard/internal/words"
	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/browsers"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/memory"
	"switchboard/store/sessions"
	"switchboard/store/tokens"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

// Before stands behind the name of whose a session was before somebody else was called so.
const Before = "\u200b (before)"

const (
	deleteTold = `DELETE FROM notifications WHERE person = ?`

	insertNamed = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at)
		SELECT v.* FROM (VALUES (CAST(? AS text), CAST(? AS text), '["*"]', '', 'local', CAST(? AS bigint), CAST(? AS bigint))) AS v
		WHERE NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = ?)
		ON CONFLICT (name) DO NOTHING RETURNING 1`

	// Who was let in by an open policy and gets a role is somebody by name from then on.
	setRole = `UPDATE people SET role = ?, source = 'local', updated_at = ? WHERE name = ?`
	// Jobs of somebody who was removed stay for a while, for the admins to see; whoever is given the name later has none of them.
	orphanJobs = `
		UPDATE jobs SET state = CASE state WHEN 'active' THEN 'paused' ELSE state END, reason = 'person: its owner was removed',
			version = version + 1, updated_at = ?
		WHERE owner = ? AND owner <> '' AND state IN ('active', 'paused', 'disabled')`
	allNames   = `SELECT name FROM people UNION SELECT name FROM people_away ORDER BY name`
	forgetJobs = `DELETE FROM jobs WHERE owner = ?`
	// leaveSessions has sessions be those of a name that nobody can have: they stay taken, and whoever writes in a chat has it again.
	leaveSessions = "UPDATE sessions SET person = person || '" + Before + "', summary = '', summary_taint = '' WHERE person = ? AND person <> ''"

	// namesakes are those of the names, which %s lists, by which anything is left: a thousand people who are new
	// have nothing, and are asked about at once.
	namesakes = `
		SELECT v.name FROM (%s) v WHERE v.name <> '' AND (EXISTS (SELECT 1 FROM sessions s WHERE s.person = v.name AND s.person <> '')
			OR EXISTS (SELECT 1 FROM jobs j WHERE j.owner = v.name) OR EXISTS (SELECT 1 FROM notifications n WHERE n.person = v.name)
			OR EXISTS (SELECT 1 FROM browsers b WHERE b.person = v.name) OR EXISTS (SELECT 1 FROM signins l WHERE l.person = v.name)
			OR EXISTS (SELECT 1 FROM memories m WHERE m.person = v.name AND m.person <> '') OR EXISTS (SELECT 1 FROM memories m WHERE m.scope = ? || v.name)
			OR EXISTS (SELECT 1 FROM recalled r WHERE r.scope = ? || v.name) OR EXISTS (SELECT 1 FROM memory_settings m WHERE m.person = v.name)
			OR EXISTS (SELECT 1 FROM leases l WHERE l.kind = '` + engines.Memory + `' AND l.name = v.name))`

	insertPerson = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES (?, 'user', '["*"]', '', 'open', ?, ?)
		ON CONFLICT (name) DO NOTHING RETURNING 1`
	ownsIdentity   = `SELECT 1 FROM identities WHERE identity = ? AND person = ?`
	insertIdentity = `
		INSERT INTO identities (identity, person, created_at) VALUES (?, ?, ?) ON CONFLICT (identity) DO NOTHING`
	listPeople     = sessions.PersonColumns + `ORDER BY name`
	listIdentities = `SELECT identity, person FROM identities ORDER BY person, identity`
	// unlinked are the identities that somebody was given at run time, but those that they
	// joined to themselves.
	unlinked = `
		SELECT i.identity, i.person FROM identities i JOIN people p ON p.name = i.person
		WHERE p.source = 'local' AND i.linked = FALSE ORDER BY i.person, i.identity`
	setSeen      = `UPDATE people SET updated_at = ? WHERE name = ? AND source = 'open'`
	upsertPerson = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET role = excluded.role, tools = excluded.tools, timezone = coalesce(nullif(excluded.timezone, ''), people.timezone),
			source = excluded.source, updated_at = excluded.updated_at`
	moveIdentity = `
		INSERT INTO identities (identity, person, created_at) VALUES (?, ?, ?)
		ON CONFLICT (identity) DO UPDATE SET person = excluded.person, linked = FALSE`
	dropIdentity = `DELETE FROM identities WHERE identity = ? AND linked = FALSE`
	dropPerson   = `DELETE FROM people WHERE name = ?`
	// Nobody else needs a person from elsewhere whose last identity was taken.
	dropNameless = `
		DELETE FROM people WHERE source = 'open' AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.person = people.name)`
)

// NewPerson makes an unknown sender a person where the policy is open, and notes that one
// who is known was seen. ErrRefused: somebody else has that name, whose rights are not
// theirs.
func NewPerson(t *database.Tx, person, identity string) error {
	fresh, err := t.Has(insertPerson, person, t.Now, t.Now)
	if err != nil {
		return err
	}
	if !fresh { // another engine may have been first
		if owns, err := t.Has(ownsIdentity, identity, person); err != nil {
			return err
		} else if !owns {
			return fmt.Errorf("make %s a person: somebody else has that name: %w", identity, core.ErrRefused)
		}
		return t.Do(setSeen, t.Now, person)
	}
	if err := forgetNamesakes(t, database.Clean(person)); err != nil {
		return err
	}
	if err := t.Do(insertIdentity, identity, person, t.Now); err != nil {
		return err
	}
	return audit.Write(t, core.Actor{Person: database.Clean(person), Rule: routeraudit.RuleOpen}, audit.Entry{
		Action: "person.open", Target: "person " + person, Outcome: "done", Data: map[string]any{"identity": database.Clean(identity)},
	})
}

// People lists everybody who is not away, in the order of their names.
func (r *Store) People(ctx context.Context) ([]core.Person, error) {
	return database.Read(ctx, r.DB, "list people", func(t *database.Tx) ([]core.Person, error) { return everybody(t) })
}

// Person finds one of them by name.
func (r *Store) Person(ctx context.Context, name string) (p core.Person, err error) {
	err = r.Read(ctx, "find a person", func(t *database.Tx) error {
		list, err := sessions.PeopleBy(t, sessions.FindPerson, sessions.PersonIdentities, database.Clean(name))
		if err == nil && len(list) == 0 {
			err = core.ErrNotFound
		} else if err == nil {
			p = list[0]
		}
		return err
	})
	return p, err
}

func everybody(t *database.Tx) ([]core.Person, error) {
	return sessions.PeopleBy(t, listPeople, listIdentities)
}

// auditPerson writes what the settings did with somebody.
func auditPerson(t *database.Tx, action, name string, data map[string]any) error {
	return audit.Write(t, core.Actor{Rule: routeraudit.RuleSettings}, audit.Entry{Action: action, Target: "person " + name, Outcome: "done", Data: data})
}

// RemovePerson removes somebody with what is theirs, and stops their jobs.
func RemovePerson(t *database.Tx, name string, also ...string) error {
	if err := t.Do(orphanJobs, t.Now, name); err != nil {
		return err
	}
	if err := memory.Drop(t, name); err != nil {
		return err
	}
	_, err := t.Each(append(also, deleteTold, approvals.ForgetGrants, dropPerson), []any{name})
	return err
}

// forgetNamesakes has people who are new have nothing of whoever was called so before.
func forgetNamesakes(t *database.Tx, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := tokens.Forget(t, names...); err != nil {
		return err
	}
	each := t.Either("SELECT value AS name FROM json_each(?)", "SELECT json_array_elements_text(CAST(? AS json)) AS name")
	scope := agentmemory.OfPerson("")
	left, err := t.Names(fmt.Sprintf(namesakes, each), database.JSONText(names), scope, scope)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := memory.Drop(t, name); err != nil {
			return err
		}
		if err := browsers.Forget(t, name); err != nil {
			return err
		}
		if _, err := t.Each([]string{deleteTold, forgetJobs, leaveSessions}, []any{name}); err != nil {
			return err
		}
	}
	return nil
}

// alike is whose name looks like another one; empty: nobody's.
func alike(t *database.Tx, name string) (other string, err error) {
	names, err := t.Names(allNames)
	if i := slices.IndexFunc(names, func(known string) bool { return words.Alike(name, known) }); i >= 0 {
		return names[i], nil
	}
	return "", err
}

// letIn gives somebody a role, whom it makes a person where they are a stranger.
func letIn(t *database.Tx, person *core.Person, role, identity, called string) (name string, err error) {
	if person != nil {
		err = t.Do(setRole, role, t.Now, person.Name)
		return person.Name, err
	}
	made := false
	for i := 1; called != "" && !made && i < 10; i++ {
		if name = database.Clean(called); i > 1 { // somebody else is called so, or alike
			name += strconv.Itoa(i)
		}
		if other, err := alike(t, name); err != nil {
			return "", err
		} else if other != "" || words.NameFault(name) != "" {
			continue
		}
		if made, err = t.Has(insertNamed, name, role, t.Now, t.Now, name); err != nil {
			return "", err
		}
	}
	if !made { // nobody else is called by an identity
		name = database.Clean(identity)
		if err = t.Do(upsertPerson, name, role, `["*"]`, "", core.FromLocal, t.Now, t.Now); err != nil {
			return "", err
		}
	}
	if err = forgetNamesakes(t, name); err == nil {
		err = t.Do(moveIdentity, identity, name, t.Now)
	}
	return name, err
}
