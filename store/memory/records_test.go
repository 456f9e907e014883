package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

var (
	machine  = &routermemory.Writer{Machine: true}
	operator = core.Actor{Person: "ann", Rule: "local"}
	errEnd   = errors.New("enough")
)

// records are those that are there now, from a number on.
func (k *keeper) records(from int64) (list []routermemory.Record) {
	k.Helper()
	err := k.Follow(k.Context(), from, func(some []routermemory.Record) error {
		list = append(list, some...)
		if len(some) == 0 {
			return errEnd
		}
		return nil
	})
	if !errors.Is(err, errEnd) {
		k.Fatal(err)
	}
	return list
}

// news are the records behind a number, which have all numbers up to the newest.
func (k *keeper) news(after int64) []routermemory.Record {
	k.Helper()
	list := k.records(after + 1)
	for i, r := range list {
		if r.N != after+1+int64(i) {
			k.Fatalf("record %d is number %d, want %d", i, r.N, after+1+int64(i))
		}
	}
	return list
}

// newest is the number of the newest record.
func (k *keeper) newest() int64 {
	k.Helper()
	n, err := database.Value[int64](k.Context(), k.db.DB, "newest", "SELECT coalesce(max(n), 0) FROM memory_wal")
	if err != nil {
		k.Fatal(err)
	}
	return n
}

// another is a keeper over a database of the same kind with nothing in it.
func (k *keeper) another() *keeper {
	k.Helper()
	db := storetest.SQLite
	if k.db.PG() {
		db = storetest.Postgres
	}
	other := newKeeper(k.T, db(k.T))
	storetest.Exec(k.T, other.db, "UPDATE memory_log SET name = 'other'")
	return other
}

// taken has a copy take records as they come over a line.
func (k *keeper) taken(list ...routermemory.Record) error {
	k.Helper()
	for i := range list {
		line, err := json.Marshal(&list[i])
		if err == nil {
			list[i], err = routermemory.ReadRecord(line)
		}
		if err != nil {
			k.Fatal(err)
		}
	}
	_, err := k.Take(k.Context(), list, operator)
	return err
}

// rows are all memories as a copy has them.
func (k *keeper) rows() (lines []string) {
	k.Helper()
	for _, r := range k.records(0) {
		if r.Memory != nil {
			r.Memory.UsedAt = time.Time{}
			line, _ := json.Marshal(r.Memory)
			lines = append(lines, string(line))
		}
	}
	return lines
}

// wantSame wants the same memories in both, and the same ones found.
func (k *keeper) wantSame(other *keeper) {
	k.Helper()
	if a, b := k.rows(), other.rows(); !slices.Equal(a, b) {
		k.Fatalf("not the same:\n%s\n\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	const found = "SELECT ref || ' ' || scope || ' ' || mark || ' ' || words AS name FROM recalled WHERE kind = 'memory' ORDER BY ref"
	names := func(k *keeper) []string {
		list, err := database.Read(k.Context(), k.db.DB, "found", func(t *database.Tx) ([]string, error) { return t.Names(found) })
		if err != nil {
			k.Fatal(err)
		}
		return list
	}
	if a, b := names(k), names(other); !slices.Equal(a, b) {
		k.Fatalf("not the same are found:\n%s\n\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

func (k *keeper) in(fn func(t *database.Tx) error) {
	k.Helper()
	if err := k.db.Write(k.Context(), database.Async, "test", fn); err != nil {
		k.Fatal(err)
	}
}

// Everything that changes what is remembered has a record, whoever does it, and a copy that takes them has the same.
func TestEveryChangeHasARecord(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		other := k.another()
		k.in(func(t *database.Tx) error {
			_, err := stored.Insert(t, &memory.Entry{Kind: memory.Fact, Scope: memory.Global, Text: "snow is white", Source: "command"}, 0)
			return err
		})
		if err := other.taken(k.records(0)...); err != nil {
			t.Fatal(err)
		}
		ann, inGroup := &routermemory.Writer{Person: "ann", Admin: true, Place: direct("ann", "tg", 1)}, &routermemory.Writer{Person: "bob", Place: group("bob", "tg", "g", 2)}
		fact := func(w *routermemory.Writer, text string) int64 {
			c, rule := k.write(w, memory.Entry{Kind: memory.Fact, Text: text})
			if rule != "" {
				t.Fatal(rule)
			}
			return c.Entry.ID
		}
		change := func(c *routermemory.Change) {
			t.Helper()
			if err := k.Service.Change(t.Context(), c, operator); err != nil {
				t.Fatal(err)
			}
		}
		merge := func(w *routermemory.Writer, text string, of ...int64) int64 {
			c, err := k.Write(t.Context(), w, memory.Entry{Kind: memory.Fact, Text: text, Source: routermemory.Merge}, of...)
			if err != nil {
				t.Fatal(err)
			}
			change(c)
			return c.Entry.ID
		}
		var old, merged int64
		for _, step := range []struct {
			what string
			do   func()
		}{
			{"add", func() { old = fact(ann, "the deploy key rotates on Fridays") }},
			{"correct", func() { k.write(ann, memory.Entry{Kind: memory.Fact, Text: "the key rotates on Mondays"}, old) }},
			{"a preference", func() {
				k.write(ann, memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: "short"})
			}},
			{"a newer one", func() {
				k.write(ann, memory.Entry{Kind: memory.Preference, Category: "style", Key: "length", Text: "long"})
			}},
			{"a rule", func() { k.write(ann, memory.Entry{Kind: memory.Rule, Category: "style", Text: "no emojis"}) }},
			{"doubt", func() {
				id := fact(ann, "the cat is called Tom")
				k.in(func(t *database.Tx) error {
					return t.Do("UPDATE memories SET confidence = 0.5, taint = 'web' WHERE id = ?", id)
				})
			}},
			{"forget", func() { change(k.ForgetAs(machine, fact(ann, "the dog is called Rex"))) }},
			{"merge", func() { merged = merge(inGroup, "one and two", fact(inGroup, "one"), fact(inGroup, "two")) }},
			{"unmerge", func() { k.in(func(t *database.Tx) error { return stored.Unmerge(t, merged) }) }},
			{"age", func() {
				k.in(func(t *database.Tx) error {
					return t.Do("UPDATE memories SET created_at = ?, used_at = 0 WHERE id = ?", t.Now-60*86_400_000_000, factOf(t, "one"))
				})
				if _, err := k.db.Router().Age(t.Context()); err != nil {
					t.Fatal(err)
				}
			}},
			{"expire", func() {
				id := fact(ann, "the milk is fresh")
				k.in(func(t *database.Tx) error { return t.Do("UPDATE memories SET expires_at = 1 WHERE id = ?", id) })
				if _, err := k.db.Router().Age(t.Context()); err != nil {
					t.Fatal(err)
				}
			}},
			{"use, where it moves the end", func() {
				id := fact(ann, "tea is green")
				k.in(func(t *database.Tx) error {
					return t.Do("UPDATE memories SET expires_at = ?, created_at = 1 WHERE id = ?", t.Now*2, id)
				})
				if err := k.db.Router().MemoriesUsed(t.Context(), []int64{id}); err != nil {
					t.Fatal(err)
				}
			}},
			{"a group moves", func() {
				k.in(func(t *database.Tx) error {
					return stored.Rescope(t, memory.OfGroup("tg", "g"), memory.OfGroup("tg", "h"))
				})
			}},
			{"a person becomes another", func() {
				fact(&routermemory.Writer{Person: "bob", Place: direct("bob", "tg", 3)}, "bob likes tea")
				k.in(func(t *database.Tx) error { return stored.Join(t, "ann", "bob") })
			}},
			{"a learning is judged", func() {
				k.in(func(t *database.Tx) error {
					return t.Do("INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('learning', 'session:1', 'x', 'pending', 'ann', 1, 1)")
				})
				k.in(func(t *database.Tx) error {
					return t.Do("UPDATE memories SET state = 'promoted' WHERE kind = 'learning'")
				})
			}},
			{"drop", func() {
				fact(&routermemory.Writer{Person: "eve", Place: direct("eve", "tg", 4)}, "eve is tall")
				k.in(func(t *database.Tx) error { return stored.Drop(t, "eve") })
			}},
			{"what is over", func() {
				k.in(func(t *database.Tx) error { return t.Do(stored.DropOver, t.Now+1) })
			}},
			{"erase", func() {
				fact(&routermemory.Writer{Person: "joe", Place: direct("joe", "tg", 4)}, "joe is small")
				storetest.Exec(t, other.db, "INSERT INTO memory_settings (person, updated_at) VALUES ('joe', 1)")
				k.in(func(t *database.Tx) error { return stored.Erase(t, "joe") })
			}},
		} {
			before := k.newest()
			step.do()
			list := k.news(before)
			if len(list) == 0 {
				t.Errorf("%s: there is no record", step.what)
			}
			for i := range list { // one by one, and each twice
				if err := errors.Join(other.taken(list[i]), other.taken(list[:i+1]...)); err != nil {
					t.Fatalf("%s: %v", step.what, err)
				}
			}
			k.wantSame(other)
			if line, _ := json.Marshal(list); step.what == "erase" && strings.Contains(string(line), "joe") {
				t.Errorf("the records have a name: %s", line)
			}
		}
		if n, err := database.Value[int64](t.Context(), other.db.DB, "count", "SELECT count(*) FROM memory_settings"); err != nil || n != 0 {
			t.Errorf("%d settings of who was erased: %v", n, err)
		}
		before, text := k.newest(), other.rows()
		k.in(func(t *database.Tx) error { // what is nobody else's
			if err := t.Do("UPDATE memories SET used_at = 5, session_id = NULL, turn_id = NULL, updated_at = updated_at"); err != nil {
				return err
			}
			return t.Do("INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('learning', 'session:1', 'x', 'pending', 'ann', 1, 1)")
		})
		if now := k.newest(); now != before {
			t.Errorf("%d records too many", now-before)
		}
		if err := other.taken(k.records(0)...); err != nil || !slices.Equal(other.rows(), text) {
			t.Errorf("a snapshot of what is there changes the copy: %v", err)
		}
		if got := other.shown(direct("ann", "tg", 1), "when does the key rotate?"); !strings.Contains(got, "the key rotates on Mondays") || strings.Contains(got, "Fridays") {
			t.Errorf("the copy recalls %q", got)
		}
	})
}

// factOf is the number of the active fact of a text.
func factOf(t *database.Tx, text string) (id int64) {
	_, _ = t.Row("SELECT id FROM memories WHERE text = ? AND state = 'active'", []any{text}, &id)
	return id
}

// Writers at once, some of which give up: no number is missing, none is twice, and nobody waits for ever for somebody who waits for them.
func TestRecordsOfManyWriters(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, ends ...*store.DB) {
		t.Parallel()
		k := newKeeper(t, ends[0])
		storetest.Exec(k.T, k.db, "INSERT INTO leases (kind, name, fence, taken_at) VALUES ('memory', 'ann', 1, 1)")
		const writers, each = 6, 25
		errGivesUp := errors.New("gives up")
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					insert := func(t *database.Tx) error {
						_, err := stored.Insert(t, &memory.Entry{Kind: memory.Fact, Scope: memory.OfPerson("ann"), Person: "ann", Source: "said", Text: fmt.Sprintf("fact %d.%d", w, i)}, 0)
						return err
					}
					lock := func(t *database.Tx) error {
						return t.Do("UPDATE leases SET fence = fence + 1 WHERE kind = 'memory' AND name = 'ann'")
					}
					steps := []func(*database.Tx) error{insert, lock, insert}
					if w%2 == 0 {
						steps = []func(*database.Tx) error{lock, insert, insert}
					}
					err := ends[w%len(ends)].Write(t.Context(), database.Async, "test", func(t *database.Tx) error {
						for _, step := range steps {
							if err := step(t); err != nil {
								return err
							}
						}
						if i%5 == 0 {
							return errGivesUp
						}
						return nil
					})
					if err != nil && !errors.Is(err, errGivesUp) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n, want := k.newest(), int64(writers*each*2*4/5); n != want || len(k.news(1)) != int(want)-1 {
			t.Errorf("the newest record is %d, want %d", n, want)
		}
		var numbers []int64
		k.in(func(t *database.Tx) (err error) {
			numbers, err = t.IDs("SELECT n AS id FROM memory_wal ORDER BY n")
			return err
		})
		for i, n := range numbers {
			if n != int64(i)+1 {
				t.Fatalf("number %d is %d", i+1, n)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { try(t, storetest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { // two engines'
		url := storetest.PostgresURL(t)
		db := storetest.Opened(t, url, "", storetest.Quiet)
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		try(t, db, storetest.Opened(t, url, "", storetest.Quiet))
	})
}
