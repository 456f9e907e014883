package router_test

import (
	"testing"

	"switchboard/router/ledger"
)

func (r *rig) change(kind ledger.ChangeKind, name, role string, identities ...string) {
	r.t.Helper()
	err := r.router.Change(r.t.Context(), &ledger.PersonChange{
		Kind: kind, Person: ledger.Person{Name: name, Role: role, Identities: identities, Tools: []string{"*"}},
	}, ledger.LocalActor("owner"))
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
		r.change(ledger.ChangeAdd, "eve", ledger.RoleUser)
		served(2, 0)
		r.change(ledger.ChangeLink, "eve", "", "scripted:eve")
		served(3, 1)
		r.change(ledger.ChangeRole, "eve", ledger.RoleAdmin)
		if p := r.roster.Named("eve"); p == nil || p.Role != ledger.RoleAdmin {
			t.Errorf("%+v", p)
		}
		r.change(ledger.ChangeRemove, "eve", "")
		served(4, 0)
	})
}

// What one engine is told about people, the others know at once.
func TestEnginesLearnOfChangedPeople(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	startBoth(a, b)
	b.change(ledger.ChangeAdd, "eve", ledger.RoleAdmin, "scripted:eve")
	a.until("the other engine knows her", func() bool { return a.roster.Identified("scripted:eve") != nil })
	b.change(ledger.ChangeRemove, "eve", "")
	a.until("the other engine has forgotten her", func() bool { return a.roster.Named("eve") == nil && a.roster.Identified("scripted:eve") == nil })
	for _, away := range []bool{true, false} {
		people := b.people
		if away {
			people = people[:1]
		}
		if _, err := b.db.Router().SetPeople(t.Context(), people); err != nil {
			t.Fatal(err)
		}
		b.router.PeopleChanged(t.Context())
		a.until("the other engine knows whether bob is away", func() bool {
			return a.roster.Away("bob") == away && (a.roster.Identified("scripted:bob") == nil) == away
		})
	}
}
