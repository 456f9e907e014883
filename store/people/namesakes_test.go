package people_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"switchboard/router/core"
	"switchboard/store/database"
	"switchboard/store/people"
	"switchboard/store/storetest"
)

// Whatever is left by a name, and in whichever table: somebody new who is called so has nothing of it. They come
// among many, by the settings.
func TestNewPeopleHaveNothingOfTheirNamesakes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Root()
		left := []struct{ row, remains string }{
			{"INSERT INTO jobs (owner, payload, spec, rules, state, created_at, updated_at) VALUES ('NAME', 'notify', '{}', '{}', 'disabled', 1, 1)", "jobs WHERE owner = 'NAME'"},
			{"INSERT INTO notifications (person, text, created_at) VALUES ('NAME', 'x', 1)", "notifications WHERE person = 'NAME'"},
			{"INSERT INTO browsers (id, hash, person, about, created_at, used_at, expires_at) VALUES (7, BYTES, 'NAME', '', 1, 1, 9223372036854775807)", "browsers WHERE person = 'NAME'"},
			{"INSERT INTO signins (hash, person, created_at, expires_at) VALUES (BYTES, 'NAME', 1, 9223372036854775807)", "signins WHERE person = 'NAME'"},
			{"INSERT INTO memory_settings (person, updated_at) VALUES ('NAME', 1)", "memory_settings WHERE person = 'NAME'"},
			{"INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('fact', 'global', 'x', 'active', 'NAME', 1, 1)", "memories WHERE person = 'NAME'"},
			{"INSERT INTO memories (kind, scope, text, state, created_at, updated_at) VALUES ('fact', 'person:NAME', 'x', 'active', 1, 1)", "memories WHERE scope = 'person:NAME'"},
			{"INSERT INTO recalled (kind, ref, scope, said_at, mark, words) VALUES ('result', 7, 'person:NAME', 1, 'm', 'w')", "recalled WHERE scope = 'person:NAME'"},
			{"INSERT INTO leases (kind, name, fence, taken_at) VALUES ('memory', 'NAME', 1, 1)", "leases WHERE kind = 'memory' AND name = 'NAME' AND fence = 1"},
			{"UPDATE sessions SET person = 'NAME'", "sessions WHERE person = 'NAME'"},
		}
		h.Accept(storetest.Entry("c", "1", "hi"))
		named := []core.Person{{Name: "root", Role: core.RoleAdmin, Identities: []string{"tg:1"}}}
		for i := range left {
			name, bytes := fmt.Sprint("eve", i), "X'68'"
			if h.DB.PG() {
				bytes = "'h'"
			}
			as := strings.NewReplacer("NAME", name, "BYTES", bytes)
			left[i].row, left[i].remains = as.Replace(left[i].row), as.Replace(left[i].remains)
			h.Exec(left[i].row)
			h.WantCount(1, "SELECT count(*) FROM "+left[i].remains)
			named = append(named, core.Person{Name: name, Role: core.RoleUser, Identities: []string{fmt.Sprint("tg:", 100+i)}})
		}
		h.SetPeople(named...)
		for _, l := range left {
			h.WantCount(0, "SELECT count(*) FROM "+l.remains)
		}
	})
}

// Somebody is removed while settings that name them are read: who is there afterwards is new.
func TestWhoIsRemovedWhileSettingsAreReadIsNew(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	h.Root()
	h.Exec("INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('bob', 'user', 'local', 1, 1)")
	h.Accept(storetest.Entry("c", "1", "hi"))
	h.Exec("UPDATE sessions SET person = 'bob'")
	set := make(chan error, 1)
	err := h.DB.Write(h.Ctx, database.Durable, "remove", func(tx *database.Tx) error {
		if err := people.RemovePerson(tx, "bob"); err != nil {
			return err
		}
		go func() {
			_, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: "root", Role: core.RoleAdmin}, {Name: "bob", Role: core.RoleUser}})
			set <- err
		}()
		storetest.AwaitBlocked(t, h.DB, 1)
		return nil
	})
	if err := errors.Join(err, <-set); err != nil {
		t.Fatal(err)
	}
	h.WantCount(1, "SELECT count(*) FROM people WHERE name = 'bob'")
	h.WantCount(0, "SELECT count(*) FROM sessions WHERE person = 'bob'")
}
