package people_test

import (
	"testing"

	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

func (r *rig) change(kind people.ChangeKind, name, role string, identities ...string) {
	r.T.Helper()
	err := r.Router.Change(r.T.Context(), &people.Change{
		Kind: kind, Person: core.Person{Name: name, Role: role, Identities: identities, Tools: []string{"*"}},
	}, people.LocalActor("owner"))
	if err != nil {
		r.T.Error(err)
	}
}

func TestWhoIsAddedIsServedUntilRemoved(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		served := func(n int, want int) {
			t.Helper()
			receipts := r.Accept(routertest.Event(n, "c5", "eve", "hello"))
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
		if p := r.Roster.Named("eve"); p == nil || p.Role != core.RoleAdmin {
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
	routertest.StartBoth(a.Rig, b.Rig)
	b.change(people.ChangeAdd, "eve", core.RoleAdmin, "scripted:eve")
	a.Until("the other engine knows her", func() bool { return a.Roster.Identified("scripted:eve") != nil })
	b.change(people.ChangeRemove, "eve", "")
	a.Until("the other engine has forgotten her", func() bool { return a.Roster.Named("eve") == nil && a.Roster.Identified("scripted:eve") == nil })
	for _, away := range []bool{true, false} {
		people := b.People
		if away {
			people = people[:1]
		}
		if _, err := b.DB.Router().SetPeople(t.Context(), people); err != nil {
			t.Fatal(err)
		}
		b.Router.People.Changed(t.Context())
		a.Until("the other engine knows whether bob is away", func() bool {
			return a.Roster.Away("bob") == away && (a.Roster.Identified("scripted:bob") == nil) == away
		})
	}
}
