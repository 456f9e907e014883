package people

import (
	"context"
	"time"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	lockAway       = `LOCK TABLE people_away IN SHARE ROW EXCLUSIVE MODE`
	awayColumns    = `SELECT name, role, tools, identities, created_at, away_at FROM people_away `
	listAway       = awayColumns + `ORDER BY name`
	findAway       = awayColumns + `WHERE name = ?`
	heldIdentities = `SELECT identity, linked FROM identities WHERE person = ? ORDER BY identity`
	insertAway     = `
		INSERT INTO people_away (name, role, tools, identities, created_at, away_at)
		SELECT name, role, tools, ?, created_at, ? FROM people WHERE name = ?`
	dropAway   = `DELETE FROM people_away WHERE name = ?`
	untoldAway = awayColumns + `WHERE told = FALSE ORDER BY name`
	toldAway   = `UPDATE people_away SET told = TRUE WHERE name = ? AND away_at = ?`
	joinFree   = `
		INSERT INTO identities (identity, person, linked, created_at) VALUES (?, ?, TRUE, ?) ON CONFLICT (identity) DO NOTHING`
	// awayTurns wait for their person; the oldest of a session comes last, to be put ahead of the others.
	awayTurns = `
		SELECT id, session_id FROM turns WHERE parked_at IS NOT NULL AND state = 'waiting' AND outcome = '` + agent.OutcomePersonAway + `' AND person = ?
		ORDER BY session_id, id DESC`
)

type awayPerson struct {
	Name, Role        string
	Tools             []string
	Identities        []heldIdentity
	CreatedAt, AwayAt time.Time
}

// A heldIdentity is one that somebody had who is away.
type heldIdentity struct {
	Identity string `json:"identity"`
	Linked   bool   `json:"linked,omitempty"` // its owner joined it: the settings do not speak of it
}

// awayBy reads people who are away.
func awayBy(t *database.Tx, query string, args ...any) ([]core.Person, error) {
	return database.Views(t, func(a *awayPerson) core.Person {
		p := core.Person{Name: a.Name, Role: a.Role, Tools: a.Tools, Identities: []string{}, Source: core.FromSettings, Since: a.CreatedAt, Away: a.AwayAt}
		for _, h := range a.Identities {
			p.Identities = append(p.Identities, h.Identity)
		}
		return p
	}, query, args...)
}

// AwayNamed is somebody who is away; nil: nobody of that name is.
func AwayNamed(t *database.Tx, name string) (*core.Person, error) {
	list, err := awayBy(t, findAway, name)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// UntoldAway returns who is away and whom the admins were not told of, with since when.
func (r *Store) UntoldAway(ctx context.Context) ([]core.Person, error) {
	return database.Read(ctx, r.DB, "read who is away", func(t *database.Tx) ([]core.Person, error) { return awayBy(t, untoldAway) })
}

// ToldAway notes that the admins were told of them. Who is back, or away again, is left as they are.
func (r *Store) ToldAway(ctx context.Context, away []core.Person) error {
	return r.Write(ctx, database.Durable, "note who is away", func(t *database.Tx) error {
		for _, p := range away {
			if err := t.Do(toldAway, p.Name, p.Away.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// leave moves a person to people_away. They may do nothing, their identities are free, and their rows stay.
func leave(t *database.Tx, p *core.Person) error {
	held := []heldIdentity{}
	if err := t.All(&held, heldIdentities, p.Name); err != nil {
		return err
	}
	if err := t.Run(database.Do(insertAway, database.JSONText(held), t.Now, p.Name), database.Do(dropPerson, p.Name)); err != nil {
		return err
	}
	return auditPerson(t, "person.away", p.Name, map[string]any{"role": p.Role, "identities": p.Identities})
}

// comeBack ends that somebody is away; nil: nobody of that name was.
func comeBack(t *database.Tx, name string) (*awayPerson, error) {
	former, err := database.First[awayPerson](t, findAway, name)
	if err == nil && former != nil {
		err = t.Do(dropAway, name)
	}
	return former, err
}

// goOn lets the work of a person who is back go on.
func goOn(t *database.Tx, name string, former *awayPerson, p *core.Person) error {
	for _, h := range former.Identities {
		if h.Linked {
			if err := t.Do(joinFree, h.Identity, name, t.Now); err != nil {
				return err
			}
		}
	}
	if p.Role != core.RoleAdmin {
		if err := t.Do(approvals.EndGranted, t.Now, name); err != nil {
			return err
		}
	}
	if err := queueAway(t, name); err != nil {
		return err
	}
	return auditPerson(t, "person.back", p.Name, map[string]any{"role": p.Role, "identities": p.Identities, "away": former.AwayAt})
}

// queueAway queues the turns that wait for somebody who was away, ahead of newer ones.
func queueAway(t *database.Tx, name string) error {
	type turn struct{ ID, SessionID int64 }
	rows, err := database.Select[turn](t, awayTurns, name)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, _, err := sessions.Lock(t, row.SessionID); err != nil {
			return err
		}
		n, err := t.Exec(sessions.QueueAhead, t.Now, t.Now, row.ID, turns.TurnWaiting)
		if err == nil && n > 0 {
			_, err = sessions.Emit(t, row.SessionID, sessions.TurnEvent(row.ID, string(turns.TurnQueued), ""))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeAway removes somebody who is away, with what is theirs; nil: nobody of that name is.
func removeAway(t *database.Tx, name string) (*core.Person, error) {
	p, err := AwayNamed(t, name)
	if err != nil || p == nil {
		return nil, err
	}
	if err := RemovePerson(t, name, endLinks, dropAway); err != nil {
		return nil, err
	}
	return p, queueAway(t, name) // to be refused
}

// notTaken refuses a name that somebody has who is away.
func notTaken(t *database.Tx, name string) error {
	away, err := AwayNamed(t, name)
	if err == nil && away != nil {
		err = &core.StateError{Sentence: "there is already a " + name + ", who is away, as the settings file no longer names them: put them back there, or remove them first"}
	}
	return err
}

// Everyone lists everybody with their identities, and apart who is away.
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
