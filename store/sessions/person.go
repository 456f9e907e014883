package sessions

import (
	"time"

	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	// FindPerson and PersonIdentities are one person, for PeopleBy.
	FindPerson = PersonColumns + `WHERE name = ?`
	// PersonColumns read people.
	PersonColumns = `SELECT name, role, tools, timezone AS time_zone, source, created_at AS since, updated_at AS seen FROM people `
	// PersonIdentities are the identities of one person.
	PersonIdentities = `SELECT identity, person FROM identities WHERE person = ? ORDER BY identity`
)

// PeopleBy reads people, and identities of theirs, by two queries with the same arguments.
func PeopleBy(t *database.Tx, who, owned string, args ...any) ([]core.Person, error) {
	people := []core.Person{} // and not null, where it is shown
	if err := t.All(&people, who, args...); err != nil {
		return nil, err
	}
	type identity struct{ Identity, Person string }
	ids, err := database.Select[identity](t, owned, args...)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, i := range ids {
		of[i.Person] = append(of[i.Person], i.Identity)
	}
	for i := range people {
		p := &people[i]
		if p.Identities = of[p.Name]; p.Source != core.FromOpen {
			p.Seen = time.Time{}
		}
	}
	return people, nil
}

// NotAway is the condition that the owner of a job is not away.
const NotAway = `NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = j.owner)`

// Person reads somebody who stays as they are to the end of the transaction; nil: there is
// nobody of that name.
func Person(t *database.Tx, name string) (*core.Person, error) {
	list, err := PeopleBy(t, t.Locked(FindPerson), PersonIdentities, name)
	if len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
