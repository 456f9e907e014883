package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store/storetest"
)

// What somebody had forgotten, or corrected, is not learned again: no look and no summary reads it, neither where it was asked for nor in
// other words of before. What is said of it later is learned.
func TestWhatIsForgottenIsNotLearnedAgain(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		m := learned("Ada likes tea.", "SUMMARY")
		r := resting(h, m)
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		says(h, "c1", "please keep this: my zebra sleeps in the barn", "the zebra sleeps, and in the barn", "remember that the key rotates on Fridays", "four", "five", "six")
		forgotten, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "Ada's zebra spends its nights in a barn", Source: routermemory.Said, Session: "tg:c1", Turn: 1})
		again, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "zebra sleeps barn", Source: routermemory.Said})
		old, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the key rotates on Fridays", Source: routermemory.Said})
		for _, c := range []*routermemory.Change{k.ForgetAs(w, forgotten.Entry.ID), k.ForgetAs(w, again.Entry.ID)} {
			if err := k.Service.Change(k.Context(), c, core.Actor{Person: "ada"}); err != nil {
				k.Fatal(err)
			}
		}
		if _, rule := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the key rotates on Thursdays", Source: routermemory.Command}, old.Entry.ID); rule != "" {
			k.Fatal(rule)
		}
		rest(h, r)
		if asked := fmt.Sprint(m.asked); m.count("look") != 1 || m.count("summary") != 1 || strings.Contains(asked, "barn") || strings.Contains(asked, "Fridays") || !strings.Contains(asked, "five") {
			k.Errorf("asked %s", asked)
		}
		h.Exec("UPDATE memories SET updated_at = updated_at - 120000000")
		says(h, "c1", "zebra sleeps barn", "eight", "nine")
		h.Exec("UPDATE messages SET happened_at = 0")
		rest(h, r)
		if asked := fmt.Sprint(m.asked); m.count("look") != 2 || !strings.Contains(asked, "barn") {
			k.Errorf("later asked %s", asked)
		}
	})
}

// What is said with what is remembered instead is true, and learned: a correction that only adds takes nothing away.
func TestCorrectedIsLearned(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		m := learned("Ada likes tea.", "SUMMARY")
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		says(h, "c1", "the zebra hall is north", "the zebra hall is north of the river", "three", "four", "five", "six")
		h.Exec("UPDATE sessions SET summary = 'The zebra hall is north.'")
		old, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra hall is north", Source: routermemory.Said})
		same, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra hall is north", Source: routermemory.Command}, old.Entry.ID)
		if !same.Known || same.Entry.ID != old.Entry.ID {
			k.Errorf("%+v", same.Entry)
		}
		longer, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra hall is north of the river", Source: routermemory.Command}, old.Entry.ID)
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE summary <> ''")
		rest(h, resting(h, m))
		if asked := fmt.Sprint(m.asked); !strings.Contains(asked, "north of the river") {
			k.Errorf("asked %s", asked)
		}
		if told := k.shown(direct("ada", "slack", 9), "where is the zebra hall?"); !strings.Contains(told, "of the river") {
			k.Errorf("told %s", told)
		}
		// What it stood in the place of is forgotten with it.
		if err := k.Service.Change(k.Context(), k.ForgetAs(w, longer.Entry.ID), core.Actor{Person: "ada"}); err != nil {
			k.Fatal(err)
		}
		if told := k.shown(direct("ada", "slack", 9), "where is the zebra hall?"); strings.Contains(told, "north") {
			k.Errorf("told %s", told)
		}
	})
}

// What is of a category that is not remembered is in no summary.
func TestDeniedIsInNoSummary(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		h.Exec(`INSERT INTO memory_settings (person, denied, updated_at) VALUES ('ada', '["health"]', 1)`)
		m := learned("Ada likes tea.", "SUMMARY")
		says(h, "c1", "I have cancer", "two", "three", "four", "five", "six")
		rest(h, resting(h, m))
		if asked := fmt.Sprint(m.asked); m.count("summary") != 1 || strings.Contains(asked, "cancer") || !strings.Contains(asked, "six") {
			t.Errorf("asked %s", asked)
		}
	})
}

// A learning that waits, and a summary, say no longer what was forgotten, where it was said in no other words either. Those of others stay.
func TestWhatIsForgottenStandsInNoSummary(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		says(h, "c1", "my zebra sleeps in the barn")
		says(h, "c2", "two")
		h.Accept(storetest.By(storetest.Entry("c3", "c3", "three"), "bob"))
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		kept, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra sleeps in the barn", Source: routermemory.Said, Session: "tg:c1", Turn: 1})
		h.Exec("UPDATE sessions SET summed_to = (SELECT max(id) FROM messages), restless = FALSE",
			"UPDATE sessions SET summary = 'Her zebra sleeps in a hut. A zebra has stripes. She likes tea.' WHERE key = 'tg:c1'",
			"UPDATE sessions SET summary = 'Ada is Dr. Ott. The zebra sleeps in the barn! She likes tea.' WHERE key = 'tg:c2'",
			"UPDATE sessions SET summary = 'The zebra sleeps in the barn.' WHERE key = 'tg:c3'",
			"INSERT INTO recalled (kind, ref, scope, session_id, said_at, mark, words) SELECT 'summary', id, CASE key WHEN 'tg:c3' THEN 'person:bob' ELSE 'person:ada' END, id, 1, 'x', 'x' FROM sessions",
			"INSERT INTO memories (kind, scope, text, state, person, source, created_at, updated_at) VALUES ('learning', 'session:1', 'A zebra that sleeps in a barn.', 'pending', 'ada', 'rest', 1, 1), ('learning', 'session:1', 'Tea.', 'pending', 'ada', 'rest', 1, 1), ('learning', 'session:3', 'A zebra that sleeps in a barn.', 'pending', 'bob', 'rest', 1, 1)")
		if err := k.Service.Change(k.Context(), k.ForgetAs(w, kept.Entry.ID), core.Actor{Person: "ada"}); err != nil {
			k.Fatal(err)
		}
		want := "A zebra has stripes. She likes tea.\nAda is Dr. Ott. She likes tea.\nThe zebra sleeps in the barn."
		got := rows(h, "SELECT summary AS line FROM sessions ORDER BY id")
		if got != want {
			k.Errorf("summaries:\n%s", got)
		}
		if got := rows(h, "SELECT state || ' ' || text AS line FROM memories WHERE kind = 'learning' ORDER BY id"); got != "discarded \npending Tea.\npending A zebra that sleeps in a barn." {
			k.Errorf("learnings:\n%s", got)
		}
		h.WantCount(2, "SELECT count(*) FROM recalled WHERE kind = 'summary' AND words LIKE '%tea%' AND words NOT LIKE '%barn%'")
	})
}

// What is forgotten while a model is asked is not written.
func TestForgottenWhileAModelIsAsked(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		w := &routermemory.Writer{Person: "ada", Place: direct("ada", "tg", 1)}
		says(h, "c1", "remember that my zebra sleeps in the barn", "two", "three")
		kept, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra sleeps in the barn", Source: routermemory.Said, Turn: 1})
		m := learned("BARN", "SUMMARY")
		m.hook = func() {
			if len(m.asked) > 1 {
				m.says["look"] = map[string]any{"learnings": []string{}}
				return
			}
			if err := k.Service.Change(k.Context(), k.ForgetAs(w, kept.Entry.ID), core.Actor{Person: "ada"}); err != nil {
				k.Error(err)
			}
		}
		rest(h, resting(h, m))
		h.WantCount(0, "SELECT count(*) FROM memories WHERE text = 'BARN'")
		if n := m.count("look"); n != 2 {
			k.Errorf("looked %d times", n)
		}
	})
}

// What somebody forgets of their own ends nobody else's work at rest, which would be paid again; what they forget in a group ends it.
func TestForgettingEndsTheirOwnWorkAlone(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		h := storetest.NewHouse(k.T, k.db)
		h.Accept(storetest.By(storetest.Entry("b1", "b1", "one"), "bob"))
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1")
		bobs, err := h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now())
		if err != nil || bobs == nil {
			h.Fatal(bobs, err)
		}
		forgets := func(at memory.Place, want error) {
			k.Helper()
			w := &routermemory.Writer{Person: "ada", Place: at}
			kept, _ := k.write(w, memory.Entry{Kind: memory.Fact, Text: "the zebra sleeps in the barn", Source: routermemory.Said})
			if err := k.Service.Change(h.Ctx, k.ForgetAs(w, kept.Entry.ID), core.Actor{Person: "ada"}); err != nil {
				h.Fatal(err)
			}
			if err := h.Router.WriteSummary(h.Ctx, bobs, bobs.SummedTo, "x", tools.Clean); !errors.Is(err, want) {
				h.Errorf("%+v: %v, want %v", at, err, want)
			}
		}
		forgets(direct("ada", "tg", 7), nil)
		forgets(group("ada", "tg", "g", 8), core.ErrFenced)
	})
}
