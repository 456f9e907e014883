package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/memory"
	"switchboard/store/storetest"
)

// crowded is a group where eve and tom wrote so much that it is erased in several batches, and what else there is of her.
var crowded = []string{
	`INSERT INTO conversations (id, channel, conversation, kind, place, created_at) VALUES (1, 'tg', 'g', 'group', 'g', 1)`,
	`INSERT INTO sessions (id, conversation_id, key, summary, summed_to, used_at, created_at) VALUES (1, 1, 'tg:g', 'zqword', 9000, 1, 1)`,
	`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, text, quote, created_at)
		WITH RECURSIVE x (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM x WHERE i < 1199)
		SELECT 1000 + i, 1, 1, 1000 + i / 10, 'in', 'turn', CASE i / 10 % 2 WHEN 0 THEN 'eve' ELSE 'tom' END, CASE i / 10 % 2 WHEN 0 THEN 'zqword' ELSE 'mine' END, 'zqword', 1 FROM x`,
	`INSERT INTO turns (id, session_id, message_id, person, state, audited, created_at) SELECT turn_id, 1, id, person, 'done', TRUE, 1 FROM messages WHERE session_id = 1 AND id % 10 = 0`,
	`INSERT INTO plans (turn_id, attempt, goal, created_at) SELECT id, 0, CASE person WHEN 'eve' THEN 'zqword' ELSE 'mine' END, 1 FROM turns WHERE session_id = 1`,
	`INSERT INTO tasks (turn_id, attempt, position, type, tool, detail, output, state, created_at) SELECT id, 0, 0, 'tool', 'memory.search', '', 'zqword', 'done', 1 FROM turns WHERE session_id = 1`,
	`INSERT INTO llm_calls (turn_id, step, ordinal, role, created_at) SELECT id, 'plan', 0, 'planner', 1 FROM turns WHERE session_id = 1`,
	`INSERT INTO llm_bodies (turn_id, step, expires_at) SELECT id, 'plan', 9 FROM turns WHERE session_id = 1`,
	`INSERT INTO events (session_id, n, kind, turn_id, data, created_at) SELECT 1, id, 'plan', turn_id, 'zqword', 1 FROM messages WHERE session_id = 1 AND person = 'eve'`,
	`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, text, created_at) VALUES (3000, 1, 1, 1000, 'out', 'say', '[zqword](attachment:3000)', 1)`,
	`INSERT INTO attachments (id, session_id, state, name, blob, created_at, used_at) VALUES (3000, 1, 'clean', 'zqword', '` + storetest.BlobName("a") + `', 1, 1)`,
	`INSERT INTO memories (id, kind, scope, text, state, person, source, superseded_by, created_at, updated_at) VALUES
		(800, 'fact', 'person:eve', 'zqword', 'active', 'eve', 'said', NULL, 1, 1), (803, 'fact', 'person:tom', 'Eve parks zqword and my bike is there', 'active', 'tom', 'merge', NULL, 1, 1),
		(801, 'fact', 'person:tom', 'Eve parks zqword', 'superseded', 'tom', 'said', 803, 1, 1), (802, 'fact', 'person:tom', 'my bike is there', 'superseded', 'tom', 'said', 803, 1, 1)`,
	`INSERT INTO audit (id, person, action, target, data, created_at) VALUES (901, 'owner', 'memory.add', 'memory 1', '{"scope":"person:eve","why":"zqword"}', 1), (902, 'tom', 'turn', '', '{"cost":1}', 1)`,
}

// An erasure that is killed after each of its transactions in turn, and run again by another engine, leaves what one leaves that ran once.
func TestErasureThatIsKilled(t *testing.T) {
	columns := textColumns(t)
	each(t, func(t *testing.T, h *house) {
		open := storetest.SQLite
		if h.DB.PG() {
			open = storetest.Postgres
		}
		once, at := newHouse(t, open(t)), time.Now()
		for _, h := range []*house{once, h} {
			h.has(7, "eve")
			h.fill(columns, "zqword", staysOf, map[string]string{"names, IDs and numbers": "audit.target"})
			h.Later(time.Hour)
			h.seal()
			h.has(8, "tom")
			h.Exec(crowded...)
		}
		var unused, unusedOnce []string
		once.DB.Now = func() time.Time { return at }
		if _, err := once.DB.Erase(once.Ctx, once.erasure("eve", &unusedOnce)); err != nil {
			t.Fatal(err)
		}
		kills := int64(0)
		for err := context.Canceled; err != nil; kills++ {
			ctx, kill := context.WithCancel(h.Ctx)
			var begun atomic.Int64
			h.DB.Now = func() time.Time { // each transaction asks once
				if begun.Add(1) > kills {
					kill()
				}
				return at
			}
			if _, err = h.DB.Erase(ctx, h.erasure("eve", &unused)); err != nil && ctx.Err() == nil {
				t.Fatalf("after %d kills: %v", kills, err)
			}
			kill()
			h.House = h.Successor()
		}
		t.Logf("%d kills", kills)
		if all := storetest.Traces(t, h.DB); strings.Contains(all, "zqword") {
			i := strings.Index(all, "zqword")
			t.Errorf("there is still %q", all[max(0, i-200):i+10])
		}
		slices.Sort(unused)
		if unused = slices.Compact(unused); !slices.Equal(unused, unusedOnce) || len(unused) != 2 {
			t.Errorf("files %q, want %q", unused, unusedOnce)
		}
		want, got := once.left(columns), h.left(columns)
		for _, row := range want {
			if !slices.Contains(got, row) {
				t.Errorf("it is not there: %s", row)
			}
		}
		for _, row := range got {
			if !slices.Contains(want, row) {
				t.Errorf("it should not be there: %s", row)
			}
		}
		if said := "erase 0 " + audit.ErasedName("eve"); !slices.Contains(got, said) {
			t.Errorf("no record: %s", said)
		}
		h.WantCount(1, "SELECT count(*) FROM audit WHERE action = 'memory.erase' AND outcome = 'done' AND target = 'person "+audit.ErasedName("eve")+"'")
		if v := h.verified(); v.Segments != 1 || v.Erased != 1 {
			t.Errorf("%+v", v)
		}
	})
}

// itsOwn are tables in which each run of an erasure leaves something of itself, or that say which database it is.
const itsOwn = ` audit_segments cluster leases memory_log memory_wal owners `

// left are all rows but those that each run of an erasure writes of itself, and what a copy of the memory is told.
func (h *house) left(columns []textColumn) (rows []string) {
	h.Helper()
	for line := range strings.Lines(storetest.Traces(h, h.DB)) {
		table, row, _ := strings.Cut(line, ": ")
		if slices.ContainsFunc(columns, func(c textColumn) bool { return c.Table == table }) && !strings.Contains(itsOwn, " "+table+" ") && !strings.Contains(row, ".erase") {
			rows = append(rows, line)
		}
	}
	list, _, err := memory.New(h.DB.DB).MemoryRecords(h.Ctx, 1)
	if err != nil {
		h.Fatal(err)
	}
	for _, r := range list {
		if r.Memory != nil {
			r.ID = r.Memory.ID
		}
		rows = append(rows, fmt.Sprintf("%s %d %s", r.Op, r.ID, r.Person))
	}
	return rows
}

// Turns that read what is erased before it was, and write their prompts after it was, are waited for: one that she began meanwhile, and
// one of somebody else in a far chat, where something of hers for everybody stood.
func TestEraseWaitsForWhatWasRead(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.has(7, "eve")
		h.has(8, "tom")
		h.Exec(
			"INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('rule', 'global', 'secret', 'active', 'eve', 1, 1)",
			"UPDATE turns SET state = 'running' WHERE id = 81", "DELETE FROM llm_bodies WHERE turn_id = 81",
		)
		begins := `INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, text, created_at) VALUES (910, 71, 71, 910, 'in', 'turn', 'eve', 'hello again', 1);
			INSERT INTO turns (id, session_id, message_id, person, state, created_at) VALUES (910, 71, 910, 'eve', 'running', 1)`
		if h.DB.PG() {
			h.Exec("CREATE FUNCTION begins() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+begins+"; RETURN NEW; END $$",
				"CREATE TRIGGER begins AFTER INSERT ON audit FOR EACH ROW WHEN (NEW.outcome = 'begun') EXECUTE FUNCTION begins()")
		} else {
			h.Exec("CREATE TRIGGER begins AFTER INSERT ON audit WHEN NEW.outcome = 'begun' BEGIN " + begins + "; END")
		}
		what, once := h.erasure("eve", nil), false
		ended := make(chan error, 1)
		what.Own = func(int64) error {
			if once {
				return nil
			}
			once = true
			go func() {
				// Until it erased what there is by now.
				for n, err := int64(1), error(nil); n > 0 && err == nil; {
					n, err = storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM llm_bodies WHERE turn_id = 71")
				}
				time.Sleep(time.Second) // an erasure that waits for nothing is over
				ended <- h.DB.Write(h.Ctx, database.Async, "end", func(t *database.Tx) error {
					_, err := t.Each([]string{
						"INSERT INTO llm_calls (turn_id, step, ordinal, role, created_at) VALUES (910, 'plan', 0, 'planner', ?)",
						"INSERT INTO llm_bodies (turn_id, step, expires_at) VALUES (910, 'plan', ?)", "INSERT INTO llm_bodies (turn_id, step, expires_at) VALUES (81, 'plan', ?)",
						"UPDATE turns SET state = 'done', finished_at = ? WHERE id IN (910, 81)",
					}, []any{9})
					return err
				})
			}()
			return nil
		}
		done, err := h.DB.Erase(h.Ctx, what)
		if err != nil {
			t.Fatal(err)
		}
		if done.Unfinished != 0 {
			t.Errorf("%+v", done)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		h.WantCount(0, "SELECT count(*) FROM llm_bodies")
	})
}
