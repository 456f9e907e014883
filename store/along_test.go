package store_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/storetest"
)

// What is read as a turn is claimed is what Load says of it.
func TestClaimedTurnsAreReadAlong(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		same := func(how string, c *core.Claimed) {
			t.Helper()
			if c == nil {
				t.Fatalf("%s: nothing claimed", how)
			}
			want := h.load(c.TurnRef)
			if !reflect.DeepEqual(c.Data, want) || len(want.State.Recent) == 0 {
				t.Errorf("%s, read along: %+v\nloaded:     %+v", how, c.Data, want)
			}
		}
		h.Commit(h.Begun("c", "1"), end("done", "answered"))
		run(t, h.DB, "INSERT INTO memories (kind, scope, text, state, taint, created_at, updated_at) VALUES ('fact', 'global', 'snow is white', 'active', 'web', 1, 1)")
		first := claiming(entry("c", "2", "look \"here\"\n\u2028 ☃"))
		first.Event.Message.Quote, first.Event.Message.Origin = "said before", "somebody"
		c := h.Accept(first)[0].Claimed
		same("accepted", c)
		if a := h.Accept(claiming(entry("c", "3", "wait")))[0]; a.Claimed != nil {
			t.Errorf("claimed beside a running turn: %+v", a.Claimed)
		}
		next := h.Commit(c.TurnRef, end("done", "answered"))
		if h.DB.Kind() == "postgres" {
			same("next", next)
		}
		h.Accept(entry("c", "4", "wait too"))
		h.giveBack(next.TurnRef)
		again := h.Claim(9)
		if h.DB.Kind() == "postgres" {
			same("claimed", &again[0])
		}
		h.Commit(again[0].TurnRef, end("done", "answered"))
		with := claiming(entry("d", "5", "look"))
		with.Event.Message.Attachments = []channels.Attachment{{ID: "f", Kind: channels.Photo, Name: "a.png", Size: 3}}
		if c = h.Accept(with)[0].Claimed; h.DB.Kind() == "postgres" && c.Data != nil {
			t.Errorf("read along without its files: %+v", c.Data)
		}
	})
}

// A turn on which something was done is never taken for a new one.
func TestBegunTurnsAreNotReadAlong(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	ref := h.Begun("c", "1")
	h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "{}"}}})
	h.giveBack(ref)
	if again := h.Claim(9); len(again) != 1 || again[0].Data != nil {
		t.Errorf("got %+v", again)
	}
}

// The function reads the same columns in the same order.
func TestReadAlongReadsTheColumnsOfLoad(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("database/hot_transactions.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(raw), " FUNCTION sb_load(")
	body, _, _ = strings.Cut(body, "END $$")
	plain := func(s string) string {
		s = regexp.MustCompile(`\b(v|p)_[a-z_]+`).ReplaceAllString(s, "?")
		return strings.Join(strings.Fields(s), " ")
	}
	for name, query := range map[string]string{
		"loadTurn": store.AlongColumns(), "loadRecent": store.AlongRecent(), "loadMemories": store.AlongMemories(),
	} {
		if !strings.Contains(plain(body), plain(query)) {
			t.Errorf("sb_load does not read %s as it is:\n%s", name, plain(query))
		}
	}
}
