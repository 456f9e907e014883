package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/store/approvals"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Changes are what became of people when the settings were read.
type Changes struct {
	people.Set
	Left    []string
	Demoted []string            // who are no admins any more
	Ended   map[string][]string // identities, by person
}

// Set makes people be as settings name them, and notes in set what became of whom.
func Set(t *database.Tx, people []core.Person, set *Changes) error {
	if err := t.Shut(lockAway); err != nil { // of engines that read other settings at once
		return err
	}
	// Locked: somebody who is being removed, or given a role, is read as they are after it.
	was, err := sessions.PeopleBy(t, t.Locked(listPeople), listIdentities)
	if err != nil {
		return err
	}
	away, err := awayBy(t, listAway)
	if err != nil {
		return err
	}
	if err := judgePeople(was, away, people); err != nil {
		return err
	}
	var joined []joining
	for i := range was {
		to, stays := find(people, was[i].Name)
		if as := becomes(&was[i], stays, away, people); as != "" {
			joined = append(joined, joining{&was[i], as})
			continue
		}
		if err := forget(t, &was[i], to, stays, set); err != nil {
			return err
		}
	}
	for i := range away {
		_, back := find(people, away[i].Name)
		if as := becomes(&away[i], back, away, people); as != "" {
			joined = append(joined, joining{&away[i], as})
		}
	}
	var fresh []string
	known := map[string]*core.Person{} // or away
	for _, list := range [][]core.Person{away, was} {
		for i := range list {
			known[list[i].Name] = &list[i]
		}
	}
	for i := range people {
		if name := database.Clean(people[i].Name); known[name] == nil {
			fresh = append(fresh, name)
		}
	}
	if err := forgetNamesakes(t, fresh...); err != nil {
		return err
	}
	for i := range people {
		if err := setPerson(t, &people[i], known, set); err != nil {
			return err
		}
	}
	for _, j := range joined {
		if err := joinBySettings(t, j); err != nil {
			return err
		}
	}
	return t.Do(dropNameless)
}

// A joining is somebody whom the settings name as another, of that name.
type joining struct {
	p  *core.Person
	as string
}

func joinBySettings(t *database.Tx, j joining) error {
	if err := t.Do(dropAway, j.p.Name); err != nil {
		return err
	}
	if err := JoinRows(t, database.Clean(j.as), j.p.Name); err != nil {
		return err
	}
	if err := queueAway(t, database.Clean(j.as)); err != nil { // theirs now, where it waited
		return err
	}
	return auditPerson(t, "person.join", j.as, map[string]any{"was": "person " + j.p.Name, "identities": j.p.Identities})
}

func find(people []core.Person, name string) (p core.Person, found bool) {
	if i := slices.IndexFunc(people, func(p core.Person) bool { return p.Name == name }); i >= 0 {
		return people[i], true
	}
	return p, false
}

// becomes is the name of the person as whom the settings name somebody with all their identities; empty:
// nobody. Of those of the settings that is who came while that person was away, as when a name was misspelt
// for a while; else two stay two.
func becomes(p *core.Person, stays bool, away, people []core.Person) string {
	if stays || p.Source == core.FromLocal || len(p.Identities) == 0 {
		return ""
	}
	i := slices.IndexFunc(people, func(to core.Person) bool {
		return !slices.ContainsFunc(p.Identities, func(id string) bool { return !slices.Contains(to.Identities, id) })
	})
	if i < 0 {
		return ""
	}
	former, was := find(away, people[i].Name)
	if p.Source == core.FromSettings && (!was || p.Since.Before(former.Away)) {
		return ""
	}
	return people[i].Name
}

// CheckPeople says what is wrong with the people whom settings name, *people.FaultsError: they name
// nobody, where somebody was named before, or somebody by the name of another person.
func (r *Store) CheckPeople(ctx context.Context, people []core.Person) error {
	was, away, err := r.Everyone(ctx)
	if err != nil {
		return err
	}
	return judgePeople(was, away, people)
}

func judgePeople(was, away, persons []core.Person) error {
	var faults, before []string
	for i := range was {
		if was[i].Source == core.FromSettings {
			before = append(before, was[i].Name)
		}
	}
	named, known := false, slices.Concat(was, away)
	for i := range persons {
		p := &persons[i]
		named = named || cmp.Or(p.Source, core.FromSettings) == core.FromSettings
		former, there := find(known, p.Name)
		if there && !former.Same(p) {
			faults = append(faults, fmt.Sprintf("%s (%s) has none of the identities that %s had before (%s). If it is the same person, list one of those as well; "+
				"if not, choose another name, or first run \"switchboard person remove %s\"",
				p.Name, strings.Join(p.Identities, ", "), p.Name, strings.Join(former.Identities, ", "), p.Name))
		}
		if there {
			continue
		}
		if like := slices.IndexFunc(known, func(k core.Person) bool { return words.Alike(k.Name, p.Name) }); like >= 0 {
			faults = append(faults, fmt.Sprintf("%s looks like %s, who is known. If it is the same person, write the name like that; if not, choose another one",
				p.Name, known[like].Name))
		}
	}
	if !named && len(before) > 0 {
		faults = append(faults, fmt.Sprintf("[[people]] is empty, but named %s before: put them back, or remove each with \"switchboard person remove NAME\"",
			strings.Join(before, ", ")))
	}
	if len(faults) > 0 {
		return &people.FaultsError{Faults: faults}
	}
	return nil
}

// LeftOut lists the identities that SetPeople would take from those whom people name, and
// who were named at run time.
func (r *Store) LeftOut(ctx context.Context, people []core.Person) (out []string, err error) {
	type row struct{ Identity, Person string }
	rows, err := database.List[row](ctx, r.DB, "look whom the settings take over", unlinked)
	for _, row := range rows {
		if to, stays := find(people, row.Person); stays && !slices.Contains(to.Identities, row.Identity) {
			out = append(out, row.Person+" "+row.Identity)
		}
	}
	return out, err
}

// forget has a person of the settings be away who is in them no more, or drops the identities that
// are in them no more; what was joined to somebody by a link code stays theirs.
func forget(t *database.Tx, p *core.Person, to core.Person, stays bool, set *Changes) error {
	if !stays && p.Source == core.FromSettings {
		set.Left = append(set.Left, p.Name)
		return leave(t, p)
	}
	if stays && to.Role != core.RoleAdmin {
		if err := t.Do(approvals.EndGranted, t.Now, p.Name); err != nil {
			return err
		}
	}
	if to.Source == core.FromLocal && p.Source != core.FromSettings { // what was linked at run time stays theirs
		return nil
	}
	var gone []string
	for _, id := range p.Identities {
		if !stays || slices.Contains(to.Identities, id) {
			continue
		}
		n, err := t.Exec(dropIdentity, id)
		if err != nil {
			return err
		}
		if n > 0 {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 || p.Source != core.FromLocal {
		return nil
	}
	set.Ended[p.Name] = gone
	return auditPerson(t, "person.unlink", p.Name, map[string]any{"identities": gone})
}

func setPerson(t *database.Tx, p *core.Person, all map[string]*core.Person, set *Changes) error {
	name := database.Clean(p.Name)
	known := all[name]
	var former *awayPerson
	if known != nil && !known.Away.IsZero() {
		var err error
		if former, err = comeBack(t, name); err != nil {
			return err
		}
	}
	since := t.Now
	if former != nil {
		since = database.Micros(former.CreatedAt)
	}
	tools, source := append([]string{}, p.Tools...), cmp.Or(p.Source, core.FromSettings)
	if err := t.Do(upsertPerson, name, p.Role, database.JSONText(tools), p.TimeZone, source, since, t.Now); err != nil {
		return err
	}
	for _, id := range p.Identities {
		if err := t.Do(moveIdentity, id, name, t.Now); err != nil {
			return err
		}
	}
	if p.Role != core.RoleAdmin && known != nil && known.Role == core.RoleAdmin {
		set.Demoted = append(set.Demoted, name)
	}
	if former == nil {
		return nil
	}
	set.Back = append(set.Back, p.Name)
	return goOn(t, name, former, p)
}
