package store_test

import (
	"testing"
	"time"

	"switchboard/store/database"
	"switchboard/store/storetest"
)

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
				// All that is erased at once is: her other prompts, which are the last.
				for n := int64(1); n > 0 && h.Ctx.Err() == nil; {
					n, _ = storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM llm_bodies WHERE turn_id = 71")
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
