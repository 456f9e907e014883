package store

import (
	"context"
	"encoding/json"
	"fmt"

	"switchboard/router/ledger"
)

const (
	insertPerson = `
		INSERT INTO people (name, role, tools, timezone, source, created_at, updated_at) VALUES (?, 'user', '["*"]', '', 'open', ?, ?)
		ON CONFLICT (name) DO NOTHING RETURNING 1`
	ownsIdentity   = `SELECT 1 FROM identities WHERE identity = ? AND person = ?`
	insertIdentity = `
		INSERT INTO identities (identity, person, created_at) VALUES (?, ?, ?) ON CONFLICT (identity) DO NOTHING`
	listPeople       = `SELECT name, role, tools, timezone, source, created_at, updated_at FROM people ORDER BY name`
	listIdentities   = `SELECT identity, person FROM identities ORDER BY person, identity`
	findPerson       = `SELECT name, role, tools, timezone, source, created_at, updated_at FROM people WHERE name = ?`
	personIdentities = `SELECT identity, person FROM identities WHERE person = ? ORDER BY identity`
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

// newPerson makes an unknown sender a person where the policy is open, and notes that one
// who is known was seen. ErrRefused: somebody else has that name, whose rights are not
// theirs.
func (t *tx) newPerson(person, identity string) error {
	var one int
	fresh, err := t.Row(insertPerson, []any{clean(person), t.now, t.now}, &one)
	if err != nil {
		return err
	}
	if !fresh { // another engine may have been first
		if owns, err := t.Row(ownsIdentity, []any{clean(identity), clean(person)}, &one); err != nil {
			return err
		} else if !owns {
			return fmt.Errorf("make %s a person: somebody else has that name: %w", identity, ledger.ErrRefused)
		}
		_, err := t.Exec(setSeen, t.now, clean(person))
		return err
	}
	if err := t.startAnew(clean(person)); err != nil {
		return err
	}
	if _, err := t.Exec(insertIdentity, clean(identity), clean(person), t.now); err != nil {
		return err
	}
	return t.audit(ledger.Hand{Person: clean(person), Rule: ledger.RuleOpen}, audited{
		action: "person.open", target: "person " + person, outcome: "done", data: map[string]any{"identity": clean(identity)},
	})
}

// People lists everybody who is not away, in the order of their names.
func (r *Router) People(ctx context.Context) (people []ledger.Person, err error) {
	err = r.db.read(ctx, "list people", func(t *tx) error {
		people, err = t.people()
		return err
	})
	return people, err
}

// Person implements router.Directory.
func (r *Router) Person(ctx context.Context, name string) (p ledger.Person, err error) {
	err = r.db.read(ctx, "find a person", func(t *tx) error {
		list, err := t.peopleBy(findPerson, personIdentities, clean(name))
		if err == nil && len(list) == 0 {
			err = ledger.ErrNotFound
		} else if err == nil {
			p = list[0]
		}
		return err
	})
	return p, err
}

// Everyone implements router.Directory.
func (r *Router) Everyone(ctx context.Context) (people, away []ledger.Person, err error) {
	err = r.db.read(ctx, "list people", func(t *tx) error {
		people, away, err = t.everyone()
		return err
	})
	return people, away, err
}

func (t *tx) everyone() (people, away []ledger.Person, err error) {
	if people, err = t.people(); err == nil {
		away, err = t.awayBy(listAway)
	}
	return people, away, err
}

func (t *tx) people() ([]ledger.Person, error) { return t.peopleBy(listPeople, listIdentities) }

// peopleBy reads people, and identities of theirs, by two queries with the same arguments.
func (t *tx) peopleBy(who, owned string, args ...any) ([]ledger.Person, error) {
	var rows []struct {
		Name, Role, Tools, Timezone, Source string
		CreatedAt                           int64 `db:"created_at"`
		UpdatedAt                           int64 `db:"updated_at"`
	}
	if err := t.All(&rows, who, args...); err != nil {
		return nil, err
	}
	var ids []struct{ Identity, Person string }
	if err := t.All(&ids, owned, args...); err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, i := range ids {
		of[i.Person] = append(of[i.Person], i.Identity)
	}
	people := make([]ledger.Person, len(rows))
	for i, p := range rows {
		people[i] = ledger.Person{Name: p.Name, Role: p.Role, TimeZone: p.Timezone, Source: p.Source, Since: instant(p.CreatedAt), Identities: of[p.Name]}
		if p.Source == ledger.FromOpen {
			people[i].Seen = instant(p.UpdatedAt)
		}
		if err := json.Unmarshal([]byte(p.Tools), &people[i].Tools); err != nil {
			return nil, fmt.Errorf("tools of %s: %w", p.Name, err)
		}
	}
	return people, nil
}
