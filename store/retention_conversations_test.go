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

const year = 365 * storetest.Day

var keepAYear = store.Retention{Turns: storetest.Day, Strangers: storetest.Day, Prompts: storetest.Day, Audit: storetest.Day, Sessions: year}

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

// wrote is an entry of somebody let in by an open policy.
func wrote(who, conv, key string) intake.Entry {
	e := storetest.Entry(conv, key, "hello")
	e.Sender.Person, e.Sender.Identity, e.Sender.New = "tg:"+who, "tg:"+who, true
	return e
}

// settled ends whatever turn is open, with its answer sent.
func (h *house) settled() {
	h.Helper()
	for _, c := range h.Claim(16) {
		for next := &c; next != nil; {
			next = h.Commit(next.TurnRef, storetest.End("done", "answered"))
		}
	}
	storetest.Exec(h, h.DB, "UPDATE deliveries SET settled = TRUE, state = 'sent'")
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
		admins := storetest.Entry("admin's", "1", "hello")
		admins.Sender.Person = "root"
		moved := storetest.Entry("former", "2", "")
		moved.Intent, moved.Event.Kind, moved.Event.Former = &intake.NewsIntent{}, channels.EventMoved, "before"
		h.Accept(admins, storetest.Entry("user's", "3", "hello"), storetest.Entry("old", "4", "hello"), storetest.Entry("former", "5", "hello"), moved,
			storetest.Entry("named", "6", "hello"), storetest.Stranger("strange", "7"), wrote("8", "open", "8"), wrote("9", "lent", "9"))
		h.settled()
		storetest.Exec(t, h.DB, "INSERT INTO memories (kind, scope, person, text, state, created_at, updated_at) VALUES ('fact', 'person:tg:8', 'tg:8', 'x', 'active', 1, 1)",
			"INSERT INTO memories (kind, scope, session_id, text, state, created_at, updated_at) SELECT 'fact', 'session:' || id, id, 'x', 'active', 1, 1 FROM sessions WHERE key = 'tg:open'")
		var dropped []int64
		keep := keepAYear
		keep.Dropped = func(session int64) { dropped = append(dropped, session) }
		keep.Named = func(channel, conversation string) bool { return channel == "tg" && conversation == "named" }

		h.Later(2 * storetest.Day)
		h.Accept(storetest.Stranger("strange later", "10"))
		h.Sweep(keep) // takes the messages
		want := "admin's, former, lent, named, old, open, strange later, user's"
		if got := h.conversations(); got != want {
			t.Errorf("after days: %s, want %s", got, want)
		}
		h.Later(200 * storetest.Day)
		h.Accept(storetest.Entry("user's", "11", "again"), wrote("9", "lent", "12")) // in use
		h.settled()
		h.Later(370 * storetest.Day)
		h.Accept(storetest.Entry("busy", "13", "waits"), storetest.Entry("young", "14", "hello"))
		storetest.Exec(t, h.DB, "UPDATE sessions SET used_at = 1 WHERE key IN ('tg:busy')")
		h.Sweep(keep)
		want = "admin's, busy, lent, named, user's, young"
		if got := h.conversations(); got != want {
			t.Errorf("after a year: %s, want %s", got, want)
		}
		if got := h.Counts("moved", "memories", "people WHERE source = 'open'", "identities WHERE identity = 'tg:8'"); got != "moved 0\nmemories 0\npeople WHERE source = 'open' 1\nidentities WHERE identity = 'tg:8' 0\n" {
			t.Errorf("what is left:\n%s", got)
		}
		if len(dropped) != 3 {
			t.Errorf("told of %v", dropped)
		}
		// Leases go with their sessions.
		h.WantCount(0, "SELECT count(*) FROM leases l WHERE l.kind = 'session' AND NOT EXISTS (SELECT 1 FROM sessions s WHERE CAST(s.id AS text) = l.name)")
		// No number comes again, and who comes back is let in again.
		a := h.One(wrote("8", "open", "20"))
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
			moved := storetest.Entry(conv, fmt.Sprint("m", i), "")
			moved.Intent, moved.Event.Kind, moved.Event.Former = &intake.NewsIntent{}, channels.EventMoved, channels.ConversationID("before "+conv)
			h.Accept(storetest.Entry(conv, fmt.Sprint(i), "hello"), moved)
		}
		h.settled()
		keep := keepAYear
		keep.Named = func(_, conversation string) bool { return conversation == "before former" }
		h.Later(400 * storetest.Day)
		h.Sweep(keep)
		h.Sweep(keep)
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
		h.Accept(storetest.Entry("user's", "1", "hello"), storetest.Stranger("strange", "2"), storetest.Entry("old", "3", "hello"))
		h.settled()
		h.Later(400 * storetest.Day)
		keep := keepAYear
		looked := false
		keep.Named = func(channel, _ string) bool { // between the look and the deleting
			if channel != "" && !looked {
				looked = true
				h.Accept(storetest.Entry("user's", "4", "again"), storetest.Stranger("strange", "5"))
			}
			return false
		}
		h.Sweep(keep)
		if got := h.conversations(); got != "strange, user's" {
			t.Errorf("left: %s", got)
		}
		if list := h.Claim(9); len(list) != 1 || h.Load(list[0].TurnRef).Turn.Message.Text != "again" {
			t.Errorf("the turn of what came: %+v", list)
		}
	})
}

// A sweep that is stopped as soon as a session is gone tells of it all the same, or its
// workspace would stay for ever.
func TestSweepReportsWhatIsGoneBeforeItStops(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Accept(storetest.Entry("old", "1", "hello"))
		h.settled()
		h.Later(400 * storetest.Day)
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
		_, err := h.DB.Retain(ctx, h.Owner(), keep)
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
	h.Accept(storetest.Entry("user's", "1", "hello"), storetest.Stranger("strange", "2"), storetest.Entry("old", "3", "hello"))
	h.settled()
	h.Later(400 * storetest.Day)
	if err := storetest.WriteFunc(h.Ctx, h.DB, true, func(exec func(string) error) error {
		if err := exec("SELECT 1 FROM sessions WHERE key = 'tg:user''s' FOR UPDATE"); err != nil {
			return err
		}
		if err := exec("SELECT 1 FROM conversations WHERE conversation = 'strange' FOR KEY SHARE"); err != nil {
			return err
		}
		h.Sweep(keepAYear)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := h.conversations(); got != "strange, user's" {
		t.Errorf("left: %s", got)
	}
	h.Sweep(keepAYear)
	if got := h.conversations(); got != "" {
		t.Errorf("left in the end: %s", got)
	}
}
