package backup_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"switchboard/internal/testkit"
	"switchboard/store"
	"switchboard/store/backup"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// A table that a migration brings must be decided on: carried, in the list after the tables
// that its rows name, or left.
func TestEveryTableIsCarriedOrLeft(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		err := db.Read(t.Context(), "test", func(tx *database.Tx) error {
			query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'recalled_%'"
			if tx.PG {
				query = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
			}
			var rows []struct{ Name string }
			if err := tx.All(&rows, query); err != nil {
				return err
			}
			var have []string
			for _, r := range rows {
				have = append(have, r.Name)
			}
			listed := append(backup.Carried(), backup.Left()...)
			slices.Sort(have)
			slices.Sort(listed)
			if !slices.Equal(have, listed) {
				t.Errorf("the database has %v\nthe list is %v", have, listed)
			}
			if tx.PG {
				return nil
			}
			for _, name := range backup.Carried() {
				var key []struct{ Name string }
				if err := tx.All(&key, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", name); err != nil {
					return err
				}
				var names []string
				for _, k := range key {
					names = append(names, k.Name)
				}
				if !slices.Equal(names, backup.Key(name)) {
					t.Errorf("the key of %s is %v, the list says %v", name, names, backup.Key(name))
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// In every direction each row and file is as it was, nothing is in the way of an engine, and
// new rows get numbers that none had.
func TestWhatIsRestoredIsWhatWasBackedUp(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"sqlite", "postgres"} {
		for _, to := range []string{"sqlite", "postgres"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source, target := empties(t)[from], empties(t)[to]
				source.fill()
				m, file := source.backUp()
				if !slices.Equal(m.Missing, []string{lost}) || m.Files != 2 || m.Bytes != 2 {
					t.Errorf("%+v", m)
				}
				for _, table := range m.Tables {
					if table.Rows == 0 {
						t.Errorf("everything has no row of %s", table.Name)
					}
				}
				made, err := target.restore(file)
				if err != nil || !reflect.DeepEqual(made, m) {
					t.Fatalf("%v\n%+v\n%+v", err, made, m)
				}
				if from == to {
					same(t, source.open(), target.open())
				}
				if again, _ := target.backUp(); !reflect.DeepEqual(again.Tables, m.Tables) {
					t.Errorf("what was restored is\n%+v\nwhat was backed up\n%+v", again.Tables, m.Tables)
				}
				if m, err := target.restore(file); err != nil || !m.Already {
					t.Errorf("restored again: %+v, %v", m, err)
				}
				goesOn(t, target.open())
			})
		}
	}
}

// same wants all rows of two databases to be the same, but for what is left.
func same(t *testing.T, a, b *store.DB) {
	t.Helper()
	var rows [2][]string
	for i, db := range []*store.DB{a, b} {
		for line := range strings.Lines(storetest.Traces(t, db)) {
			name, _, _ := strings.Cut(line, ":")
			if slices.Contains(backup.Carried(), name) && name != "leases" {
				rows[i] = append(rows[i], line)
			}
		}
		slices.Sort(rows[i])
	}
	if !slices.Equal(rows[0], rows[1]) || len(rows[0]) < len(backup.Carried())-1 {
		t.Errorf("%q\n%q", rows[0], rows[1])
	}
}

// goesOn starts an engine and looks which numbers new rows get.
func goesOn(t *testing.T, db *store.DB) {
	t.Helper()
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatal(err)
	}
	if e.ID() <= 7 {
		t.Errorf("the engine has number %d, which rows name already", e.ID())
	}
	for table, want := range map[string]int64{
		"turns (session_id, message_id, person, state, created_at) VALUES (11, 23, 'a', 'done', 1)":                                                                                 33,
		"audit (action, created_at) VALUES ('a', 1)":                                                                                                                                89,
		"messages (conversation_id, direction, class, text, created_at) VALUES (3, 'in', 'turn', '', 1)":                                                                            23,
		"conversations (channel, conversation, kind, created_at) VALUES ('tg', 'c9', 'direct', 1)":                                                                                  5,
		"approvals (kind, state, created_at, expires_at) VALUES ('tool', 'proposed', 1, 1)":                                                                                         52,
		"deliveries (message_id, conversation_id, channel, seq, part, last, text, nonce, state, created_at, updated_at) VALUES (22, 3, 'tg', 2, 0, TRUE, '', 'x', 'pending', 1, 1)": 43,
	} {
		var got int64
		err := db.Write(t.Context(), database.Durable, "insert", func(tx *database.Tx) (err error) {
			if !tx.PG {
				_, _ = tx.Exec("PRAGMA defer_foreign_keys = 1")
			}
			if got, err = tx.Insert("INSERT INTO " + table + " RETURNING id"); err == nil && strings.HasPrefix(table, "turns") {
				_, err = tx.Exec("DELETE FROM turns WHERE id = ?", got)
			}
			return err
		})
		if err != nil || got != want {
			t.Errorf("%s: number %d, want %d, %v", table, got, want, err)
		}
	}
	if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM leases WHERE fence >= 4"); n != 2 || err != nil {
		t.Errorf("%d leases, %v", n, err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whatever byte was changed, is missing or was added: it is noticed before anything is written.
func TestDamagedFileIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	places := empties(t)
	source, target := places["sqlite"], &place{TB: t, dir: t.TempDir()}
	target.url = "sqlite:" + filepath.Join(target.dir, "switchboard.db")
	source.fill()
	_, file := source.backUp()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := target.restore(file); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for range 3000 {
		at := rand.IntN(len(whole))
		changed := slices.Clone(whole)
		changed[at] ^= byte(1 + rand.IntN(255))
		refused(fmt.Sprintf("byte %d of %d changed", at, len(whole)), changed)
	}
	for range 100 {
		n := rand.IntN(len(whole))
		refused(fmt.Sprintf("cut to %d of %d", n, len(whole)), whole[:n])
		refused(fmt.Sprintf("byte %d missing", n), slices.Delete(slices.Clone(whole), n, n+1))
		refused(fmt.Sprintf("a byte added at %d", n), slices.Insert(slices.Clone(whole), n, byte(rand.IntN(256))))
	}
	refused("appended", append(slices.Clone(whole), 0))
	refused("twice", append(slices.Clone(whole), whole...))
	if left, err := os.ReadDir(target.dir); err != nil || len(left) != 0 {
		t.Errorf("something was written: %v, %v", left, err)
	}
}

// What is written, and cleared away, while a backup is made has no part in it.
func TestBackupIsOfOneMoment(t *testing.T) {
	t.Parallel()
	for kind, source := range empties(t) {
		t.Run(kind, func(t *testing.T) {
			source.TB = t
			source.fill()
			want, _ := source.backUp()
			beside, n := source.open(), 0
			m, file := source.backUpWhile(func(string) {
				n++
				err := beside.Write(t.Context(), database.Durable, "beside", func(tx *database.Tx) error {
					for _, table := range []string{"messages (id, conversation_id, direction, class, text, created_at) VALUES (?, 3, 'in', 'turn', 'new', 1)", "audit (id, action, created_at) VALUES (?, 'new', 1)"} {
						if _, err := tx.Exec("INSERT INTO "+table, 1000+n); err != nil {
							return err
						}
					}
					_, err := tx.Exec("UPDATE attachments SET state = 'gone', blob = ''")
					return err
				})
				if err = errors.Join(err, source.files().Remove(blobA)); err != nil {
					t.Error(err)
				}
			})
			if n < len(m.Tables) || !reflect.DeepEqual(m, want) {
				t.Errorf("%d rows were written beside it\n%+v\n%+v", n, m, want)
			}
			target := empties(t)["sqlite"]
			if _, err := target.restore(file); err != nil {
				t.Error(err)
			}
			if err := source.files().Remove(blobA); err != nil {
				t.Error(err)
			}
			for name, there := range map[string]bool{source.files().Path(blobA): false, target.files().Path(blobA): true} {
				if _, err := os.Stat(name); (err == nil) != there {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// An engine that runs on the target, and a schema that is newer than the backup's, are refused.
func TestTargetThatIsInUseIsRefused(t *testing.T) {
	t.Parallel()
	source := empties(t)["sqlite"]
	source.fill()
	_, file := source.backUp()
	for kind, target := range empties(t) {
		db := target.open()
		e, err := engines.Start(t.Context(), db.DB, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := target.restore(file); !errors.Is(err, engines.ErrRunning) && !errors.Is(err, backup.ErrNotEmpty) {
			t.Errorf("%s: %v", kind, err)
		}
		if n, err := storetest.Count(t.Context(), db, "SELECT count(*) FROM turns"); n != 0 || err != nil {
			t.Errorf("%s: %d turns, %v", kind, n, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A restore that was cut off once it was committed is complete: the same file restored again is
// told so, and the key is there. What is not just that is refused.
func TestRestoreAgainSaysThatItIsComplete(t *testing.T) {
	t.Parallel()
	source := empties(t)["sqlite"]
	source.fill()
	made, file := source.backUp()
	for kind, target := range empties(t) {
		if m, err := target.restore(file); err != nil || m.Already {
			t.Fatalf("%s: %+v, %v", kind, m, err)
		}
		db := target.open()
		if kind == "postgres" { // the functions come after the commit
			run(t, db, "DROP FUNCTION sb_script")
		}
		m, err := target.restore(file)
		if err != nil || !m.Already || m.Rows() != made.Rows() {
			t.Errorf("%s again: %+v, %v", kind, m, err)
		}
		run(t, db, "UPDATE messages SET text = text || '.' WHERE id = 21")
		if _, err := target.restore(file); !errors.Is(err, backup.ErrNotEmpty) || !strings.Contains(err.Error(), "it is whole, and can be started") {
			t.Errorf("%s with another text: %v", kind, err)
		}
		run(t, db, "UPDATE messages SET text = substr(text, 1, length(text) - 1) WHERE id = 21")
		if m, err := target.restore(file); err != nil || !m.Already {
			t.Errorf("%s as it was: %+v, %v", kind, m, err)
		}
		log := &testkit.Log{}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = storetest.Opened(t, target.url, target.dir, slog.New(slog.NewJSONHandler(log, nil)))
		for range 2 {
			e, err := engines.Start(t.Context(), db.DB, false)
			if err == nil {
				err = e.Close(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(log.String(), "the database was restored, and is whole"); n != 1 {
			t.Errorf("%s: two starts say so %d times", kind, n)
		}
		if _, err := target.restore(file); !errors.Is(err, backup.ErrNotEmpty) || strings.Contains(err.Error(), "it is whole") {
			t.Errorf("%s after a start: %v", kind, err)
		}
	}
}

func run(t *testing.T, db *store.DB, query string) {
	t.Helper()
	err := db.Write(t.Context(), database.Durable, "test", func(t *database.Tx) error { _, err := t.Exec(query); return err })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
