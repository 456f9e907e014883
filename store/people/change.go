package people

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/store/approvals"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	activeJobs = `SELECT id FROM jobs WHERE owner = ? AND owner <> '' AND state = 'active' ORDER BY id`

	ownerOf = `
		SELECT p.name, p.source FROM identities i JOIN people p ON p.name = i.person WHERE i.identity = ?`
	// ownerInTeam is ownerOf where one of the two forms names the team as well: "kind:TEAM/ID".
	ownerInTeam = `
		SELECT p.name, i.identity FROM identities i JOIN people p ON p.name = i.person
		WHERE p.name <> ? AND p.source <> 'open' AND (i.identity = ? OR i.identity LIKE ? ESCAPE '!') ORDER BY i.identity LIMIT 1`
	setTools = `UPDATE people SET tools = ?, source = 'local', updated_at = ? WHERE name = ?`
	// Of two admins who take the role from each other at once one waits.
	lockAdmins  = `SELECT name FROM people WHERE role = 'admin' ORDER BY name`
	otherAdmins = `
		SELECT count(*) FROM identities i JOIN people p ON p.name = i.person WHERE p.role = 'admin' AND p.name <> ? AND i.identity <> ?`
	belongings = `
		SELECT (SELECT count(*) FROM jobs WHERE owner = ? AND state NOT IN ('done', 'removed')) AS jobs,
			(SELECT count(*) FROM memories WHERE person = ? AND state IN ('pending', 'active', 'archived')) AS memories, (SELECT count(*) FROM notifications WHERE person = ?) AS notifications,
			(SELECT count(*) FROM approvals WHERE ? IN (person, decided_by) AND scope IN ('session', 'always') AND revoked_at IS NULL) AS grants,
			(SELECT count(*) FROM attachments a JOIN messages m ON m.id = a.message_id WHERE m.person = ? AND m.direction = 'in') AS files`
	endLinks = `UPDATE actions SET state = 'cancelled', outcome = 'removed' WHERE kind = 'link' AND person = ? AND state = 'proposed'`
)

// Belongings counts what is somebody's.
func (r *Store) Belongings(ctx context.Context, name string) (has people.Belongings, err error) {
	_, err = r.ReadRow(ctx, "count what is somebody's", belongings, []any{name, name, name, name, name},
		&has.Jobs, &has.Memories, &has.Notifications, &has.Grants, &has.Files)
	return has, err
}

// Change returns somebody as they are after a change, or were before they were removed;
// demoted: they were an admin, and are none any more.
func Change(t *database.Tx, c *people.Change) (now *core.Person, demoted bool, err error) {
	name := database.Clean(c.Person.Name)
	takes := c.Local != "" && (c.Kind == people.ChangeRemove || c.Kind == people.ChangeRole && c.Person.Role != core.RoleAdmin)
	if takes {
		if _, err := t.Names(t.Locked(lockAdmins)); err != nil {
			return nil, false, err
		}
	}
	person, err := sessions.Person(t, name)
	if err == nil && c.Kind == people.ChangeRemove {
		c.Paused, err = t.IDs(activeJobs, name)
	}
	switch {
	case err != nil:
		return nil, false, err
	case person != nil && person.Source == core.FromSettings && c.Kind != people.ChangeUnlink && !c.Left(person):
		return nil, false, decided(name, c.File)
	case person != nil && c.Since != 0 && c.Since != database.Micros(person.Since):
		return nil, false, &core.StateError{Sentence: name + " is somebody else now than when I asked: please try again"}
	case person == nil && c.Kind == people.ChangeRemove:
		if person, err = removeAway(t, name); err == nil && person == nil {
			err = core.ErrNotFound
		}
		return person, false, err
	case person == nil && c.Kind != people.ChangeAdd:
		return nil, false, cmp.Or(notTaken(t, name), error(core.ErrNotFound))
	case person != nil && c.Kind == people.ChangeAdd:
		return nil, false, &core.StateError{Sentence: name + " is there already: role, link and tools change them"}
	}
	if takes && person.Role == core.RoleAdmin {
		if err := keepAdmin(t, name, c.Local); err != nil {
			return nil, false, err
		}
	}
	switch c.Kind {
	case people.ChangeAdd:
		if err := notTaken(t, name); err != nil {
			return nil, false, err
		}
		if fault := words.NameFault(name); fault != "" {
			return nil, false, &core.StateError{Sentence: "the name " + fault}
		}
		if other, err := alike(t, name); err != nil {
			return nil, false, err
		} else if other != "" {
			return nil, false, &core.StateError{Sentence: name + " looks like " + other + ", who is somebody else: give another name"}
		}
		tools := database.JSONText(append([]string{}, c.Person.Tools...))
		if err := t.Do(upsertPerson, name, c.Person.Role, tools, c.Person.TimeZone, core.FromLocal, t.Now, t.Now); err != nil {
			return nil, false, err
		}
		if err = forgetNamesakes(t, name); err == nil {
			err = link(t, name, c)
		}
	case people.ChangeLink:
		err = link(t, name, c)
	case people.ChangeUnlink:
		err = unlink(t, person, c)
	case people.ChangeRole:
		if err = t.Do(setRole, c.Person.Role, t.Now, name); err == nil && c.Person.Role != core.RoleAdmin {
			err = t.Do(approvals.EndGranted, t.Now, name)
		}
		demoted = person.Role == core.RoleAdmin && c.Person.Role != core.RoleAdmin
	case people.ChangeTools:
		err = t.Do(setTools, database.JSONText(append([]string{}, c.Person.Tools...)), t.Now, name)
	case people.ChangeRemove: // with what is remembered of them: the name may be given to somebody else
		return person, false, RemovePerson(t, name, endLinks)
	default:
		return nil, false, fmt.Errorf("change a person: %q is no such change", c.Kind)
	}
	if err != nil {
		return nil, false, err
	}
	now, err = sessions.Person(t, name)
	return now, demoted, err
}

// keepAdmin refuses to take away the last admin who can give orders in a chat.
func keepAdmin(t *database.Tx, name, local string) error {
	var others int
	if _, err := t.Row(otherAdmins, []any{name, local}, &others); err != nil || others > 0 {
		return err
	}
	return &core.StateError{Sentence: name + " is the only admin who can write to me on a platform: make somebody else an admin first"}
}

// decided says that the settings name somebody, and where.
func decided(who, file string) error {
	return &core.StateError{Sentence: fmt.Sprintf("%s is named in [[people]] of %s, which decides: change it there", who, file)}
}

// link gives identities to a person: free ones, and those of who was let in by an open
// policy, who is nobody else.
func link(t *database.Tx, name string, c *people.Change) error {
	for _, id := range c.Person.Identities {
		var owner, source string
		owned, err := t.Row(ownerOf, []any{id}, &owner, &source)
		switch {
		case err != nil:
			return err
		case owned && owner == name:
			continue
		case owned && source == core.FromSettings:
			return decided(id+" is "+owner+", who", c.File)
		case owned && source != core.FromOpen:
			return &core.StateError{Sentence: fmt.Sprintf("%s is %s already", id, owner)}
		}
		if err := freeInTeam(t, name, id); err != nil {
			return err
		}
		if err := t.Do(moveIdentity, id, name, t.Now); err != nil {
			return err
		}
	}
	return t.Do(dropNameless)
}

// freeInTeam makes sure that an account is nobody else by its other form: with its team, or
// without.
func freeInTeam(t *database.Tx, name, id string) error {
	plain, hasTeam := core.WithoutTeam(id)
	pattern := ""
	if kind, rest, ok := strings.Cut(id, ":"); ok && !hasTeam {
		pattern = database.LikeText(kind) + ":%/" + database.LikeText(rest)
	}
	var owner, known string
	owned, err := t.Row(ownerInTeam, []any{name, plain, pattern}, &owner, &known)
	if err == nil && owned {
		err = &core.StateError{Sentence: fmt.Sprintf("%s is %s already, as %s", id, owner, known)}
	}
	return err
}
