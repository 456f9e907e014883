package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/router/memory"
	"switchboard/router/people"
	"switchboard/store"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

// erasure erases somebody, as the owner orders it; the bytes of files that nothing refers to then are noted.
func (h *house) erasure(name string, unused *[]string) store.Erasure {
	return store.Erasure{
		Name: name, By: people.LocalActor("owner"), Owner: h.Owner(), Own: func(int64) error { return nil }, Shared: func(int64) bool { return true },
		Unused: func(ctx context.Context, blob string) error {
			used, err := h.Router.Referred(ctx, blob)
			if unused != nil && !used {
				*unused = append(*unused, blob)
			}
			return err
		},
	}
}

func (h *house) erase(name string) *memory.Erased {
	h.Helper()
	done, err := h.DB.Erase(h.Ctx, h.erasure(name, nil))
	if err != nil {
		h.Fatal(err)
	}
	return done
}

// ofOne puts a row of a person into each table that can have one: %[1]d makes its numbers, %[2]s is the name.
var ofOne = []string{
	`INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('%[2]s', 'user', 'local', 1, 1)`,
	`INSERT INTO conversations (id, channel, conversation, kind, place, created_at) VALUES (%[1]d1, 'tg', 'c%[1]d', 'direct', 'c%[1]d', 1)`,
	`INSERT INTO sessions (id, conversation_id, key, person, used_at, created_at) VALUES (%[1]d1, %[1]d1, 'tg:c%[1]d', '%[2]s', 1, 1)`,
	`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, text, created_at) VALUES
		(%[1]d1, %[1]d1, %[1]d1, %[1]d1, 'in', 'turn', '%[2]s', '', 1), (%[1]d2, %[1]d1, %[1]d1, %[1]d1, 'out', 'say', '%[2]s', '', 1), (%[1]d3, %[1]d1, NULL, NULL, 'in', 'overheard', '%[2]s', '', 1)`,
	`INSERT INTO attachments (message_id, session_id, state, blob, created_at, used_at) VALUES (%[1]d1, %[1]d1, 'clean', 'b%[1]d', 1, 1), (NULL, %[1]d1, 'clean', 'b%[1]d', 1, 1)`,
	`INSERT INTO turns (id, session_id, message_id, person, state, audited, created_at, finished_at) VALUES (%[1]d1, %[1]d1, %[1]d1, '%[2]s', 'done', TRUE, 1, 1)`,
	`INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (%[1]d1, 0, '', 1)`,
	`INSERT INTO tasks (turn_id, attempt, position, type, detail, state, created_at) VALUES (%[1]d1, 0, 0, 'tool', '', 'done', 1)`,
	`INSERT INTO reviews (turn_id, attempt, position, status, created_at) VALUES (%[1]d1, 0, 0, 'ok', 1)`,
	`INSERT INTO llm_calls (turn_id, step, ordinal, role, created_at) VALUES (%[1]d1, 'plan', 0, 'planner', 1)`,
	`INSERT INTO llm_bodies (turn_id, step, expires_at) VALUES (%[1]d1, 'plan', 9)`,
	`INSERT INTO deliveries (message_id, conversation_id, channel, seq, part, last, text, nonce, state, settled, created_at, updated_at) VALUES (%[1]d2, %[1]d1, 'tg', 1, 0, TRUE, '', '', 'sent', TRUE, 1, 1)`,
	`INSERT INTO approvals (id, kind, state, person, session_id, turn_id, created_at, expires_at) VALUES (%[1]d1, 'tool', 'accepted', '%[2]s', %[1]d1, %[1]d1, 1, 1), (%[1]d2, 'link', 'accepted', '%[2]s', %[1]d1, NULL, 1, 1)`,
	`INSERT INTO actions (code, kind, state, person, session_id, turn_id, message_id, created_at, expires_at) VALUES (%[3]s, 'choice', 'accepted', '%[2]s', %[1]d1, %[1]d1, %[1]d2, 1, 1)`,
	`INSERT INTO events (session_id, n, kind, turn_id, message_id, created_at) VALUES (%[1]d1, 1, 'plan', %[1]d1, NULL, 1), (%[1]d1, 2, 'message', NULL, %[1]d1, 1)`,
	`INSERT INTO memories (kind, scope, text, state, person, session_id, created_at, updated_at) VALUES ('fact', 'person:%[2]s', '', 'discarded', '%[2]s', %[1]d1, 1, 1)`,
	`INSERT INTO memory_settings (person, updated_at) VALUES ('%[2]s', 1)`,
	`INSERT INTO memory_days (person, day, calls) VALUES ('%[2]s', '2026-01-01', 1)`,
	`INSERT INTO memory_scopes (scope, merged_to) VALUES ('person:%[2]s', 1)`,
	`INSERT INTO recalled (kind, ref, scope, session_id, said_at, mark, words) VALUES ('message', %[1]d1, 'person:%[2]s', %[1]d1, 1, 'a', 'b'), ('summary', %[1]d1, 'person:%[2]s', %[1]d1, 1, 'a', 'b')`,
	`INSERT INTO jobs (id, owner, payload, spec, rules, conversation_id, state, created_at, updated_at) VALUES (%[1]d1, '%[2]s', 'notify', '{}', '{}', %[1]d1, 'done', 1, 1)`,
	`INSERT INTO runs (job_id, slot, state, created_at) VALUES (%[1]d1, 1, 'done', 1)`,
	`INSERT INTO notifications (person, text, created_at) VALUES ('%[2]s', '', 1)`,
	`INSERT INTO rejected (channel, conversation, reason, raw, created_at) VALUES ('tg', 'c%[1]d', '', %[3]s, 1)`,
	`INSERT INTO settings_versions (person, changes, created_at) VALUES ('%[2]s', '{}', 1)`,
	`INSERT INTO audit (person, action, turn_id, created_at) VALUES ('%[2]s', 'turn', %[1]d1, 1)`,
	`INSERT INTO usage (day, person, model, role, calls, tokens_in, tokens_out, cached, cost) VALUES ('2026-01-01', '%[2]s', 'm', 'planner', 1, 1, 1, 1, 1)`,
	`INSERT INTO spending (day, scope, name, settled, reserved) VALUES ('2026-01-01', 'person', '%[2]s', 1, 0)`,
}

func (h *house) has(number int, name string) {
	h.Helper()
	code := fmt.Sprintf("X'%02x'", number)
	if h.DB.PG() {
		code = fmt.Sprintf(`'\x%02x'`, number)
	}
	var statements []string
	for _, s := range ofOne {
		statements = append(statements, strings.NewReplacer("%[1]d", fmt.Sprint(number), "%[2]s", name, "%[3]s", code).Replace(s))
	}
	h.Exec(statements...)
}

// notWords are columns in which nobody's words stand, by why; a word is put into all others.
var notWords = map[string]string{
	"whose it is": `
		people.name identities.person messages.person turns.person sessions.person memories.person memory_settings.person memory_days.person notifications.person
		approvals.person approvals.decided_by actions.person jobs.owner settings_versions.person audit.person usage.person spending.name`,
	"where it is, and what": `
		conversations.channel conversations.conversation conversations.place sessions.key rejected.channel rejected.conversation memories.scope memory_scopes.scope
		recalled.kind recalled.scope attachments.blob audit.action`,
	"a list of patterns":    `people.tools`,
	"random, and of a hash": `memory_copy.log memory_log.name memory_wal.erased`,
}

// staysOf are columns that keep what is in them of somebody who was erased, by why.
var staysOf = map[string]string{
	"names and IDs of platforms": `deliveries.channel deliveries.platform_id deliveries.reply_to messages.author messages.identity messages.platform_id messages.reply_to attachments.type attachments.uploader`,
	"names, kinds, rules and outcomes of ours": `
		actions.outcome actions.used_by deliveries.nonce deliveries.outcome llm_calls.role llm_calls.step llm_calls.provider llm_calls.model messages.rule tasks.tool tasks.code tasks.rule
		tasks.allowed_by owners.host turns.outcome turns.holders audit.rule audit.outcome approvals.rule approvals.tool`,
	"taint":                              `messages.taint attachments.taint tasks.taint reviews.taint approvals.taint`,
	"hashes":                             `actions.code approvals.hash`,
	"lists and settings without words":   `actions.data approvals.data plans.secrets turns.terms people.timezone sessions.model sessions.language sessions.timezone sessions.private`,
	"money, counted by day":              `llm_calls.day usage.day usage.model usage.role spending.day memory_days.day`,
	"the settings that hold":             `settings_versions.changes settings_versions.layer settings_versions.conversation`,
	"where somebody wanted to be let in": `approvals.channel approvals.identity`,
}

// elsewhere are tables that have nothing of what anybody said, or cannot be said to be of one person, or whose rows go with those of recalled.
const elsewhere = `
	audit_segments browsers chat_calls cluster event_keys identities leases marks memory_copy moved owners people_away readings secrets signins tokens vectors`

type textColumn struct{ Table, Name, Type string }

// textColumns are all that can hold words.
func textColumns(t *testing.T) (list []textColumn) {
	t.Helper()
	if err := storetest.SQLite(t).Read(t.Context(), "columns", func(t *database.Tx) error {
		return t.All(&list, `
			SELECT m.name AS "table", c.name, c.type FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'recalled\_%' ESCAPE '\' AND m.name <> 'goose_db_version' AND c.type IN ('TEXT', 'BLOB') ORDER BY 1, 2`)
	}); err != nil || len(list) < 150 {
		t.Fatalf("%d columns, %v", len(list), err)
	}
	return list
}

// fill puts a word into all columns that are in no list, and says which: others can hold no such word, or are nobody's.
func (h *house) fill(columns []textColumn, word string, but ...map[string]string) map[string]bool {
	h.Helper()
	not, filled := in(append(but, notWords)...), map[string]bool{}
	for _, c := range columns {
		name := c.Table + "." + c.Name
		if not[name] {
			continue
		}
		value := any(word)
		if c.Type == "BLOB" {
			value = []byte(word)
		}
		var n int64
		err := h.DB.Write(h.Ctx, database.Async, "fill", func(t *database.Tx) error {
			return t.Try(func() (err error) {
				n, err = t.Exec(fmt.Sprintf(`UPDATE "%s" SET "%s" = ?`, c.Table, c.Name), value)
				return err
			})
		})
		filled[name] = err == nil && n > 0
	}
	return filled
}

// in says what stands in lists.
func in(lists ...map[string]string) map[string]bool {
	said := map[string]bool{}
	for _, list := range lists {
		for _, columns := range list {
			for _, c := range strings.Fields(columns) {
				said[c] = true
			}
		}
	}
	return said
}

// A word is put into every column of somebody's rows. Once they are erased it stands nowhere but where that is said above; what is somebody
// else's is as it was.
func TestErasedWordsStandNowhere(t *testing.T) {
	columns := textColumns(t)
	each(t, func(t *testing.T, h *house) {
		h.has(7, "eve")
		h.Exec("INSERT INTO identities (identity, person, created_at) VALUES ('tg:7', 'eve', 1)")
		for _, c := range columns {
			if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM "+c.Table); err != nil || n == 0 && !slices.Contains(strings.Fields(elsewhere), c.Table) {
				t.Fatalf("%s has no row of somebody: put one in, or say why not (%v)", c.Table, err)
			}
		}
		const word = "zqword"
		filled := h.fill(columns, word)
		h.Exec("UPDATE identities SET identity = 'tg:7'", "INSERT INTO audit (id, person, action, data, created_at) VALUES (900, 'owner', 'person.role', '{\"was\":\"person eve\"}', 2)")
		h.has(8, "tom")
		h.Exec("UPDATE messages SET text = 'ask eve, not evelyn' WHERE id = 81", "UPDATE messages SET text = 'evelyn' WHERE id = 83",
			"INSERT INTO memories (id, kind, scope, text, state, person, created_at, updated_at) VALUES (900, 'fact', 'person:tom', 'Eve''s birthday is in May', 'active', 'tom', 1, 1)")
		before := h.rowsOf(columns, "tom")
		done := h.erase("eve")
		if done.Messages != 2 || done.Answers != 1 || done.Naming != 1 || done.Jobs != 1 || done.Notifications != 1 || done.Files != 2 || done.Prompts != 2 || done.Memories != 1 || done.Others != 1 ||
			done.Summaries != 1 || done.AuditRows != 2 || done.Unfinished != 0 {
			t.Errorf("%+v", done)
		}
		stays := in(staysOf)
		for _, c := range columns {
			name := c.Table + "." + c.Name
			var n int64
			if err := h.DB.Read(h.Ctx, "look", func(t *database.Tx) error {
				value := any(word)
				if c.Type == "BLOB" {
					value = []byte(word)
				}
				_, err := t.Row(fmt.Sprintf(`SELECT count(*) FROM "%s" WHERE "%s" = ?`, c.Table, c.Name), []any{value}, &n)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			switch {
			case n > 0 && !stays[name]:
				t.Errorf("%s keeps what was said: erase it, or say why not", name)
			case n == 0 && stays[name] && filled[name]:
				t.Errorf("%s is said to stay, and is erased", name)
			}
		}
		if after := h.rowsOf(columns, "tom"); after != before {
			t.Errorf("what is tom's was\n%s\nand is\n%s", before, after)
		}
		h.WantCount(0, "SELECT count(*) FROM memories WHERE id = 900 OR person = 'eve'")
		h.WantCount(0, "SELECT count(*) FROM audit WHERE person = 'eve' OR data LIKE '%eve%' OR target LIKE '%eve%'")
		again := h.erase("eve")
		if again.Messages+again.Answers+again.Files+again.Memories+again.Jobs+again.Prompts+again.Summaries+again.AuditRows != 0 {
			t.Errorf("again: %+v", again)
		}
	})
}

// rowsOf are the rows of somebody's numbers, as far as they have text.
func (h *house) rowsOf(columns []textColumn, name string) string {
	h.Helper()
	var b strings.Builder
	of := map[string]string{
		"messages": "person = ?", "turns": "person = ?", "jobs": "owner = ?", "notifications": "person = ?", "approvals": "person = ?", "actions": "person = ?", "people": "name = ?",
		"memory_settings": "person = ?", "plans": "turn_id = 81 AND ? <> ''", "tasks": "turn_id = 81 AND ? <> ''", "events": "session_id = 81 AND ? <> ''",
		"sessions": "person = ?", "recalled": "session_id = 81 AND ? <> ''", "attachments": "session_id = 81 AND ? <> ''", "rejected": "conversation = 'c8' AND ? <> ''", "audit": "person = ?",
	}
	for _, c := range columns {
		if where := of[c.Table]; where != "" && c.Type == "TEXT" {
			list, err := database.Read(h.Ctx, h.DB.DB, "look", func(t *database.Tx) ([]string, error) {
				return t.Names(fmt.Sprintf(`SELECT coalesce("%s", '') AS name FROM "%s" WHERE %s ORDER BY 1`, c.Name, c.Table, where), name)
			})
			if err != nil {
				h.Fatal(err)
			}
			fmt.Fprintln(&b, c.Table, c.Name, list)
		}
	}
	return b.String()
}

// In a group others go on: their prompts and summaries lose what was said, and it is summed up again.
func TestErasedGroupGoesOn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.has(7, "eve")
		h.has(8, "tom")
		h.Exec(
			`INSERT INTO conversations (id, channel, conversation, kind, place, created_at) VALUES (1, 'tg', 'g', 'group', 'g', 1), (2, 'tg', 'g/t', 'thread', 'g', 1)`,
			`INSERT INTO sessions (id, conversation_id, key, summary, summed_to, reset_message, used_at, created_at) VALUES (1, 1, 'tg:g', 'eve spoke', 3, 1, 1, 1), (2, 2, 'tg:g/t', 'others', 3, 0, 1, 1)`,
			`INSERT INTO messages (id, conversation_id, session_id, direction, class, person, text, quote, created_at) VALUES
				(1, 1, 1, 'in', 'turn', 'eve', 'secret', '', 1), (2, 1, 1, 'in', 'turn', 'tom', 'mine', 'secret', 1), (3, 2, 2, 'in', 'turn', 'tom', 'mine', '', 1)`,
			`INSERT INTO turns (id, session_id, message_id, person, state, audited, created_at) VALUES (2, 1, 2, 'tom', 'done', TRUE, 1), (3, 2, 3, 'tom', 'done', TRUE, 1)`,
			`INSERT INTO llm_calls (turn_id, step, ordinal, role, created_at) VALUES (2, 'plan', 0, 'planner', 1), (3, 'plan', 0, 'planner', 1)`,
			`INSERT INTO llm_bodies (turn_id, step, expires_at) VALUES (2, 'plan', 9), (3, 'plan', 9)`,
			`INSERT INTO leases (kind, name, fence, taken_at, owner) VALUES ('memory', 'tom', 5, 1, `+storetest.NameOf(h.Owner())+`)`,
		)
		there, err := h.Router.Erasable(h.Ctx, "eve")
		if err != nil {
			t.Fatal(err)
		}
		done := h.erase("eve")
		if done.Folders != 1 || done.Summaries != 1 || there.Summaries != 1 {
			t.Errorf("there was %+v, and gone is %+v", there, done)
		}
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE id = 1 AND summary = '' AND summed_to = 1 AND restless = TRUE")
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE id = 2 AND summary = 'others' AND summed_to = 3")
		h.WantCount(1, "SELECT count(*) FROM messages WHERE id = 2 AND text = 'mine' AND quote = ''")
		h.WantCount(0, "SELECT count(*) FROM llm_bodies") // what eve said for everybody may have stood there
		h.WantCount(1, "SELECT count(*) FROM leases WHERE kind = 'memory' AND name = 'tom' AND fence = 6 AND owner IS NULL")
	})
}

// What somebody wrote by a name that was joined to theirs goes with it, and what was learned of them, is queued or asked while they are
// erased is told apart.
func TestEraseTakesAllOfSomebody(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.has(7, "eve")
		h.has(8, "tom")
		now := fmt.Sprint(time.Now().UnixMicro())
		h.Exec(
			`INSERT INTO identities (identity, person, created_at) VALUES ('tg:7', 'eve', 1), ('tg:8', 'tom', 1)`,
			`INSERT INTO conversations (id, channel, conversation, kind, place, created_at) VALUES (1, 'tg', 'g', 'group', 'g', 1), (3, 'tg', 'd', 'direct', 'd', 1)`,
			`INSERT INTO sessions (id, conversation_id, key, used_at, created_at) VALUES (1, 1, 'tg:g', 1, 1)`,
			`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, identity, text, created_at) VALUES
				(1, 1, 1, 1, 'in', 'turn', 'evie', 'tg:7', 'secret', 1), (2, 1, 1, 1, 'out', 'say', '', '', 'secret', 1),
				(3, 1, 1, 3, 'in', 'turn', 'tom', 'tg:8', 'mine', 1), (4, 3, NULL, NULL, 'in', 'overheard', '', 'tg:7', 'secret', 1)`,
			`INSERT INTO turns (id, session_id, message_id, person, state, audited, created_at) VALUES (1, 1, 1, 'evie', 'done', TRUE, 1), (3, 1, 3, 'tom', 'done', TRUE, 1)`,
			// Each was answered with a file; of one, others were sent a link too.
			`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, text, created_at) VALUES (6, 1, 1, 3, 'out', 'say', 'mine', 1)`,
			`INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, text, created_at) VALUES (7, 1, 1, 3, 'in', 'turn', 'tom', '[it](attachment:53)', 1)`,
			`INSERT INTO deliveries (id, message_id, conversation_id, channel, seq, part, last, text, extra, nonce, state, settled, created_at, updated_at) VALUES
				(51, 2, 1, 'tg', 1, 0, TRUE, '', '{"files":[{"blob":"b51","name":"answer.md"},{"blob":"b53","name":"plan.md"}]}', 'n51', 'sent', TRUE, 1, 1),
				(52, 6, 1, 'tg', 2, 0, TRUE, '', '{"files":[{"blob":"b52","name":"answer.md"}]}', 'n52', 'sent', TRUE, 1, 1)`,
			`INSERT INTO attachments (id, session_id, name, state, blob, created_at, used_at) VALUES
				(51, 1, 'answer.md', 'clean', 'b51', 1, 1), (52, 1, 'answer.md', 'clean', 'b52', 1, 1), (53, 1, 'plan.md', 'clean', 'b53', 1, 1),
				(54, 1, 'unsent.md', 'clean', 'b54', 1, 1), (55, 1, 'unsent.md', 'clean', 'b55', 1, 1)`,
			`INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (1, 0, 'secret', 1), (3, 0, 'mine', 1)`,
			`INSERT INTO tasks (turn_id, attempt, position, type, tool, detail, output, state, created_at) VALUES (3, 0, 0, 'tool', 'memory.search', '', 'secret', 'done', 1),
				(1, 0, 0, 'tool', 'workspace.publish', '', '[it](attachment:54)', 'done', 1), (1, 0, 1, 'tool', 'workspace.publish', '', '[it](attachment:53)', 'done', 1),
				(1, 0, 2, 'tool', 'web.fetch', '', '[it](attachment:55)', 'done', 1)`,
			`UPDATE rejected SET conversation = 'd' WHERE conversation = 'c8'`, `UPDATE rejected SET conversation = '' WHERE conversation = 'c7'`,
			`INSERT INTO approvals (id, kind, state, person, data, created_at, expires_at) VALUES (1, 'link', 'proposed', 'tom', '{"maker":{"Name":"eve"}}', 1, `+now+`)`,
			`INSERT INTO memories (id, kind, scope, text, state, person, source, superseded_by, created_at, updated_at) VALUES
				(803, 'fact', 'person:tom', 'Eve parks in garage 3 and my bike is there', 'active', 'tom', 'merge', NULL, 1, 1),
				(801, 'fact', 'person:tom', 'Eve parks in garage 3', 'superseded', 'tom', 'said', 803, 1, 1), (802, 'fact', 'person:tom', 'my bike is in garage 3', 'superseded', 'tom', 'said', 803, 1, 1),
				(815, 'fact', 'person:tom', 'Eve has a red car, mine is blue, and I like tea', 'active', 'tom', 'merge', NULL, 1, 1),
				(813, 'fact', 'person:tom', 'Eve has a red car, and mine is blue', 'superseded', 'tom', 'merge', 815, 1, 1), (814, 'fact', 'person:tom', 'I like tea', 'superseded', 'tom', 'said', 815, 1, 1),
				(811, 'fact', 'person:tom', 'Eve has a red car', 'superseded', 'tom', 'said', 813, 1, 1), (812, 'fact', 'person:tom', 'my car is blue', 'superseded', 'tom', 'said', 813, 1, 1)`,
			`INSERT INTO audit (id, person, action, target, data, created_at) VALUES
				(901, 'evie', 'turn', '', '{"cost":1}', 1), (902, 'owner', 'session.reset', 'session console:eve/main', '{}', 1), (903, 'owner', 'memory.add', 'memory 1', '{"scope":"person:eve"}', 1),
				(904, 'tom', 'job.add', '', '{"eve":"tom","channel":"eve"}', 1), (905, 'tom', 'turn', '', '{"identity":"tg:7"}', 1)`,
		)
		what := h.erasure("eve", nil)
		what.KeepOthers = true
		if done, err := h.DB.Erase(h.Ctx, what); err != nil || done.Others != 5 {
			t.Errorf("%+v, %v", done, err)
		}
		h.WantCount(1, "SELECT count(*) FROM memories WHERE id = 803 AND state = 'active'")
		h.WantCount(0, "SELECT count(*) FROM messages WHERE text = 'secret'")
		h.WantCount(2, "SELECT count(*) FROM attachments WHERE id IN (51, 54) AND state = 'gone' AND name = ''")
		h.WantCount(3, "SELECT count(*) FROM attachments WHERE id IN (52, 53, 55) AND state = 'clean'")
		h.WantCount(1, "SELECT count(*) FROM rejected WHERE conversation = ''") // anybody's
		h.WantCount(1, "SELECT count(*) FROM rejected")
		h.WantCount(1, "SELECT count(*) FROM plans WHERE turn_id IN (1, 3) AND goal <> ''")
		h.WantCount(1, "SELECT count(*) FROM approvals WHERE id = 1 AND state = 'cancelled' AND data = '{}'")
		h.WantCount(3, "SELECT count(*) FROM audit WHERE id IN (901, 902, 903) AND person <> 'evie' AND target NOT LIKE '%eve%' AND data = '{}'")
		h.WantCount(2, "SELECT count(*) FROM audit WHERE id IN (904, 905) AND data <> '{}'")

		// While it goes on: a look at rest writes what it learned, and she writes again.
		h.Exec("UPDATE turns SET state = 'waiting' WHERE id = 3", "UPDATE tasks SET output = 'secret' WHERE turn_id = 3",
			"INSERT INTO llm_calls (turn_id, step, ordinal, role, created_at) VALUES (3, 'plan', 0, 'planner', 1)", "INSERT INTO llm_bodies (turn_id, step, expires_at) VALUES (3, 'plan', 9)",
			"UPDATE llm_bodies SET answer = (SELECT raw FROM rejected), request = (SELECT raw FROM rejected)")
		once := false
		what = h.erasure("eve", nil)
		what.Own = func(int64) error {
			if !once {
				once = true
				h.Exec(
					"INSERT INTO memories (id, kind, scope, text, state, person, created_at, updated_at) VALUES (910, 'learning', 'session:1', 'secret', 'pending', 'eve', 1, 1)",
					"INSERT INTO messages (id, conversation_id, session_id, turn_id, direction, class, person, text, created_at) VALUES (910, 1, 1, 910, 'in', 'turn', 'eve', 'hello again', 1)",
					"INSERT INTO turns (id, session_id, message_id, person, state, created_at) VALUES (910, 1, 910, 'eve', 'running', 1)")
				go func() { // tom allows it, once its prompts are gone
					for n := int64(0); n == 0 && h.Ctx.Err() == nil; {
						n, _ = storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM llm_bodies WHERE turn_id = 3 AND request IS NULL")
					}
					_ = h.DB.Write(h.Ctx, database.Async, "end", func(t *database.Tx) error { return t.Do("UPDATE turns SET state = 'done' WHERE id = 3") })
				}()
			}
			return nil
		}
		done, err := h.DB.Erase(h.Ctx, what)
		if err != nil || done.Unfinished != 0 || done.Others != 5 {
			t.Errorf("%+v, %v", done, err)
		}
		h.WantCount(0, "SELECT count(*) FROM memories WHERE person = 'eve'")
		h.WantCount(1, "SELECT count(*) FROM messages WHERE id = 910 AND text = 'hello again'")
		h.WantCount(0, "SELECT count(*) FROM tasks WHERE output = 'secret'")
		h.WantCount(3, "SELECT count(*) FROM memories WHERE id IN (802, 812, 814) AND state = 'active'")
		h.WantCount(0, "SELECT count(*) FROM memories WHERE id IN (801, 803, 811, 813, 815)")

		// Nothing is changed of the log once another engine seals it.
		h.Exec("UPDATE turns SET state = 'done'", "INSERT INTO audit (id, person, action, created_at) VALUES (990, 'eve', 'turn', 2)")
		what.Own = func(int64) error {
			h.Exec("UPDATE leases SET fence = fence + 1 WHERE name = 'audit'")
			return nil
		}
		if _, err := h.DB.Erase(h.Ctx, what); !errors.Is(err, core.ErrFenced) {
			t.Errorf("without the lease: %v", err)
		}
		h.WantCount(1, "SELECT count(*) FROM audit WHERE id = 990 AND person = 'eve'")
	})
}

// What is under way is stopped first; whom nobody knows is nobody; who was removed can be erased still, and what somebody else holds stays.
func TestEraseRefuses(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if _, err := h.DB.Erase(h.Ctx, h.erasure("nobody", nil)); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
		h.Exec("INSERT INTO memories (kind, scope, text, state, person, created_at, updated_at) VALUES ('fact', 'person:zoe', 'secret', 'active', 'zoe', 1, 1)")
		for range 2 { // the second time as where the first was killed in its middle
			h.erase("zoe")
		}
		ref := h.Begun("c", "1")
		_, err := h.DB.Erase(h.Ctx, h.erasure("marco", nil))
		if state, ok := errors.AsType[*core.StateError](err); !ok || !strings.Contains(state.Sentence, "turn cancel") {
			t.Fatalf("while a turn runs: %v", err)
		}
		h.WantCount(1, "SELECT count(*) FROM messages WHERE text <> ''")
		h.Commit(ref, storetest.End("done", "answered"))
		name := storetest.BlobName("a")
		h.Exec(
			"INSERT INTO attachments (message_id, session_id, state, blob, created_at, used_at) SELECT id, session_id, 'clean', '"+name+"', 1, 1 FROM messages",
			"INSERT INTO attachments (session_id, position, state, blob, created_at, used_at) SELECT id, 1, 'clean', '"+name+"', 1, 1 FROM sessions",
			"UPDATE sessions SET person = 'tom'",
		)
		var unused []string
		done, err := h.DB.Erase(h.Ctx, h.erasure("marco", &unused)) // who is in no directory
		if err != nil || done.Messages != 1 || done.Files != 1 || len(unused) != 0 {
			t.Errorf("%+v, unused %q, %v", done, unused, err)
		}
		h.Exec("UPDATE attachments SET blob = '" + name + "', state = 'gone'") // as one leaves it that is killed before the bytes are removed
		if _, err = h.DB.Erase(h.Ctx, h.erasure("marco", &unused)); err != nil || !slices.Equal(unused, []string{name}) {
			t.Errorf("unused %q, %v", unused, err)
		}
		h.WantCount(0, "SELECT count(*) FROM attachments WHERE blob <> ''")
	})
}

// The audit log verifies after an erasure, against a hash that was kept elsewhere too, and shows what was changed by hand before and since.
func TestErasedAuditVerifies(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.has(7, "eve")
		h.Exec("DELETE FROM audit WHERE person = 'eve'")
		by := func(person string) {
			if err := h.Router.ProposeClaim(h.Ctx, []byte(fmt.Sprint(person, time.Now())), "", time.Now().Add(time.Hour), people.LocalActor(person)); err != nil {
				t.Fatal(err)
			}
		}
		for i, person := range []string{"eve", "tom", "eve"} {
			by(person)
			h.Later(time.Duration(i+1) * time.Hour)
			h.seal()
		}
		by("eve")
		kept, err := h.DB.LastSeal(h.Ctx)
		if err != nil || kept == nil {
			t.Fatal(kept, err)
		}
		there, err := h.Router.Erasable(h.Ctx, "eve")
		if done := h.erase("eve"); err != nil || done.AuditRows != 3 || there.AuditRows != 3 {
			t.Errorf("there was %+v, %v, and gone is %+v", there, err, done)
		}
		if v, err := h.DB.VerifyAudit(h.Ctx, kept); err != nil || v.Segments != 3 || v.Erased != 2 {
			t.Errorf("%+v, %v", v, err)
		}
		h.WantCount(0, "SELECT count(*) FROM audit WHERE person = 'eve'")
		h.WantCount(2, "SELECT count(*) FROM audit WHERE action = 'memory.erase' AND target = 'person "+audit.ErasedName("eve")+"'")
		h.Later(5 * time.Hour)
		h.seal()
		tampered := func(what string) {
			t.Helper()
			_, err := h.DB.VerifyAudit(h.Ctx, nil)
			if _, ok := errors.AsType[*audit.TamperedError](err); !ok {
				t.Errorf("%s: %v", what, err)
			}
		}
		h.Exec("UPDATE audit SET rule = rule || 'x' WHERE person LIKE 'sha256:%' AND id = (SELECT min(id) FROM audit)")
		tampered("changed since")
		h.Exec("UPDATE audit SET rule = substr(rule, 1, length(rule) - 1) WHERE person LIKE 'sha256:%' AND id = (SELECT min(id) FROM audit)")
		h.verified()
		h.Exec("UPDATE audit SET rule = 'x' WHERE person = 'tom'", "UPDATE audit SET person = 'ann' WHERE person = 'tom'", "INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('ann', 'user', 'local', 1, 1)")
		h.erase("ann")
		tampered("changed before an erasure")
	})
}
