package people

import (
	"context"
	"fmt"

	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	insertPerson = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES (?, 'user', '["*"]', '', 'open', ?, ?)
		ON CONFLICT (name) DO NOTHING RETURNING 1`
	ownsIdentity   = `SELECT 1 FROM identities WHERE identity = ? AND person = ?`
	insertIdentity = `
		INSERT INTO identities (identity, person, created_at) VALUES (?, ?, ?) ON CONFLICT (identity) DO NOTHING`
	listPeople     = `SELECT name, role, tools, timezone, source, created_at, updated_at FROM people ORDER BY name`
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
	var one int
	fresh, err := t.Row(insertPerson, []any{database.Clean(person), t.Now, t.Now}, &one)
	if err != nil {
		return err
	}
	if !fresh { // another engine may have been first
		if owns, err := t.Row(ownsIdentity, []any{database.Clean(identity), database.Clean(person)}, &one); err != nil {
			return err
		} else if !owns {
			return fmt.Errorf("make %s a person: somebody else has that name: %w", identity, core.ErrRefused)
		}
		_, err := t.Exec(setSeen, t.Now, database.Clean(person))
		return err
	}
	if err := startAnew(t, database.Clean(person)); err != nil {
		return err
	}
	if _, err := t.Exec(insertIdentity, database.Clean(identity), database.Clean(person), t.Now); err != nil {
		return err
	}
	return audit.Write(t, core.Actor{Person: database.Clean(person), Rule: routeraudit.RuleOpen}, audit.Entry{
		Action: "person.open", Target: "person " + person, Outcome: "done", Data: map[string]any{"identity": database.Clean(identity)},
	})
}

// People lists everybody who is not away, in the order of their names.
func (r *Store) People(ctx context.Context) (list []core.Person, err error) {
	err = r.Read(ctx, "list people", func(t *database.Tx) error {
		list, err = everybody(t)
		return err
	})
	return list, err
}

// Person implements router.Directory.
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

// Everyone implements router.Directory.
func (r *Store) Everyone(ctx context.Context) (people, away []core.Person, err error) {
	err = r.Read(ctx, "list people", func(t *database.Tx) error {
		people, away, err = everyone(t)
		return err
	})
	return people, away, err
}

func everyone(t *database.Tx) (people, away []core.Person, err error) {
	if people, err = everybody(t); err == nil {
		away, err = awayBy(t, listAway)
	}
	return people, away, err
}

func everybody(t *database.Tx) ([]core.Person, error) {
	return sessions.PeopleBy(t, listPeople, listIdentities)
}
