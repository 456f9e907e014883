package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/backup"
	"switchboard/store/blobs"
	"switchboard/store/database"
	"switchboard/store/storetest"
)

var quiet = slog.New(slog.DiscardHandler)

// hard is a text with everything that an encoding may stumble over.
const hard = "tab\there\nand \\N \\. \\\\ 'it''s' \"q\" \r é 😀 \x7f{\"a\":[1]}"

// A row puts one row into a table, with every kind of value that it can have.
type row struct {
	query string
	args  []any
}

// everything has a row for each table.
var everything = []row{
	{`INSERT INTO owners (id, state, started_at, renewed_at) VALUES (7, 'alive', 1, 1)`, nil},
	{`INSERT INTO people (name, role, source, created_at, updated_at) VALUES ('Zoë', 'admin', 'local', 1, 1), ('b', 'user', 'open', 1, 1), ('a', 'user', 'config', 1, 1), ('Ä', 'user', 'open', 1, 1)`, nil},
	{`INSERT INTO people_away (name, role, tools, identities, created_at, away_at) VALUES ('left', 'user', '["*"]', '[{"identity":"tg:1","linked":true}]', 1, 2)`, nil},
	{`INSERT INTO identities (identity, person, linked, created_at) VALUES ('tg:1', 'Zoë', TRUE, 1), ('Tg:1', 'b', FALSE, 1)`, nil},
	{`INSERT INTO conversations (id, channel, conversation, kind, title, created_at) VALUES (3, 'tg', 'c1', 'direct', ?, 1), (4, 'tg', 'c2', 'group', '', 9223372036854775807)`, []any{hard}},
	{`INSERT INTO marks (channel, conversation, mark, noted_at) VALUES ('tg', 'c1', 'm', -5)`, nil},
	{`INSERT INTO moved (channel, former, conversation_id, moved_at) VALUES ('tg', 'old', 3, 1)`, nil},
	{`INSERT INTO sessions (id, conversation_id, key, summary, created_at) VALUES (11, 3, 'tg:c1', ?, 1)`, []any{hard}},
	{`INSERT INTO event_keys (key, expires_at) VALUES (?, 1), (?, 2), (?, 3)`, []any{[]byte{0, 0xff, '\\', '\n'}, []byte("b"), []byte{0xff}}},
	{`INSERT INTO chat_calls (key, generation, conversation, heard, created_at) VALUES (?, 2, 'c1', TRUE, 3)`, []any{[]byte{7, 0xfe}}},
	{`INSERT INTO rejected (channel, reason, raw, created_at) VALUES ('tg', 'r', ?, 1), ('tg', 'empty', ?, 1)`, []any{[]byte("\x00raw\x00\xfe"), []byte{}}},
	{`INSERT INTO messages (id, conversation_id, session_id, direction, class, text, outside, created_at) VALUES (21, 3, 11, 'in', 'turn', ?, TRUE, 1), (22, 3, 11, 'in', 'turn', '', FALSE, 1)`, []any{hard}},
	{`INSERT INTO attachments (message_id, session_id, position, name, state, blob, created_at, used_at) VALUES (21, 11, 0, 'a', 'clean', ?, 1, 1), (21, 11, 1, 'b', 'clean', ?, 1, 1), (22, 11, 0, 'lost', 'clean', ?, 1, 1)`, []any{blobA, blobA, lost}},
	{`INSERT INTO turns (id, session_id, message_id, person, state, merged_into, holders, created_at) VALUES (31, 11, 21, 'Zoë', 'merged', 32, ' 7:9:1', 1), (32, 11, 22, 'Zoë', 'running', NULL, ' 7:9:2', 1)`, nil},
	{`INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (32, 1, ?, 1)`, []any{hard}},
	{`INSERT INTO tasks (turn_id, attempt, position, type, detail, state, created_at) VALUES (32, 1, 0, 'tool', 'd', 'done', 1), (32, 1, 1, 'msg', '', 'pending', 1)`, nil},
	{`INSERT INTO reviews (turn_id, attempt, position, status, created_at) VALUES (32, 1, 0, 'ok', 1)`, nil},
	{`INSERT INTO llm_calls (turn_id, step, ordinal, role, cost, created_at) VALUES (32, 'plan-10', 2, 'planner', 0.1, 1), (32, 'plan-2', 1, 'planner', 1e-300, 1), (32, 'Plan', 3, 'planner', -0.0, 1)`, nil},
	{`INSERT INTO llm_bodies (turn_id, step, answer, request, response, expires_at) VALUES (32, 'plan-2', ?, NULL, ?, 1)`, []any{bytes.Repeat([]byte{0, 1, 2}, 1<<17), []byte{}}},
	{`INSERT INTO spending (day, scope, name, settled, reserved) VALUES ('2026-01-01', 'day', '', 1, 2), ('2026-01-01', 'person', 'Zoë', 1, 0), ('2026-01-01', 'person', 'b', 1, 0)`, nil},
	{`INSERT INTO usage (day, person, model, role, calls, tokens_in, tokens_out, cached, cost) VALUES ('2026-01-01', 'b', 'p/m', 'planner', 1, 2, 3, 4, 0.3)`, nil},
	{`INSERT INTO memories (kind, scope, session_id, text, state, confidence, created_at, updated_at) VALUES ('fact', 'session:11', 11, ?, 'active', 0.5, 1, 1)`, []any{hard}},
	{`INSERT INTO memory_settings (person, learning, recall, expire_after, denied, updated_at) VALUES ('ann', FALSE, TRUE, 5, '["health"]', 1)`, nil},
	{`INSERT INTO recalled (id, kind, ref, scope, session_id, said_at, mark, words) VALUES (71, 'memory', 1, 'session:11', 11, 1, 'abcdef', 'snow white')`, nil},
	{`INSERT INTO vectors (id, recalled_id, scope, model, dimension, vector) VALUES (72, 71, 'session:11', 'p/m', 2, ?)`, []any{[]byte{0, 0, 128, 63, 0, 0, 0, 0}}},
	{`INSERT INTO memory_days (person, day, calls) VALUES ('Zoë', '2026-01-01', 3)`, nil},
	{`INSERT INTO memory_scopes (scope, merged_to) VALUES ('person:Zoë', 7)`, nil},
	{`INSERT INTO memory_copy (id, log, n, come_to) VALUES (1, 'abc', 7, -1)`, nil},
	{`INSERT INTO deliveries (id, message_id, conversation_id, channel, seq, part, last, text, extra, nonce, state, fence, created_at, updated_at) VALUES (41, 22, 3, 'tg', 1, 0, TRUE, ?, ?, 'n', 'sending', 9, 1, 1), (42, 22, 3, 'tg', NULL, 0, FALSE, '', NULL, 'n2', 'draft', 0, 1, 1)`, []any{hard, `{"files":[{"blob":"` + blobB + `","name":"b","type":"t","size":1}]}`}},
	{`INSERT INTO approvals (id, kind, state, session_id, turn_id, hash, created_at, expires_at) VALUES (51, 'tool', 'accepted', 11, 32, ?, 1, 1)`, []any{[]byte{1}}},
	{`INSERT INTO actions (code, kind, state, session_id, turn_id, message_id, approval_id, created_at, expires_at) VALUES (?, 'approval', 'proposed', 11, 32, 22, 51, 1, 1)`, []any{[]byte{2}}},
	{`INSERT INTO events (session_id, n, kind, created_at) VALUES (11, 10, 'turn', 1), (11, 9, 'turn', 1)`, nil},
	{`INSERT INTO jobs (id, owner, payload, text, spec, rules, conversation_id, state, created_at, updated_at) VALUES (61, 'ann', 'notify', ?, '{}', '{}', NULL, 'active', 1, 1)`, []any{hard}},
	{`INSERT INTO runs (id, job_id, slot, state, created_at) VALUES (62, 61, 5, 'done', 1)`, nil},
	{`INSERT INTO notifications (person, job_id, run_id, text, created_at) VALUES ('ann', 61, 62, ?, 1)`, []any{hard}},
	{`INSERT INTO settings_versions (changes, created_at) VALUES ('{}', 1)`, nil},
	{`INSERT INTO audit (id, action, cost, created_at) VALUES (5, 'turn', 0.25, 1), (61, 'turn', 0, 1)`, nil},
	{`DELETE FROM audit WHERE id = 61`, nil},
	{`INSERT INTO audit_segments (id, hour, first_id, last_id, row_count, digest, previous, hash, sealed_at) VALUES (1, 1, 1, 88, 0, ?, ?, ?, 1)`, []any{[]byte{1}, []byte{}, []byte{3}}},
	{`INSERT INTO secrets (name, ciphertext, version, updated_at) VALUES ('s', ?, 1, 1)`, []any{[]byte("age")}},
	{`INSERT INTO tokens (name, hash, scopes, people, created_at, revoked_at) VALUES ('ci', ?, '["messages"]', '[]', 1, 2)`, []any{[]byte{0, 0xff}}},
	{`INSERT INTO browsers (hash, person, about, token, created_at, used_at, expires_at) VALUES (?, 'ann', ?, ?, 1, 2, 3)`, []any{[]byte{0, 0xfe}, hard, []byte{0, 0xff}}},
	{`INSERT INTO readings (person, session_id, event, pinned) VALUES ('ann', 11, 3, TRUE)`, nil},
	{`INSERT INTO leases (kind, name, owner, fence, taken_at) VALUES ('session', '11', 7, 9, 1), ('channel', 'tg', NULL, 4, 1)`, nil},
}

// The names of two files, "a" and "b", and of one that is not there.
const (
	blobA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	blobB = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
	lost  = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"
)

// A place is a database with its data folder.
type place struct {
	testing.TB
	dir string
	url string
}

// empties are places with nothing, one of each kind.
func empties(t testing.TB) map[string]*place {
	t.Helper()
	lite := &place{TB: t, dir: t.TempDir()}
	lite.url = "sqlite:" + filepath.Join(lite.dir, "switchboard.db")
	return map[string]*place{"sqlite": lite, "postgres": {t, t.TempDir(), storetest.PostgresURL(t)}}
}

func (p *place) files() *blobs.Dir { return blobs.New(filepath.Join(p.dir, "attachments")) }

func (p *place) open() *store.DB {
	p.Helper()
	return storetest.Opened(p, p.url, p.dir, quiet)
}

// fill migrates the database and puts everything into it, and two files beside it.
func (p *place) fill() {
	p.Helper()
	db := p.open()
	if err := db.Migrate(p.Context()); err != nil {
		p.Fatal(err)
	}
	err := db.Write(p.Context(), database.Durable, "fill", func(t *database.Tx) error {
		for _, r := range everything {
			if _, err := t.Exec(r.query, slices.Clone(r.args)...); err != nil {
				return fmt.Errorf("%s: %w", r.query, err)
			}
		}
		return nil
	})
	for _, text := range []string{"a", "b", "nobody's"} {
		_, _, e := p.files().Put(p.Context(), 0, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		p.Fatal(err)
	}
}

// backUp writes the database into a file.
func (p *place) backUp() (*backup.Manifest, string) {
	p.Helper()
	return p.backUpWhile(func(string) {})
}

// backUpWhile does so, and something else whenever it says how far it is.
func (p *place) backUpWhile(said backup.Progress) (*backup.Manifest, string) {
	p.Helper()
	db := p.open()
	var out bytes.Buffer
	m, err := backup.Write(p.Context(), backup.Source{DB: db.DB, Files: p.files(), Build: "test", Said: said}, &out)
	if err = errors.Join(err, db.Close()); err != nil {
		p.Fatal(err)
	}
	path := filepath.Join(p.TB.TempDir(), "backup")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		p.Fatal(err)
	}
	return m, path
}

func (p *place) restore(path string) (*backup.Manifest, error) {
	p.Helper()
	f, err := os.Open(path)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	return backup.Restore(p.Context(), backup.Target{Schema: store.Schema, Config: database.Config{URL: secrets.Secret(p.url)}, DataDir: p.dir, Files: p.files(), Log: quiet, Said: func(string) {}}, f)
}
