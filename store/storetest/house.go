package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// Opened is another handle on a database, as another process has it.
func Opened(t testing.TB, url, dir string, log *slog.Logger) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret(url)}, dir, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// A House is a database with an engine and the router's view, whose methods fail the test
// on an error.
type House struct {
	testing.TB
	DB     *store.DB
	Router *store.Router
	Engine *engines.Engine
	Ctx    context.Context //nolint:containedctx // the test's
}

// NewHouse starts an engine, which is closed when the test ends.
func NewHouse(t testing.TB, db *store.DB) *House {
	t.Helper()
	e, err := engines.Start(t.Context(), db.DB, false)
	if err != nil {
		t.Fatalf("start engine: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	h := &House{TB: t, DB: db, Router: db.Router(), Engine: e, Ctx: t.Context()}
	h.Renew()
	return h
}

// Die lets others find the engine dead, as a killed process's is.
func (h *House) Die() {
	h.Helper()
	if err := Die(h.Ctx, h.DB, h.Engine.ID()); err != nil {
		h.Fatal(err)
	}
}

// Die lets others find the engine of owner dead.
func Die(ctx context.Context, db *store.DB, owner int64) error {
	if !db.PG() { // the next to start takes a lock of its own, as if this one had none
		return os.Remove(db.Path() + ".lock")
	}
	err := db.DB.Write(ctx, database.Durable, "die", func(t *database.Tx) error {
		for _, s := range []string{"SELECT pg_terminate_backend(l) FROM sb_lockers(?) l", "UPDATE owners SET declared_at = sb_clock() WHERE id = ?"} {
			if _, err := t.Exec(s, owner); err != nil {
				return err
			}
		}
		return nil
	})
	// The server ends a connection when it comes to that.
	for locked := true; locked && err == nil; time.Sleep(5 * time.Millisecond) {
		locked, err = database.Value[bool](ctx, db.DB, "look whether it is dead", "SELECT sb_locked(?)", owner)
	}
	return err
}

// Renew renews the engine for ten minutes: a busy machine may take long, and nothing else renews it.
func (h *House) Renew() {
	h.Helper()
	if h.DB.PG() {
		Exec(h, h.DB, "UPDATE owners SET renewed_at = sb_clock(), expires_at = sb_clock() + 600000000, declared_at = NULL WHERE id = "+strconv.FormatInt(h.Engine.ID(), 10))
	}
}

// Expire makes it seem that the engine has not renewed in time.
func (h *House) Expire() {
	h.Helper()
	Exec(h, h.DB, "UPDATE owners SET expires_at = 1, renewed_at = 1 WHERE id = "+strconv.FormatInt(h.Engine.ID(), 10))
}

// Entry is what becomes a turn on channel "tg", conversation conv.
func Entry(conv, key, text string) intake.Entry {
	sum := sha256.Sum256([]byte("tg:" + key))
	return intake.Entry{
		Key: sum[:], Sender: intake.Sender{Identity: "tg:1", Person: "marco"}, Origin: "chat", Intent: &intake.TurnIntent{QueueLimit: 50},
		Event: channels.Event{
			Key: channels.EventKey(key), Kind: channels.EventMessage,
			Conversation: channels.Conversation{Channel: "tg", ID: channels.ConversationID(conv), Kind: channels.Direct, Place: conv},
			Sender:       channels.Sender{ID: "1", Label: "Marco P."},
			Message:      channels.Message{ID: channels.MessageID("m" + key), Text: text},
			At:           time.Unix(1700000000, 0),
		},
	}
}

// Claiming is e for an engine with a free worker.
func Claiming(e intake.Entry) intake.Entry {
	e.Turn().MayClaim = true
	return e
}

// Accept accepts entries.
func (h *House) Accept(entries ...intake.Entry) []intake.Accepted {
	h.Helper()
	out, err := h.Router.Accept(h.Ctx, h.Engine.ID(), entries)
	if err != nil {
		h.Fatalf("accept: %v", err)
	}
	return out
}

// Begun accepts one entry and returns its running turn.
func (h *House) Begun(conv, key string) core.TurnRef {
	h.Helper()
	a := h.Accept(Claiming(Entry(conv, key, "hello "+key)))[0]
	if a.Claimed == nil {
		h.Fatalf("turn of %s was not claimed: %+v", key, a)
	}
	return a.Claimed.TurnRef
}

// Commit commits a step.
func (h *House) Commit(ref core.TurnRef, step agent.Step, says ...outbox.Reply) *core.Claimed {
	h.Helper()
	next, err := h.Router.Commit(h.Ctx, ref, step, says)
	if err != nil {
		h.Fatalf("commit: %v", err)
	}
	return next
}

// Claim claims sessions of channel "tg".
func (h *House) Claim(limit int, except ...string) []core.Claimed {
	h.Helper()
	list, err := h.Router.Claim(h.Ctx, h.Engine.ID(), []string{"tg"}, except, limit)
	if err != nil {
		h.Fatalf("claim: %v", err)
	}
	return list
}

// Hold takes channel "tg".
func (h *House) Hold() outbox.Lease {
	h.Helper()
	hold, ok, err := h.Router.TakeChannel(h.Ctx, h.Engine.ID(), "tg")
	if err != nil || !ok {
		h.Fatalf("take channel: %v, %v", ok, err)
	}
	return hold
}

// Posts accepts a command whose reply has the given parts.
func (h *House) Posts(conv, key string, parts ...string) {
	h.Helper()
	e, reply := Entry(conv, key, "/help"), &outbox.Reply{Text: "help", Notice: true}
	for _, p := range parts {
		reply.Parts = append(reply.Parts, channels.Body{Text: p})
	}
	e.Intent = &intake.ControlIntent{Effect: intake.EffectNone, Reply: reply}
	h.Accept(e)
}

// Begin begins the next delivery of a conversation; nil: there is none.
func (h *House) Begin(hold outbox.Lease, conv channels.ConversationID) *outbox.Delivery {
	h.Helper()
	d, _, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: conv})
	if err != nil {
		h.Fatalf("begin: %v", err)
	}
	return d
}

// Settle records what became of a delivery.
func (h *House) Settle(hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) {
	h.Helper()
	if _, err := h.Router.Settle(h.Ctx, hold, d, s); err != nil {
		h.Fatalf("settle: %v", err)
	}
}

// End is a step that ends a turn.
func End(state, outcome string) agent.Step {
	return agent.Step{End: &agent.End{State: state, Outcome: outcome}}
}

// Owner is the engine's row.
func (h *House) Owner() int64 { return h.Engine.ID() }

// WantCount wants the query to count so many rows.
func (h *House) WantCount(want int, query string) {
	h.Helper()
	if n, err := Count(h.Ctx, h.DB, query); err != nil || n != int64(want) {
		h.Errorf("%s: %d, %v; want %d", query, n, err, want)
	}
}

// NameOf is a number in SQL or in a name.
func NameOf(id int64) string { return strconv.FormatInt(id, 10) }

// Exec runs statements in one transaction.
func (h *House) Exec(statements ...string) {
	h.Helper()
	if err := Write(h.Ctx, h.DB, statements...); err != nil {
		h.Fatal(err)
	}
}

// ErrKilled is how a step ends at which the process dies.
var ErrKilled = errors.New("killed")

// Atoi reads a number.
func Atoi(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// BlobName is the name of a blob, made of one digit.
func BlobName(c string) string { return strings.Repeat(c, 64) }

// CheckFiles wants no trace of text in the database's files.
func CheckFiles(t *testing.T, path, text string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files at %s: %v", path, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s holds %q", filepath.Base(file), text)
		}
	}
}

// Counts are how many rows each table has.
func (h *House) Counts(tables ...string) string {
	h.Helper()
	var b strings.Builder
	for _, table := range tables {
		n, err := Count(h.Ctx, h.DB, "SELECT count(*) FROM "+table)
		if err != nil {
			h.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d\n", table, n)
	}
	return b.String()
}
