package sessions

import (
	"encoding/json"
	"fmt"

	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	// FindPerson and PersonIdentities are one person, for PeopleBy.
	FindPerson = `SELECT name, role, tools, timezone, source, created_at, updated_at FROM people WHERE name = ?`
	// PersonIdentities are the identities of one person.
	PersonIdentities = `SELECT identity, person FROM identities WHERE person = ? ORDER BY identity`
)

// PeopleBy reads people, and identities of theirs, by two queries with the same arguments.
func PeopleBy(t *database.Tx, who, owned string, args ...any) ([]core.Person, error) {
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
	people := make([]core.Person, len(rows))
	for i, p := range rows {
		people[i] = core.Person{Name: p.Name, Role: p.Role, TimeZone: p.Timezone, Source: p.Source, Since: database.Instant(p.CreatedAt), Identities: of[p.Name]}
		if p.Source == core.FromOpen {
			people[i].Seen = database.Instant(p.UpdatedAt)
		}
		if err := json.Unmarshal([]byte(p.Tools), &people[i].Tools); err != nil {
			return nil, fmt.Errorf("tools of %s: %w", p.Name, err)
		}
	}
	return people, nil
}

const (
	// NotAway is the condition that the owner of a job is not away.
	NotAway = `NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = j.owner)`
)

// Person reads somebody who stays as they are to the end of the transaction; nil: there is
// nobody of that name.
func Person(t *database.Tx, name string) (*core.Person, error) {
	list, err := PeopleBy(t, t.Locked(FindPerson), PersonIdentities, name)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
