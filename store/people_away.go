package store

import (
	"context"
	"encoding/json"
	"fmt"

	"switchboard/agent"
	"switchboard/router/ledger"
)

const (
	lockAway       = `LOCK TABLE people_away IN SHARE ROW EXCLUSIVE MODE`
	listAway       = `SELECT name, role, tools, identities, created_at, away_at FROM people_away ORDER BY name`
	findAway       = `SELECT name, role, tools, identities, created_at, away_at FROM people_away WHERE name = ?`
	heldIdentities = `SELECT identity, linked FROM identities WHERE person = ? ORDER BY identity`
	insertAway     = `
		INSERT INTO people_away (name, role, tools, identities, created_at, away_at)
		SELECT name, role, tools, ?, created_at, ? FROM people WHERE name = ?`
	dropAway   = `DELETE FROM people_away WHERE name = ?`
	untoldAway = `SELECT name, role, tools, identities, created_at, away_at FROM people_away WHERE told = FALSE ORDER BY name`
	toldAway   = `UPDATE people_away SET told = TRUE WHERE name = ? AND away_at = ?`
	joinFree   = `
		INSERT INTO identities (identity, person, linked, created_at) VALUES (?, ?, TRUE, ?) ON CONFLICT (identity) DO NOTHING`
	// awayTurns wait for their person; the oldest of a session comes last, to be put ahead of the others.
	awayTurns = `
		SELECT id, session_id FROM turns WHERE parked_at IS NOT NULL AND state = 'waiting' AND outcome = '` + agent.OutcomePersonAway + `' AND person = ?
		ORDER BY session_id, id DESC`
	awaited = `SELECT t.cancel_requested, w.name FROM turns t JOIN people_away w ON w.name = t.person WHERE t.id = ?`
	// notAway is the condition that the owner of a job is not away.
	notAway = `NOT EXISTS (SELECT 1 FROM people_away w WHERE w.name = j.owner)`
)

type awayPerson struct {
	Name, Role, Tools, Identities string
	CreatedAt                     int64 `db:"created_at"`
	AwayAt                        int64 `db:"away_at"`
}

// A heldIdentity is one that somebody had who is away.
type heldIdentity struct {
	Identity string `json:"identity"`
	Linked   bool   `json:"linked,omitempty"` // its owner joined it: the settings do not speak of it
}

func (a *awayPerson) held() (list []heldIdentity, err error) {
	if err := json.Unmarshal([]byte(a.Identities), &list); err != nil {
		return nil, fmt.Errorf("identities of %s: %w", a.Name, err)
	}
	return list, nil
}

// awayBy reads people who are away.
func (t *tx) awayBy(query string, args ...any) ([]ledger.Person, error) {
	var rows []awayPerson
	if err := t.All(&rows, query, args...); err != nil {
		return nil, err
	}
	people := make([]ledger.Person, len(rows))
	for i, a := range rows {
		people[i] = ledger.Person{
			Name: a.Name, Role: a.Role, Identities: []string{}, Source: ledger.FromSettings, Since: instant(a.CreatedAt), Away: instant(a.AwayAt),
		}
		held, err := a.held()
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			people[i].Identities = append(people[i].Identities, h.Identity)
		}
		if err := json.Unmarshal([]byte(a.Tools), &people[i].Tools); err != nil {
			return nil, fmt.Errorf("tools of %s: %w", a.Name, err)
		}
	}
	return people, nil
}

// awayNamed is somebody who is away; nil: nobody of that name is.
func (t *tx) awayNamed(name string) (*ledger.Person, error) {
	list, err := t.awayBy(findAway, name)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// UntoldAway returns who is away and whom the admins were not told of, with since when.
func (r *Router) UntoldAway(ctx context.Context) (away []ledger.Person, err error) {
	err = r.db.read(ctx, "read who is away", func(t *tx) (err error) {
		away, err = t.awayBy(untoldAway)
		return err
	})
	return away, err
}

// ToldAway notes that the admins were told of them. Who is back, or away again, is left as they are.
func (r *Router) ToldAway(ctx context.Context, away []ledger.Person) error {
	return r.db.write(ctx, full, "note who is away", func(t *tx) error {
		for _, p := range away {
			if _, err := t.Exec(toldAway, p.Name, p.Away.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}

// leave moves a person to people_away. They may do nothing, their identities are free, and their rows stay.
func (t *tx) leave(p *ledger.Person) error {
	held := []heldIdentity{}
	if err := t.All(&held, heldIdentities, p.Name); err != nil {
		return err
	}
	if _, err := t.Exec(insertAway, jsonText(held), t.now, p.Name); err != nil {
		return err
	}
	if _, err := t.Exec(dropPerson, p.Name); err != nil {
		return err
	}
	return t.auditPerson("person.away", p.Name, map[string]any{"role": p.Role, "identities": p.Identities})
}

// comeBack ends that somebody is away; nil: nobody of that name was.
func (t *tx) comeBack(name string) (*awayPerson, error) {
	var rows []awayPerson
	if err := t.All(&rows, findAway, name); err != nil || len(rows) == 0 {
		return nil, err
	}
	_, err := t.Exec(dropAway, name)
	return &rows[0], err
}

// goOn lets the work of a person who is back go on.
func (t *tx) goOn(name string, former *awayPerson, p *ledger.Person) error {
	held, err := former.held()
	if err != nil {
		return err
	}
	for _, h := range held {
		if h.Linked {
			if _, err := t.Exec(joinFree, h.Identity, name, t.now); err != nil {
				return err
			}
		}
	}
	if p.Role != ledger.RoleAdmin {
		if _, err := t.Exec(endGranted, t.now, name); err != nil {
			return err
		}
	}
	if err := t.queueAway(name); err != nil {
		return err
	}
	return t.auditPerson("person.back", p.Name, map[string]any{"role": p.Role, "identities": p.Identities, "away": instant(former.AwayAt).UTC()})
}

// queueAway queues the turns that wait for somebody who was away, ahead of newer ones.
func (t *tx) queueAway(name string) error {
	var rows []struct {
		ID        int64
		SessionID int64 `db:"session_id"`
	}
	if err := t.All(&rows, awayTurns, name); err != nil {
		return err
	}
	for _, row := range rows {
		if _, _, err := t.lock(row.SessionID); err != nil {
			return err
		}
		n, err := t.Exec(queueAhead, t.now, t.now, row.ID, string(ledger.TurnWaiting))
		if err == nil && n > 0 {
			_, err = t.emit(row.SessionID, turnEvent(row.ID, string(ledger.TurnQueued), ""))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mayAwait refuses to park a turn whose person is back, or that was asked to stop. Its session is
// locked: who comes back finds the turn afterwards.
func (t *tx) mayAwait(turn int64) error {
	var stop, name string
	away, err := t.Row(t.kept(awaited, " OF w"), []any{turn}, &stop, &name)
	switch {
	case err != nil:
		return err
	case !away:
		return ledger.ErrNotAway
	case stop != "":
		return ledger.ErrStopped
	}
	return nil
}

// removeAway removes somebody who is away, with what is theirs; nil: nobody of that name is.
func (t *tx) removeAway(name string) (*ledger.Person, error) {
	p, err := t.awayNamed(name)
	if err != nil || p == nil {
		return nil, err
	}
	if err := t.removePerson(name, deleteKnown, endLinks, dropAway); err != nil {
		return nil, err
	}
	return p, t.queueAway(name) // to be refused
}

// notTaken refuses a name that somebody has who is away.
func (t *tx) notTaken(name string) error {
	away, err := t.awayNamed(name)
	if err == nil && away != nil {
		err = &ledger.StateError{Sentence: "there is already a " + name + ", who is away, as the settings file no longer names them: put them back there, or remove them first"}
	}
	return err
}
