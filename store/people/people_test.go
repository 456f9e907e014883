package people_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/people"
	"switchboard/store/storetest"
)

// Whom the settings name is as they say. To name nobody any more, or somebody else by the name of another, is refused.
func TestSetPeopleReplacesThoseOfTheSettings(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for key, id := range map[string]string{"1": "tg:7", "2": "tg:8"} {
			e := storetest.Entry("c", key, "hi")
			e.Sender.New, e.Sender.Person, e.Sender.Identity = true, id, id
			h.Accept(e)
		}
		set := func(people ...core.Person) {
			t.Helper()
			if _, err := h.Router.SetPeople(h.Ctx, people); err != nil {
				t.Fatal(err)
			}
		}
		anna := core.Person{Name: "anna", Role: "user", Identities: []string{"tg:1", "tg:7"}, Tools: []string{"*"}, TimeZone: "Europe/Rome", Source: "config"}
		bob := core.Person{Name: "bob", Role: "admin", Identities: []string{"tg:2"}, Tools: []string{}, Source: "config"}
		open := core.Person{Name: "tg:8", Role: "user", Identities: []string{"tg:8"}, Tools: []string{"*"}, Source: "open"}
		check := func(want ...core.Person) {
			t.Helper()
			got, err := h.Router.People(h.Ctx)
			for i := range got {
				if p := &got[i]; p.Seen.IsZero() == (p.Source == "open") {
					t.Errorf("%s was seen %s", p.Name, p.Seen)
				}
				got[i].Seen, got[i].Since = time.Time{}, time.Time{}
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
			}
		}
		set(bob, anna)
		check(anna, bob, open)
		anna.Role, anna.Identities = "admin", []string{"tg:1", "tg:2"}
		set(anna)
		check(anna, open)
		wrong := func(fault string, persons ...core.Person) {
			t.Helper()
			_, err := h.Router.SetPeople(h.Ctx, persons)
			if is, ok := errors.AsType[*people.FaultsError](err); !ok || len(is.Faults) != 1 || !strings.Contains(is.Faults[0], fault) {
				t.Errorf("%v", err)
			}
			check(anna, open)
		}
		wrong("[[people]] is empty, but named anna before")
		wrong("[[people]] is empty", core.Person{Name: "owner", Role: "admin", Source: "local", Machine: true})
		wrong("Anna looks like anna, who is known", core.Person{Name: "Anna", Role: "user", Identities: []string{"tg:4"}, Source: "config"})
		other := anna
		other.Identities = []string{"tg:3"}
		wrong("anna (tg:3) has none of the identities that anna had before (tg:1, tg:2)", other)
	})
}

// Somebody let in by an open policy is noted as seen, and becomes a person again if
// retention has taken them meanwhile.
func TestNewPersonIsSeenAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, before := range []string{"", "UPDATE people SET updated_at = 1", "DELETE FROM people"} {
			if before != "" {
				storetest.Exec(t, h.DB, before)
			}
			e := storetest.Entry("c", storetest.NameOf(int64(i)), "hi")
			e.Sender.New, e.Sender.Person, e.Sender.Identity = true, "tg:7", "tg:7"
			h.Accept(e)
			p, err := h.Router.Person(h.Ctx, "tg:7")
			if err != nil || time.Since(p.Seen) > time.Hour || len(p.Identities) != 1 || p.Identities[0] != "tg:7" {
				t.Errorf("after %q: %+v, %v", before, p, err)
			}
		}
		if _, err := h.Router.Person(h.Ctx, "nobody"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

// Whom an open policy lets in never gets the rights of somebody who has that name.
func TestNewPersonTakesNoName(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		admin := core.Person{Name: "tg:7", Role: "admin", Identities: []string{"tg:1"}, Tools: []string{"*"}, Source: "config"}
		if _, err := h.Router.SetPeople(h.Ctx, []core.Person{admin}); err != nil {
			t.Fatal(err)
		}
		e := storetest.Entry("c", "1", "hi")
		e.Sender.New, e.Sender.Person, e.Sender.Identity = true, "tg:7", "tg:7"
		if _, err := h.Router.Accept(h.Ctx, h.Owner(), []intake.Entry{e}); !errors.Is(err, core.ErrRefused) {
			t.Errorf("accepted: %v", err)
		}
		people, err := h.Router.People(h.Ctx)
		for i := range people {
			people[i].Since = time.Time{}
		}
		if err != nil || !reflect.DeepEqual(people, []core.Person{admin}) {
			t.Errorf("%+v, %v", people, err)
		}
	})
}

// Who is called as somebody was before has neither the browsers, the tokens nor the sign-in links of theirs, however the name
// became free and however they got it.
func TestNewPersonIsNotSignedInAsTheFormer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.SetPeople(storetest.Root)
		for _, come := range []func(){
			func() { h.SetPeople(storetest.Ann, storetest.Root) },
			func() {
				if err := h.Router.Change(h.Ctx, storetest.PersonChange(people.ChangeAdd, "ann", "user", "tg:5"), storetest.ByMarco); err != nil {
					t.Error(err)
				}
			},
			func() {
				e := storetest.Entry("c", "1", "hi")
				e.Sender.New, e.Sender.Person, e.Sender.Identity = true, "ann", "tg:6"
				h.Accept(e)
			},
		} {
			hash := "X'01'"
			if h.DB.PG() {
				hash = `'\x01'`
			}
			h.Exec("DELETE FROM identities WHERE person = 'ann'", "DELETE FROM people WHERE name = 'ann'", "DELETE FROM browsers", "DELETE FROM signins", "DELETE FROM tokens",
				"INSERT INTO browsers (hash, person, about, created_at, used_at, expires_at) VALUES ("+hash+", 'ann', '', 1, 1, 9)",
				"INSERT INTO signins (hash, person, created_at, expires_at) VALUES ("+hash+", 'ann', 1, 9)",
				"INSERT INTO tokens (name, hash, scopes, people, created_at) VALUES ('a', "+hash+", '[]', '[\"ann\"]', 1)")
			come()
			h.WantCount(1, "SELECT count(*) FROM people WHERE name = 'ann'")
			h.WantCount(0, "SELECT count(*) FROM browsers")
			h.WantCount(0, "SELECT count(*) FROM signins")
			h.WantCount(0, "SELECT count(*) FROM tokens WHERE revoked_at = 0")
		}
	})
}
