package router_test

import (
	"testing"

	"switchboard/router/core"
	"switchboard/router/people"
)

func (r *rig) change(kind people.ChangeKind, name, role string, identities ...string) {
	r.t.Helper()
	err := r.router.Change(r.t.Context(), &people.Change{
		Kind: kind, Person: core.Person{Name: name, Role: role, Identities: identities, Tools: []string{"*"}},
	}, people.LocalActor("owner"))
	if err != nil {
		r.t.Error(err)
	}
}

func TestWhoIsAddedIsServedUntilRemoved(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		served := func(n int, want int) {
			t.Helper()
			receipts := r.accept(event(n, "c5", "eve", "hello"))
			if got := receipts[0].TurnID != 0; got != (want == 1) {
				t.Errorf("message %d is served: %t", n, got)
			}
		}
		served(1, 0)
		r.change(people.ChangeAdd, "eve", core.RoleUser)
		served(2, 0)
		r.change(people.ChangeLink, "eve", "", "scripted:eve")
		served(3, 1)
		r.change(people.ChangeRole, "eve", core.RoleAdmin)
		if p := r.roster.Named("eve"); p == nil || p.Role != core.RoleAdmin {
			t.Errorf("%+v", p)
		}
		r.change(people.ChangeRemove, "eve", "")
		served(4, 0)
	})
}

// What one engine is told about people, the others know at once.
func TestEnginesLearnOfChangedPeople(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	startBoth(a, b)
	b.change(people.ChangeAdd, "eve", core.RoleAdmin, "scripted:eve")
	a.until("the other engine knows her", func() bool { return a.roster.Identified("scripted:eve") != nil })
	b.change(people.ChangeRemove, "eve", "")
	a.until("the other engine has forgotten her", func() bool { return a.roster.Named("eve") == nil && a.roster.Identified("scripted:eve") == nil })
	for _, away := range []bool{true, false} {
		people := b.people
		if away {
			people = people[:1]
		}
		if _, err := b.db.Router().SetPeople(t.Context(), people); err != nil {
			t.Fatal(err)
		}
		b.router.People.Changed(t.Context())
		a.until("the other engine knows whether bob is away", func() bool {
			return a.roster.Away("bob") == away && (a.roster.Identified("scripted:bob") == nil) == away
		})
	}
}
