package store_test

import (
	"reflect"
	"testing"

	"switchboard/router"
	"switchboard/store"
	"switchboard/store/storetest"
)

func TestSetPeople(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := newHouse(t, db)
		for key, id := range map[string]string{"1": "tg:7", "2": "tg:8"} {
			e := entry("c", key, "hi")
			e.NewPerson, e.Person, e.Identity = true, id, id
			h.accept(e)
		}
		set := func(people ...router.Person) {
			t.Helper()
			if err := h.r.SetPeople(h.ctx, people); err != nil {
				t.Fatal(err)
			}
		}
		anna := router.Person{Name: "anna", Role: "user", Identities: []string{"tg:1", "tg:7"}, Tools: []string{"*"}, TimeZone: "Europe/Rome", Source: "config"}
		bob := router.Person{Name: "bob", Role: "admin", Identities: []string{"tg:2"}, Tools: []string{}, Source: "config"}
		open := router.Person{Name: "tg:8", Role: "user", Identities: []string{"tg:8"}, Tools: []string{"*"}, Source: "open"}
		check := func(want ...router.Person) {
			t.Helper()
			if got, err := h.r.People(h.ctx); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
			}
		}
		set(bob, anna)
		check(anna, bob, open)
		anna.Role, anna.Identities = "admin", []string{"tg:2"}
		set(anna)
		check(anna, open)
		set()
		check(open)
	})
}
