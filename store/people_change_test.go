package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchboard/router/core"
	"switchboard/router/people"
)

func change(kind people.ChangeKind, name, role string, identities ...string) *people.Change {
	return &people.Change{Kind: kind, File: "my.toml", Person: core.Person{Name: name, Role: role, Identities: identities, Tools: []string{"*"}}}
}

// Who is named at run time stays; the settings decide about those whom they name.
func TestPeopleAreChangedUnlessTheSettingsNameThem(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		stranger := entry("c", "1", "hi")
		stranger.Sender.New, stranger.Sender.Person, stranger.Sender.Identity = true, "tg:7", "tg:7"
		h.Accept(stranger)
		settings := []core.Person{
			{Name: "anna", Role: "user", Identities: []string{"tg:1"}, Source: "config"},
			{Name: "owner", Role: "admin", Identities: []string{"console:owner"}, Tools: []string{"*"}, Source: "local"},
		}
		set := func() {
			t.Helper()
			if _, err := h.Router.SetPeople(h.Ctx, settings); err != nil {
				t.Fatal(err)
			}
		}
		set()
		for _, tt := range []struct {
			change *people.Change
			want   string // who they are then, or why not
		}{
			{change(people.ChangeAdd, "bob", "user", "tg:2"), "bob user tg:2 local"},
			{change(people.ChangeAdd, "bob", "user", "tg:3"), "bob is there already"},
			{change(people.ChangeAdd, "anna", "admin"), "anna is named in [[people]] of my.toml, which decides"},
			{change(people.ChangeRole, "anna", "admin"), "anna is named in [[people]] of my.toml, which decides"},
			{change(people.ChangeLink, "anna", "", "tg:4"), "anna is named in [[people]] of my.toml, which decides"},
			{change(people.ChangeRemove, "anna", ""), "anna is named in [[people]] of my.toml, which decides"},
			{change(people.ChangeLink, "bob", "", "tg:1"), "tg:1 is anna, who is named in [[people]] of my.toml"},
			{change(people.ChangeAdd, "carl", "user", "tg:2"), "tg:2 is bob already"},
			{change(people.ChangeRole, "carl", "admin"), "not found"},
			{change(people.ChangeRole, "bob", "admin"), "bob admin tg:2 local"},
			{change(people.ChangeLink, "bob", "", "tg:7", "tg:2"), "bob admin tg:2 tg:7 local"},
			{change(people.ChangeLink, "owner", "", "tg:9"), "owner admin console:owner tg:9 local"},
			{change(people.ChangeAdd, "tim", "user", "sl:T_1/U1"), "tim user sl:T_1/U1 local"},
			{change(people.ChangeAdd, "tom", "user", "sl:U1"), "sl:U1 is tim already, as sl:T_1/U1"},
			{change(people.ChangeAdd, "tom", "user", "sl:T_2/U1"), "tom user sl:T_2/U1 local"},
			{change(people.ChangeLink, "tim", "", "sl:U2"), "tim user sl:T_1/U1 sl:U2 local"},
			{change(people.ChangeLink, "tom", "", "sl:T_3/U2"), "sl:T_3/U2 is tim already, as sl:U2"},
			{change(people.ChangeRemove, "tim", ""), "tim user sl:T_1/U1 sl:U2 local"},
			{change(people.ChangeRemove, "tom", ""), "tom user sl:T_2/U1 local"},
			{change(people.ChangeAdd, "b\u043eb", "user", "tg:8"), "b\u043eb looks like bob, who is somebody else: give another name"},
			{change(people.ChangeAdd, "ann\uff41", "user", "tg:8"), "ann\uff41 looks like anna"},
			{change(people.ChangeAdd, "dora", "user"), "dora user local"},
			{change(people.ChangeRemove, "dora", ""), "dora user local"},
		} {
			err := h.Router.Change(h.Ctx, tt.change, people.LocalActor("owner"))
			p, got := tt.change.Now, ""
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join(slices.Concat([]string{p.Name, p.Role}, p.Identities, []string{p.Source}), " ")
			}
			if !strings.HasPrefix(got, tt.want) && !(tt.want == "not found" && errors.Is(err, core.ErrNotFound)) {
				t.Errorf("%+v: %s", *tt.change, got)
			}
		}
		set() // another start
		people, err := h.Router.People(h.Ctx)
		var names []string
		for _, p := range people {
			names = append(names, p.Name+" "+strings.Join(p.Identities, " "))
		}
		if want := []string{"anna tg:1", "bob tg:2 tg:7", "owner console:owner tg:9"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%v: %q", err, names)
		}
		settings = append(settings, core.Person{Name: "bob", Role: "user", Identities: []string{"tg:2"}, Source: "config"})
		set()
		if p, err := h.Router.Person(h.Ctx, "bob"); err != nil || p.Role != "user" || len(p.Identities) != 1 || p.Source != "config" {
			t.Errorf("the settings name bob: %+v, %v", p, err)
		}
		h.wantCount(1, "SELECT count(*) FROM audit WHERE action = 'person.unlink' AND rule = 'settings' AND target = 'person bob' AND data LIKE '%[\"tg:7\"]%'")
		set() // they are told of once
		h.wantCount(1, "SELECT count(*) FROM audit WHERE action = 'person.unlink'")
		h.wantCount(11, "SELECT count(*) FROM audit WHERE action LIKE 'person.%' AND outcome = 'done' AND person = 'owner' AND rule = 'machine'")
		h.wantCount(11, "SELECT count(*) FROM audit WHERE action LIKE 'person.%' AND outcome = 'refused' AND person = 'owner' AND rule = 'machine'")
	})
}

func TestAdminsWhoGiveUpAtOnceLeaveOne(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		const admins = 12
		by := people.LocalActor("owner")
		for round := range 3 {
			var all sync.WaitGroup
			for i := range admins {
				name := fmt.Sprint("a", i)
				c := change(people.ChangeRole, name, "admin")
				if round == 0 {
					c = change(people.ChangeAdd, name, "admin", "tg:"+name)
				}
				if err := h.Router.Change(h.Ctx, c, by); err != nil {
					t.Fatal(err)
				}
			}
			for i := range admins {
				all.Go(func() {
					c := change(people.ChangeRole, fmt.Sprint("a", i), "user")
					c.Local = "console:owner"
					var refused *core.StateError
					if err := h.Router.Change(h.Ctx, c, by); err != nil && !errors.As(err, &refused) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			h.wantCount(1, "SELECT count(*) FROM people WHERE role = 'admin'")
		}
	})
}
