package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

const insertFact = `
	INSERT INTO memories (kind, scope, text, state, person, source, confidence, taint, created_at, updated_at, expires_at)
	VALUES (?, ?, ?, ?, ?, 'said', ?, ?, ?, ?, ?) RETURNING id`

// said writes memories, which can be found.
func said(t testing.TB, db *store.DB, list ...memory.Entry) (ids []int64) {
	t.Helper()
	err := db.Write(t.Context(), database.Async, "say", func(tx *database.Tx) error {
		ids = nil
		for _, e := range list {
			at := e.CreatedAt
			if at.IsZero() {
				at = time.Unix(1700000000, 0)
			}
			if e.Confidence == 0 {
				e.Confidence = 1
			}
			if e.State == "" {
				e.State = "active"
			}
			if e.Kind == "" {
				e.Kind = memory.Fact
			}
			id, err := tx.Insert(insertFact, e.Kind, e.Scope, e.Text, e.State, e.Person, e.Confidence, e.Taint, at, at, e.ExpiresAt)
			if err == nil {
				err = stored.Index(tx, stored.Indexed{Record: memory.OfMemory, Ref: id, Scope: e.Scope, Taint: e.Taint, SaidAt: at, Text: e.Text})
			}
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// recalled are the texts of what a text recalls.
func recalled(t testing.TB, db *store.DB, text string, q memory.Query) string {
	t.Helper()
	hits, err := memory.Recall(t.Context(), stored.New(db.DB), text, q, 800)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, h := range hits {
		list = append(list, h.Text)
	}
	return strings.Join(list, "\n")
}

var ada = memory.OfPerson("ada")

// What was said in one place is found there, and what is global everywhere; nothing else.
func TestRecallStaysInItsPlaces(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		places := []memory.Scope{memory.Global, ada, memory.OfPerson("ada2"), memory.OfPerson("a"), memory.OfGroup("tg", "ada"), memory.OfGroup("slack", "ada"), memory.OfSession(1), memory.OfSession(11)}
		for _, place := range places {
			said(t, db, memory.Entry{Scope: place, Text: "The harbour key hangs in " + string(place)})
		}
		for _, own := range places {
			for _, scopes := range [][]memory.Scope{{own}, {own, memory.Global}} {
				found := strings.Split(recalled(t, db, "Where does the harbour key hang?", memory.Query{Scopes: scopes, Tainted: true, Archived: true, Loose: true}), "\n")
				var want []string
				for _, place := range slices.Compact(scopes) {
					want = append(want, "The harbour key hangs in "+string(place))
				}
				slices.Sort(found)
				slices.Sort(want)
				if !slices.Equal(found, want) {
					t.Errorf("%v: %q", scopes, found)
				}
			}
		}
		if got := recalled(t, db, "harbour key", memory.Query{}); got != "" {
			t.Errorf("without a scope: %q", got)
		}
		if err := db.Write(t.Context(), database.Async, "move", func(tx *database.Tx) error { return stored.Move(tx, ada, memory.OfPerson("eva")) }); err != nil {
			t.Fatal(err)
		}
		if was, is := recalled(t, db, "harbour key", in(ada)), recalled(t, db, "harbour key", in(memory.OfPerson("eva"))); was != "" || is == "" {
			t.Errorf("moved: %q, %q", was, is)
		}
	})
}

func in(scopes ...memory.Scope) memory.Query { return memory.Query{Scopes: scopes} }

// Only what holds, is sure enough and nobody else's words comes by itself.
func TestRecallLeavesOutWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := time.Now()
		said(t, db,
			memory.Entry{Scope: ada, Text: "lantern tainted", Taint: "page"},
			memory.Entry{Scope: ada, Text: "lantern archived", State: "archived"},
			memory.Entry{Scope: ada, Text: "lantern expired", ExpiresAt: now.Add(-time.Minute)},
			memory.Entry{Scope: ada, Text: "lantern unsure", Confidence: 0.2},
			memory.Entry{Scope: ada, Text: "lantern question", Kind: memory.Question},
			memory.Entry{Scope: ada, Text: "lantern superseded", State: "superseded"},
			memory.Entry{Scope: ada, Text: "lantern pending", State: "pending", Kind: memory.Learning},
			memory.Entry{Scope: ada, Text: "lantern forgotten", State: "forgotten"},
			memory.Entry{Scope: ada, Text: "lantern good", ExpiresAt: now.Add(time.Hour)})
		auto := memory.Query{Scopes: []memory.Scope{ada}, Kinds: []memory.Kind{memory.Fact, memory.Preference}, MinConfidence: 0.5}
		if got := recalled(t, db, "the lantern", auto); got != "lantern good" {
			t.Errorf("by itself: %q", got)
		}
		auto.Tainted, auto.Archived = true, true
		if got := recalled(t, db, "the lantern", auto); !strings.Contains(got, "tainted") || !strings.Contains(got, "archived") || strings.Count(got, "lantern") != 3 {
			t.Errorf("searched: %q", got)
		}
	})
}

// Messages and results are found again until their session is reset.
func TestRecallForgetsWithTheSession(t *testing.T) {
	storetest.EachHouse(t, func(t *testing.T, h *storetest.House) {
		ref := h.Begun("c", "1")
		row := func(query string) (id int64) {
			if err := storetest.Scan(h.Ctx, h.DB, query, &id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		message, session := row(`SELECT max(id) FROM messages`), row(`SELECT max(id) FROM sessions`)
		h.Exec(`UPDATE messages SET text = 'the zeppelin is blue'`,
			fmt.Sprintf(`INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (%d, 0, '', 1)`, ref.TurnID),
			fmt.Sprintf(`INSERT INTO tasks (turn_id, attempt, position, type, detail, state, output, created_at) VALUES (%d, 0, 2, 'tool', '', 'done', 'the zeppelin is 200 m long', 1)`, ref.TurnID))
		index := func(list ...stored.Indexed) {
			err := h.DB.Write(h.Ctx, database.Async, "index", func(tx *database.Tx) error {
				for _, i := range list {
					i.Scope, i.Session, i.SaidAt = ada, session, time.Unix(1700000000, 0)
					if err := stored.Index(tx, i); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		index(stored.Indexed{Record: memory.OfMessage, Ref: message, Text: "the zeppelin is blue"},
			stored.Indexed{Record: memory.OfResult, Ref: ref.TurnID, Position: 2, Text: "the zeppelin is 200 m long"})
		index(stored.Indexed{Record: memory.OfMessage, Ref: message, Text: "the zeppelin is blue"}) // once more changes nothing
		if got := recalled(t, h.DB, "zeppelin?", in(ada)); strings.Count(got, "zeppelin") != 2 {
			t.Errorf("found %q", got)
		}
		q := in(ada)
		q.Session, q.Since = session, message
		if got := recalled(t, h.DB, "zeppelin?", q); got != "the zeppelin is 200 m long" {
			t.Errorf("besides what the prompt has: %q", got)
		}
		index(stored.Indexed{Record: memory.OfSummary, Ref: session, Text: "of a zeppelin"}) // which the session has no more
		if got := recalled(t, h.DB, "zeppelin?", q); got != "the zeppelin is 200 m long" {
			t.Errorf("with a summary that is gone: %q", got)
		}
		h.Exec(fmt.Sprintf(`UPDATE sessions SET reset_message = %d, reset_turn = %d`, message, ref.TurnID))
		if got := recalled(t, h.DB, "zeppelin?", in(ada)); got != "" {
			t.Errorf("after the reset: %q", got)
		}
	})
}

// What is no longer indexed is in no byte of SQLite's files.
func TestUnindexLeavesNoTrace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ids := said(t, db, memory.Entry{Scope: ada, Text: "The zanzibarian hides it"}, memory.Entry{Scope: ada, Text: "The other zanzibars stay away"})
		err := db.Write(t.Context(), database.Durable, "forget", func(tx *database.Tx) error {
			done, err := database.Overwriting(tx)
			if err != nil {
				return err
			}
			defer done()
			if err := stored.Unindex(tx, memory.OfMemory, ids...); err != nil {
				return err
			}
			return tx.Do(`DELETE FROM memories`)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := recalled(t, db, "zanzibarian", in(ada)); got != "" {
			t.Errorf("found %q", got)
		}
		if !db.PG() {
			if err := db.EmptyLog(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, trace := range []string{"zanzibar", "1zanz", "9rian"} {
				storetest.CheckFiles(t, db.Path(), trace)
			}
		}
	})
}

// No text breaks what either database reads, and what has a word finds itself.
func TestRecallOfAnyText(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for _, text := range []string{
			"", " ", "\x00", "\xff\xfe", `" OR "`, `'a' & !b:* <-> c`, "NEAR(a b) AND NOT words : c*", "((((", `\`, "a:b", "😀 🎉", "\u0301\u0301\u0301", "ﷺ ﬁne",
			"🇩🇪 flag", strings.Repeat("x", 100_000), strings.Repeat("many words ", 20_000), "e\u0301" + strings.Repeat("\u0300", 5000), "ไปโรงเรียน", "नमस्ते दुनिया", "مرحبا", "I\u0307stanbul ıI",
			"\u00adsoft\u200bspace", "x\u1680y\u2028z", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "ꟼ\U0001E900 \U00010D40",
		} {
			said(t, db, memory.Entry{Scope: ada, Text: text})
			recalled(t, db, text, in(ada))
		}
		for _, text := range []string{"नमस्ते दुनिया", "ไปโรงเรียน", "Łódź straße ŒUVRE", "ꟼꟽꟾ", "мама мыла раму"} {
			said(t, db, memory.Entry{Scope: memory.Global, Text: text})
			if got := recalled(t, db, text, in(memory.Global)); got != text {
				t.Errorf("%q found %q", text, got)
			}
		}
	})
}

// Where a word is in many places, two of them together are found, and one alone brings nothing by itself.
func TestRecallOfVeryCommonWords(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		list := []memory.Entry{{Scope: ada, Text: "The ferry leaves the harbour at dawn"}}
		for i := range 100 {
			list = append(list, memory.Entry{Scope: ada, Text: fmt.Sprintf("A ferry has %d cabins", i)}, memory.Entry{Scope: ada, Text: fmt.Sprintf("The harbour has %d lamps", i)})
		}
		said(t, db, list...)
		if got := recalled(t, db, "What of the harbour and the ferry?", in(ada)); got != "The ferry leaves the harbour at dawn" {
			t.Errorf("two: %q", got)
		}
		if got := recalled(t, db, "What of the harbour?", in(ada)); got != "" {
			t.Errorf("one: %q", got)
		}
		q := in(ada)
		q.Loose = true
		if got := recalled(t, db, "harbour", q); strings.Count(got, "harbour") != memory.MaxCount {
			t.Errorf("one, asked for: %q", got)
		}
	})
}

// In a group, who is called as somebody was before does not find what that one said there.
func TestNamesakeFindsNothingOfTheOther(t *testing.T) {
	each(t, func(t *testing.T, h *storetest.House) {
		person := func(name string) {
			t.Helper()
			if _, err := h.Router.SetPeople(h.Ctx, []core.Person{{Name: name, Role: core.RoleAdmin, Identities: []string{"tg:1"}}}); err != nil {
				t.Fatal(err)
			}
		}
		tells := func(id, text string) {
			e := storetest.By(storetest.Entry("g", id, text), "ann")
			e.Event.Conversation.Kind, e.Event.Conversation.Place = channels.Group, "g"
			h.Accept(e)
			h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
			rest(h, resting(h, learned("", "")))
		}
		q := memory.Query{Scopes: []memory.Scope{"group:tg:g"}, By: "ann", Said: true, Tainted: true}
		person("ann")
		tells("1", "the harbour key hangs at the door")
		if got := recalled(t, h.DB, "harbour key?", q); got != "the harbour key hangs at the door" {
			t.Errorf("who said it finds %q", got)
		}
		h.Exec("DELETE FROM people WHERE name = 'ann'") // an admin removed them
		person("ann")
		if got := recalled(t, h.DB, "harbour key?", q); got != "" {
			t.Errorf("who is called so finds %q", got)
		}
		tells("2", "the harbour key is lost")
		if got := recalled(t, h.DB, "harbour key?", q); got != "the harbour key is lost" {
			t.Errorf("of their own they find %q", got)
		}
	})
}
