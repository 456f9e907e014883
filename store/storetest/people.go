package storetest

import (
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/people"
	"switchboard/scheduler"
)

// Root is an admin.
func (h *House) Root() {
	h.Helper()
	if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "root", Role: "admin"}}); err != nil {
		h.Fatal(err)
	}
}

// SetPeople are the people of some settings; it returns who is back.
func (h *House) SetPeople(people ...core.Person) (back []string) {
	h.Helper()
	set, err := h.Router.SetPeople(h.Ctx, people)
	if err != nil {
		h.Fatal(err)
	}
	return set.Back
}

// JobOf adds an hourly job of a person.
func (h *House) JobOf(owner string) int64 {
	h.Helper()
	job := scheduler.Job{Owner: owner, Payload: scheduler.PayloadNotify, Text: "private", Spec: Hourly}
	return h.Changed(jobs.Change{Kind: jobs.AddJob, Job: &job, Target: &MarcosChat}).Done.ID
}

// People of settings.
var (
	Ann  = core.Person{Name: "ann", Role: core.RoleUser, Identities: []string{"tg:1"}, Tools: []string{"*"}}
	Root = core.Person{Name: "root", Role: core.RoleAdmin, Identities: []string{"tg:0"}, Tools: []string{"*"}}
)

// PersonChange is a change of a person by a file.
func PersonChange(kind people.ChangeKind, name, role string, identities ...string) *people.Change {
	return &people.Change{Kind: kind, File: "my.toml", Person: core.Person{Name: name, Role: role, Identities: identities, Tools: []string{"*"}}}
}
