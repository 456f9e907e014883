package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store"
	"switchboard/store/storetest"
)

const year = 365 * day

var keepAYear = store.Retention{Turns: day, Strangers: day, Prompts: day, Audit: day, Sessions: year}

// conversations are the names of the conversations that are there.
func (h *house) conversations() string {
	h.Helper()
	var names []string
	for _, name := range []string{"admin's", "busy", "former", "lent", "named", "old", "open", "strange", "strange later", "user's", "young"} {
		n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM conversations WHERE conversation = ?", name)
		if err != nil {
			h.Fatal(err)
		}
		if n > 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func stranger(conv, key string) intake.Entry {
	e := entry(conv, key, "let me in")
	e.Intent, e.Sender.Person = &intake.AuditIntent{Why: intake.AuditStranger}, ""
	return e
}

// wrote is an entry of somebody let in by an open policy.
func wrote(who, conv, key string) intake.Entry {
	e := entry(conv, key, "hello")
	e.Sender.Person, e.Sender.Identity, e.Sender.New = "tg:"+who, "tg:"+who, true
	return e
}

// settled ends whatever turn is open, with its answer sent.
func (h *house) settled() {
	h.Helper()
	for _, c := range h.Claim(16) {
		for next := &c; next != nil; {
			next = h.Commit(next.TurnRef, end("done", "answered"))
		}
	}
	run(h, h.DB, "UPDATE deliveries SET settled = TRUE, state = 'sent'")
}

func TestSweepEndsConversations(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		people := []core.Person{
			{Name: "marco", Role: "user", Identities: []string{"tg:1"}, Source: "config"},
			{Name: "root", Role: "admin", Identities: []string{"tg:0"}, Source: "config"},
		}
		if _, err := h.Router.SetPeople(h.Ctx, people); err != nil {
			t.Fatal(err)
		}
		admins := entry("admin's", "1", "hello")
		admins.Sender.Person = "root"
		moved := entry("former", "2", "")
		moved.Intent, moved.Event.Kind, moved.Event.Former = &intake.NewsIntent{}, channels.EventMoved, "before"
		h.Accept(admins, entry("user's", "3", "hello"), entry("old", "4", "hello"), entry("former", "5", "hello"), moved,
			entry("named", "6", "hello"), stranger("strange", "7"), wrote("8", "open", "8"), wrote("9", "lent", "9"))
		h.settled()
		run(t, h.DB, "INSERT INTO memories (kind, scope, person, text, state, created_at, updated_at) VALUES ('fact', 'person', 'tg:8', 'x', 'active', 1, 1)",
			"INSERT INTO memories (kind, scope, session_id, text, state, created_at, updated_at) SELECT 'fact', 'session', id, 'x', 'active', 1, 1 FROM sessions WHERE key = 'tg:open'")
		var dropped []int64
		keep := keepAYear
		keep.Dropped = func(session int64) { dropped = append(dropped, session) }
		keep.Named = func(channel, conversation string) bool { return channel == "tg" && conversation == "named" }

		h.later(2 * day)
		h.Accept(stranger("strange later", "10"))
		h.sweep(keep) // takes the messages
		want := "admin's, former, lent, named, old, open, strange later, user's"
		if got := h.conversations(); got != want {
			t.Errorf("after days: %s, want %s", got, want)
		}
		h.later(200 * day)
		h.Accept(entry("user's", "11", "again"), wrote("9", "lent", "12")) // in use
		h.settled()
		h.later(370 * day)
		h.Accept(entry("busy", "13", "waits"), entry("young", "14", "hello"))
		run(t, h.DB, "UPDATE sessions SET used_at = 1 WHERE key IN ('tg:busy')")
		h.sweep(keep)
		want = "admin's, busy, lent, named, user's, young"
		if got := h.conversations(); got != want {
			t.Errorf("after a year: %s, want %s", got, want)
		}
		if got := h.counts("moved", "memories", "people WHERE source = 'open'", "identities WHERE identity = 'tg:8'"); got != "moved 0\nmemories 0\npeople WHERE source = 'open' 1\nidentities WHERE identity = 'tg:8' 0\n" {
			t.Errorf("what is left:\n%s", got)
		}
		if len(dropped) != 3 {
			t.Errorf("told of %v", dropped)
		}
		// Leases go with their sessions.
		h.wantCount(0, "SELECT count(*) FROM leases l WHERE l.kind = 'session' AND NOT EXISTS (SELECT 1 FROM sessions s WHERE CAST(s.id AS text) = l.name)")
		// No number comes again, and who comes back is let in anew.
		a := h.one(wrote("8", "open", "20"))
		if slices.Contains(dropped, a.SessionID) || a.SessionID <= slices.Max(dropped) {
			t.Errorf("session %d is new, %v are gone", a.SessionID, dropped)
		}
		if p, err := h.Router.Person(h.Ctx, "tg:8"); err != nil || len(p.Identities) != 1 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// A former ID that the settings name is kept, and what it names with it.
func TestSweepKeepsNamedFormerIDs(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i, conv := range []string{"former", "old"} {
			moved := entry(conv, fmt.Sprint("m", i), "")
			moved.Intent, moved.Event.Kind, moved.Event.Former = &intake.NewsIntent{}, channels.EventMoved, channels.ConversationID("before "+conv)
			h.Accept(entry(conv, fmt.Sprint(i), "hello"), moved)
		}
		h.settled()
		keep := keepAYear
		keep.Named = func(_, conversation string) bool { return conversation == "before former" }
		h.later(400 * day)
		h.sweep(keep)
		h.sweep(keep)
		if got := h.conversations(); got != "former" {
			t.Errorf("left: %s", got)
		}
		if list, err := h.Router.Moved(h.Ctx); err != nil || len(list) != 1 || list[0].Current != "former" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// What comes between the look of retention and its hand is kept: it looks again.
func TestSweepKeepsWhatComesBetweenLookAndDelete(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Accept(entry("user's", "1", "hello"), stranger("strange", "2"), entry("old", "3", "hello"))
		h.settled()
		h.later(400 * day)
		keep := keepAYear
		looked := false
		keep.Named = func(channel, _ string) bool { // between the look and the deleting
			if channel != "" && !looked {
				looked = true
				h.Accept(entry("user's", "4", "again"), stranger("strange", "5"))
			}
			return false
		}
		h.sweep(keep)
		if got := h.conversations(); got != "strange, user's" {
			t.Errorf("left: %s", got)
		}
		if list := h.Claim(9); len(list) != 1 || h.load(list[0].TurnRef).Turn.Message.Text != "again" {
			t.Errorf("the turn of what came: %+v", list)
		}
	})
}

// A sweep that is stopped as soon as a session is gone tells of it all the same, or its
// workspace would stay for ever.
func TestSweepReportsWhatIsGoneBeforeItStops(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Accept(entry("old", "1", "hello"))
		h.settled()
		h.later(400 * day)
		ctx, stop := context.WithCancel(h.Ctx)
		defer stop()
		told := 0
		keep := keepAYear
		keep.Dropped = func(int64) { told++ }
		var stopper sync.WaitGroup
		stopper.Go(func() {
			for ctx.Err() == nil {
				if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM sessions"); n == 0 || err != nil {
					stop()
				}
			}
		})
		_, err := h.DB.Retain(ctx, h.owner(), keep)
		stop()
		stopper.Wait()
		if got := h.conversations(); got != "" || told != 1 {
			t.Errorf("left: %q; told of %d sessions, want 1; %v", got, told, err)
		}
	})
}

// What somebody has locked on PostgreSQL is left for another time, and nobody waits.
func TestSweepWaitsForNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	h.Accept(entry("user's", "1", "hello"), stranger("strange", "2"), entry("old", "3", "hello"))
	h.settled()
	h.later(400 * day)
	if err := h.DB.WriteFunc(h.Ctx, true, func(exec func(string) error) error {
		if err := exec("SELECT 1 FROM sessions WHERE key = 'tg:user''s' FOR UPDATE"); err != nil {
			return err
		}
		if err := exec("SELECT 1 FROM conversations WHERE conversation = 'strange' FOR KEY SHARE"); err != nil {
			return err
		}
		h.sweep(keepAYear)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := h.conversations(); got != "strange, user's" {
		t.Errorf("left: %s", got)
	}
	h.sweep(keepAYear)
	if got := h.conversations(); got != "" {
		t.Errorf("left in the end: %s", got)
	}
}
