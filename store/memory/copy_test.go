package memory_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// A copy whose line breaks anywhere, again and again, while memories change, has the same in the end.
func TestCopyAfterBreaks(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		other, id := k.another(), int64(0)
		for step := range 40 {
			for range rand.IntN(8) {
				place := direct([]string{"ann", "bob"}[rand.IntN(2)], "tg", 1)
				w := &routermemory.Writer{Person: place.Person, Place: place}
				switch rand.IntN(5) {
				case 0, 1:
					c, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: fmt.Sprintf("thing %d", rand.IntN(1000))})
					id = c.Entry.ID
				case 2:
					k.write(w, memory.Entry{Kind: memory.Preference, Category: "style", Key: []string{"a", "b"}[rand.IntN(2)], Text: fmt.Sprint(rand.IntN(1000))})
				case 3:
					err := k.Service.Change(t.Context(), k.ForgetAs(machine, 1+rand.Int64N(id+1)), operator)
					if err != nil && !errors.Is(err, core.ErrNotFound) {
						t.Fatal(err)
					}
				case 4:
					k.in(func(t *database.Tx) error {
						gone := 1 + rand.Int64N(id+1)
						return errors.Join(t.Do("DELETE FROM memories WHERE id = ?", gone), stored.Unindex(t, memory.OfMemory, gone))
					})
				}
			}
			if step == 20 { // it was away for long
				k.in(func(t *database.Tx) error { _, err := stored.DropRecords(t, t.Now*2); return err })
			}
			from, err := database.Value[int64](t.Context(), other.db.DB, "next", "SELECT n + 1 FROM memory_copy WHERE come_to = -1")
			if err != nil {
				t.Fatal(err)
			}
			list := k.records(from)
			end := rand.IntN(len(list) + 1)
			if step == 39 {
				end = len(list)
			}
			if some := list[:end]; len(some) > 0 {
				if err := other.taken(some...); err != nil {
					t.Fatal(err)
				}
			}
		}
		k.wantSame(other)
	})
}

// What cannot be taken is refused with what to do, and changes nothing; and a copy is changed by records alone, until it is its own again.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		ann := &routermemory.Writer{Person: "ann", Place: direct("ann", "tg", 1)}
		for _, text := range []string{"one", "two"} {
			k.write(ann, memory.Entry{Kind: memory.Fact, Text: text})
		}
		full := k.records(0)
		wants := func(what string, other *keeper, want string, list ...routermemory.Record) {
			t.Helper()
			before := other.rows()
			if err := other.taken(list...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
			if !slices.Equal(before, other.rows()) {
				t.Errorf("%s: something was written", what)
			}
		}
		own := k.another()
		own.write(ann, memory.Entry{Kind: memory.Fact, Text: "mine"})
		wants("where something is", own, "of its own already", full...)

		other := k.another()
		wants("without a snapshot", other, "--from 0", k.records(2)...)
		if err := other.taken(full[:2]...); err != nil {
			t.Fatal(err)
		}
		wants("in a snapshot", other, "not all memories yet", k.records(2)...)
		if err := other.taken(full...); err != nil {
			t.Fatal(err)
		}
		k.write(ann, memory.Entry{Kind: memory.Fact, Text: "three"})
		k.write(ann, memory.Entry{Kind: memory.Fact, Text: "four"})
		list := k.news(2)
		wants("a gap", other, "Record 4 came, and 3 is next: follow with --from 3.", list[1])
		foreign := list[0]
		foreign.Log = "of another"
		wants("another's", other, "--from 0", foreign)
		for _, wrong := range []func(r *routermemory.Record){
			func(r *routermemory.Record) { r.Version = 2 }, func(r *routermemory.Record) { r.Type = "x" }, func(r *routermemory.Record) { r.Op = "x" },
			func(r *routermemory.Record) { r.Memory = nil }, func(r *routermemory.Record) { r.Log = "" },
			func(r *routermemory.Record) { r.Memory.Kind = "x" }, func(r *routermemory.Record) { r.Memory.State = "pending" },
			func(r *routermemory.Record) { r.N = math.MaxInt64 }, func(r *routermemory.Record) { r.Memory.ID = math.MaxInt64 }, func(r *routermemory.Record) { r.Memory.SupersededBy = -1 },
			func(r *routermemory.Record) {
				r.Memory.UpdatedAt = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))
			},
		} {
			r, row := list[0], *list[0].Memory
			r.Memory = &row
			wrong(&r)
			_, err := other.Take(t.Context(), []routermemory.Record{r}, operator)
			if _, refused := errors.AsType[*core.StateError](err); !refused {
				t.Errorf("%+v: %v", r, err)
			}
		}
		for _, line := range []string{"", "{", "null", "[]", `"x"`, `{"n":"1"}`, "{}"} {
			if _, err := routermemory.ReadRecord([]byte(line)); err == nil {
				t.Errorf("%q is taken for a record", line)
			}
		}
		if _, _, err := k.db.Router().MemoryRecords(t.Context(), 6); err == nil || !strings.Contains(err.Error(), "they end with 4") {
			t.Errorf("a number that is not there yet: %v", err)
		}

		one := full[1].Memory.ID
		for what, c := range map[string]*routermemory.Change{
			"forget": other.ForgetAs(machine, one), "add": made(other.Write(t.Context(), ann, memory.Entry{Kind: memory.Fact, Text: "mine"})),
		} {
			if err := other.Service.Change(t.Context(), c, operator); err == nil || !strings.Contains(err.Error(), "is a copy") {
				t.Errorf("%s in a copy: %v", what, err)
			}
		}
		private := list[0]
		private.Memory.Scope = memory.OfSession(1) // here that is another session
		if err := other.taken(private); err != nil {
			t.Fatal(err)
		}
		storetest.Exec(k.T, other.db, "INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('learning', 'session:1', 'x', 'pending', 'ann', 1, 1)",
			"UPDATE memories SET created_at = 1, expires_at = 2 WHERE id = "+fmt.Sprint(one))
		if _, err := other.db.Router().Age(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := database.Value[int64](t.Context(), other.db.DB, "count", "SELECT count(*) FROM memories WHERE state = 'active'"); err != nil || n != 2 {
			t.Errorf("%d memories: %v", n, err)
		}
		if err := other.EndCopy(t.Context(), operator); err != nil {
			t.Fatal(err)
		}
		if c, rule := other.write(ann, memory.Entry{Kind: memory.Fact, Text: "mine"}); rule != "" || c.Entry.ID != 3 {
			t.Errorf("its own memory is %d, %s", c.Entry.ID, rule)
		}
		wants("once it is its own", other, "of its own already", list[1])
		if err := other.EndCopy(t.Context(), operator); err == nil {
			t.Error("it ends twice")
		}
	})
}

func made(c *routermemory.Change, _ error) *routermemory.Change { return c }
