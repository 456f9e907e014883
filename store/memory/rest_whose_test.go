package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/router/money"
	routersessions "switchboard/router/sessions"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// learned is a model that learns a text, promotes it, and sums up by another.
func learned(text, summary string) *model {
	return &model{says: map[string]any{
		"look":    map[string]any{"learnings": []string{text}},
		"curate":  verdicts(map[string]any{"learning": 1, "verdict": "promote", "kind": "fact", "text": text}),
		"summary": map[string]any{"sentences": []string{summary}},
	}}
}

// Somebody who is called as another was, or has their chat, finds nothing of what they said there.
func TestDirectChatsAreFoundByWhoseTheyAreAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		says(h, "c1", "one zeppelin", "two", "three", "four", "five", "six")
		h.Exec("UPDATE sessions SET person = 'ada (before)'")
		rest(h, resting(h, learned("Ada likes tea.", "ADA")))
		h.WantCount(0, "SELECT count(*) FROM recalled WHERE kind = 'message'")
		h.WantCount(0, "SELECT count(*) FROM memories")

		says(h, "c2", "one", "two", "three", "four", "five", "six")
		m := learned("Ada likes tea.", "ADA")
		rest(h, resting(h, m))
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE summary = 'ADA' AND key = 'tg:c2'")
		h.WantCount(1, "SELECT count(*) FROM recalled WHERE kind = 'summary' AND scope = 'person:ada'")
		for i, text := range []string{"seven", "eight", "nine"} { // the chat is bob's now
			h.Accept(storetest.By(storetest.Entry("c2", fmt.Sprint("bob", i), text), "bob"))
		}
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE summary <> '' AND key = 'tg:c2'")
		h.WantCount(0, "SELECT count(*) FROM recalled WHERE kind = 'summary' AND ref = (SELECT id FROM sessions WHERE key = 'tg:c2')")
		m.asked = nil
		rest(h, resting(h, m))
		for _, req := range m.asked {
			if req.Schema.Name == "look" && (strings.Contains(req.User, "four") || !strings.Contains(req.User, "seven")) {
				t.Errorf("looked at:\n%s", req.User)
			}
		}
		h.WantCount(3, "SELECT count(*) FROM recalled WHERE kind = 'message' AND scope = 'person:bob'")
	})
}

// What tools brought is found by whose turn it was, and not what they brought of what is remembered.
func TestResultsThatAreFound(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		a := h.Accept(storetest.By(storetest.Entry("c1", "1", "look it up"), "ada"))[0]
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')",
			fmt.Sprintf("INSERT INTO plans (turn_id, attempt, goal, created_at) VALUES (%d, 0, '', 1)", a.TurnID))
		for i, tool := range []string{"web.fetch", "memory.search"} {
			h.Exec(
				fmt.Sprintf("INSERT INTO tasks (turn_id, attempt, position, type, tool, detail, state, output, created_at) VALUES (%d, 0, %d, 'tool', '%s', '', 'done', 'zeppelin', 1)", a.TurnID, i, tool),
				fmt.Sprintf("INSERT INTO reviews (turn_id, attempt, position, status, reason, learn, taint, created_at) VALUES (%d, 0, %d, 'ok', '', '', '', 1)", a.TurnID, i))
		}
		rest(h, resting(h, &model{}))
		if got := rows(h, "SELECT position AS line FROM (SELECT CAST(position AS text) AS position FROM recalled WHERE kind = 'result') x"); got != "0" {
			t.Errorf("found are %q", got)
		}
	})
}

// What is said in private stays so after that, and what was learned before and during it is not kept.
func TestPrivateStaysPrivate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := learned("Ada likes tea.", "SECRET")
		set := func(to string) {
			t.Helper()
			change := &routersessions.Change{Conversation: channels.Conversation{Channel: "tg", ID: "c1", Kind: channels.Direct}, Of: routersessions.Private, To: to}
			if err := h.Router.Change(h.Ctx, change, core.Actor{Person: "ada", Rule: "person"}); err != nil {
				t.Fatal(err)
			}
		}
		says(h, "c1", "hello")
		set("on")
		says(h, "c1", "one zeppelin", "two", "three", "four", "five", "six")
		h.Exec("INSERT INTO memories (kind, scope, text, state, person, session_id, source, created_at, updated_at) VALUES ('learning', 'session:1', 'SECRET', 'pending', 'ada', 1, 'review', 1, 1)")
		set("")
		rest(h, resting(h, m))
		h.WantCount(0, "SELECT count(*) FROM recalled")
		h.WantCount(0, "SELECT count(*) FROM memories WHERE text <> ''")
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE summary <> ''")
		if len(m.asked) > 0 {
			t.Errorf("%d calls", len(m.asked))
		}
		// An answer that is under way comes later.
		h.Exec("INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, origin, person, author, text, created_at) SELECT conversation_id, session_id, turn_id, 'out', 'say', origin, person, author, 'SECRET LATE', 1 FROM messages WHERE text = 'six'")
		says(h, "c1", "seven", "eight", "nine", "ten", "eleven", "twelve")
		h.Exec("INSERT INTO messages (conversation_id, session_id, turn_id, direction, class, origin, person, author, text, created_at) SELECT conversation_id, session_id, turn_id, 'out', 'say', origin, person, author, 'an answer', 1 FROM messages WHERE text = 'twelve'")
		rest(h, resting(h, m))
		if asked := fmt.Sprint(m.asked); !strings.Contains(asked, "twelve") || !strings.Contains(asked, "an answer") || strings.Contains(asked, "SECRET LATE") {
			t.Errorf("asked is:\n%s", asked)
		}
		h.Exec("DELETE FROM memories")
		// It becomes private while a model is asked.
		m.hook = func() { h.Exec("UPDATE sessions SET private = 'on'") }
		says(h, "c1", "a", "b", "c")
		rest(h, resting(h, m))
		h.WantCount(0, "SELECT count(*) FROM memories WHERE text <> ''")
	})
}

// Of what is under way for somebody nothing is written once they, or what they said, are gone.
func TestWorkUnderWayEndsWithWhomItIsFor(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		begun := func() *routermemory.Resting {
			t.Helper()
			now, err := h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now())
			if err != nil || now == nil {
				t.Fatalf("%+v, %v", now, err)
			}
			return now
		}
		says(h, "c1", "one")
		now := begun()
		h.Exec("UPDATE sessions SET reset_message = (SELECT max(id) FROM messages)")
		if err := h.Router.WriteLook(h.Ctx, now, 1, nil); !errors.Is(err, core.ErrConflict) {
			t.Errorf("after a reset: %v", err)
		}
		for name, do := range map[string]func(tx *database.Tx) error{
			"removed": func(tx *database.Tx) error { return stored.Drop(tx, "ada") },
			"linked":  func(tx *database.Tx) error { return stored.Join(tx, "eva", "ada") },
		} {
			now := begun()
			if err := h.DB.Write(h.Ctx, database.Async, "test", do); err != nil {
				t.Fatal(err)
			}
			if err := h.Router.WriteLook(h.Ctx, now, 1, []memory.Entry{{Text: "LATE"}}); !errors.Is(err, core.ErrFenced) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// What a session brought goes with it out of what was made of it and of others.
func TestForgottenSessionIsInNoConsolidation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		says(h, "c1", "one")
		says(h, "c2", "two")
		fact := func(id, session int, state, source, by, text string) string {
			return fmt.Sprintf(`INSERT INTO memories (id, kind, scope, text, state, person, session_id, source, superseded_by, created_at, updated_at)
				VALUES (%d, 'fact', 'person:ada', '%s', '%s', 'ada', nullif(%d, 0), '%s', %s, 1, 1)`, id, text, state, session, source, by)
		}
		h.Exec(fact(101, 1, "superseded", "curator", "103", "SECRET"), fact(102, 2, "superseded", "curator", "103", "kept"),
			fact(103, 0, "superseded", "merge", "105", "SECRET and kept"), fact(104, 2, "superseded", "curator", "105", "too"), fact(105, 0, "active", "merge", "NULL", "SECRET, kept, too"))
		if err := h.Router.ForgetSession(h.Ctx, "tg:c1", core.Actor{Person: "ada"}); err != nil {
			t.Fatal(err)
		}
		if got := rows(h, "SELECT text || ' ' || state AS line FROM memories ORDER BY id"); got != "kept active\ntoo active" {
			t.Errorf("left:\n%s", got)
		}
	})
}

// What somebody wants to be remembered of nothing is neither found nor learned.
func TestDeniedCategoriesAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		h.Exec(`INSERT INTO memory_settings (person, denied, updated_at) VALUES ('ada', '["health"]', 1)`)
		m := learned("Ada is ill.", "She spoke.")
		says(h, "c1", "I am ill", "two", "three")
		h.Exec("INSERT INTO memories (kind, scope, text, state, person, session_id, source, created_at, updated_at) VALUES ('learning', 'session:1', 'She is ill.', 'pending', 'ada', 1, 'review', 1, 1)")
		rest(h, resting(h, m))
		h.WantCount(2, "SELECT count(*) FROM recalled")
		if got := rows(h, "SELECT text || state AS line FROM memories"); got != "discarded" {
			t.Errorf("remembered: %q", got)
		}
		if m.count("curate") != 0 {
			t.Error("a model saw it")
		}
	})
}

// In a group nobody's facts give way to others' words, and one verdict does not hold up what comes after it.
func TestVerdictsInGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		said(t, h.DB, memory.Entry{Scope: "group:tg:g", Person: "bob", Text: "Tea is at four."})
		m := learned("Tea is at five.", "Of tea.")
		for i := range 3 {
			e := storetest.By(storetest.Entry("g", fmt.Sprint(i), "tea is at five"), "ada")
			e.Event.Conversation.Kind, e.Event.Conversation.Place = channels.Group, "g"
			h.Accept(e)
		}
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
		rest(h, resting(h, m))
		if got := rows(h, "SELECT person || ': ' || text AS line FROM memories WHERE kind = 'fact' AND state = 'active' ORDER BY id"); got != "bob: Tea is at four.\nada: Tea is at five." {
			t.Errorf("remembered:\n%s", got)
		}
		if m.count("curate") != 1 || strings.Contains(fmt.Sprint(m.asked), "at four") {
			t.Errorf("what others said was shown: %v", m.asked)
		}
	})
}

// In a group what fails for one person, for their words or their limit, holds up nobody: the others learn, and are not asked about again.
// While no model answers, nothing is passed over.
func TestWorkThatFailsForOneIsDoneForTheOthers(t *testing.T) {
	t.Parallel()
	personal := &money.OverLimitError{Spending: money.Spending{Scope: money.SpentByPerson}}
	each(t, func(t *testing.T, h *storetest.House) {
		for i, tt := range []struct {
			name  string
			says  map[string]any // of bob's model
			err   error
			asked int // ada, how often she was looked at
			facts int64
		}{
			{"over their limit", nil, personal, 1, 1},
			{"refused", nil, llm.ErrRefused, 1, 1},
			{"no usable answer", map[string]any{"look": map[string]any{"nothing": 1}}, nil, 1, 1},
			{"a verdict over their limit", map[string]any{"look": map[string]any{"learnings": []string{"Bob likes tea."}}}, nil, 1, 1},
			{"away", nil, llm.ErrAway, 1, 0},
			{"everybody's limit", nil, &money.OverLimitError{Spending: money.Spending{Scope: money.SpentInAll}}, 1, 0},
		} {
			h.Exec("DELETE FROM memories")
			m, bobs := learned("Ada likes tea.", "Of tea."), &model{says: tt.says, err: tt.err}
			bobs.hook = func() {
				if bobs.asked[len(bobs.asked)-1].Schema.Name == "curate" {
					bobs.err = personal
				}
			}
			r := resting(h, m)
			r.Ask = func(person string) memory.Asker {
				if person == "bob" {
					return bobs
				}
				return m
			}
			place := fmt.Sprint("g", i)
			for n, person := range []string{"ada", "ada", "ada", "bob", "bob", "bob"} {
				e := storetest.By(storetest.Entry(place, fmt.Sprint(place, n), fmt.Sprint("number ", n)), person)
				e.Event.Conversation.Kind, e.Event.Conversation.Place = channels.Group, place
				h.Accept(e)
			}
			h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
			rest(h, r)
			if m.count("look") != tt.asked {
				t.Errorf("%s: ada was looked at %d times", tt.name, m.count("look"))
			}
			if n, err := storetest.Count(h.Ctx, h.DB, "SELECT count(*) FROM memories WHERE kind = 'fact' AND person = 'ada' AND state = 'active'"); err != nil || n != tt.facts {
				t.Errorf("%s: ada has %d facts, %v", tt.name, n, err)
			}
			h.Exec("UPDATE sessions SET restless = FALSE")
		}
	})
}

// A summary of a direct chat has nothing of what came from elsewhere, and is not tainted; where all of it did, no model is asked. In a
// group it has all, and is.
func TestSummaryOfADirectChatIsClean(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := learned("Ada likes tea.", "SUMMARY")
		says(h, "c1", "one", "two", "three", "four", "five", "six")
		h.Exec("INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, text, taint, created_at) SELECT conversation_id, session_id, 'out', 'say', origin, person, author, 'OF A PAGE', 'web', 1 FROM messages WHERE text = 'six'",
			"INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, text, outside, created_at) SELECT conversation_id, session_id, 'in', 'turn', 'chat', person, author, 'PASSED ON', TRUE, 1 FROM messages WHERE text = 'six'")
		was := func(want string) {
			t.Helper()
			if got := rows(h, "SELECT summary || '|' || summary_taint || '|' || (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.id > s.summed_to) AS line FROM sessions s"); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		rest(h, resting(h, m))
		was("SUMMARY||0")
		if asked := fmt.Sprint(m.asked); m.count("summary") != 1 || strings.Contains(asked, "OF A PAGE") || strings.Contains(asked, "PASSED ON") || !strings.Contains(asked, "six") {
			t.Errorf("asked %s", asked)
		}
		h.Exec("UPDATE sessions SET restless = TRUE, summed_to = (SELECT id FROM messages WHERE text = 'six')")
		r := resting(h, m)
		limits := r.Limits()
		limits.SumFrom = 2
		r.Limits = func() routermemory.RestLimits { return limits }
		rest(h, r)
		was("SUMMARY||0")
		if m.count("summary") != 1 {
			t.Errorf("asked %d times", m.count("summary"))
		}
		h.Exec("UPDATE conversations SET kind = 'group'", "UPDATE sessions SET restless = TRUE, summed_to = 0")
		rest(h, r)
		if got := rows(h, "SELECT summary_taint AS line FROM sessions"); m.count("summary") != 2 || !strings.Contains(fmt.Sprint(m.asked), "OF A PAGE") || !strings.Contains(got, "others") {
			t.Errorf("in a group its taint is %q, of %v", got, m.asked)
		}
	})
}

// Only the last words of an edited message are looked at; others' words taint a summary.
func TestSpokenIsWhatStands(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		says(h, "c1", "WRONG", "two")
		h.Exec("INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, text, replaces, created_at) SELECT conversation_id, session_id, 'in', 'revision', origin, person, author, 'right', id, 1 FROM messages WHERE text = 'WRONG'",
			"INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, text, taint, created_at) SELECT conversation_id, session_id, 'in', 'turn', 'job', person, author, 'of a page', 'web', 1 FROM messages WHERE text = 'two'")
		list, err := h.Router.SpokenAfter(h.Ctx, &routermemory.Resting{Session: 1, Person: "ada", Direct: true}, 0, 10)
		var got []string
		for _, m := range list {
			got = append(got, m.Text+string(m.Taint))
		}
		if err != nil || strings.Join(got, "|") != "two|right|of a pageweb" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// One person's many sessions hold up nobody's, and whom another engine works for is left to it.
func TestRestingIsFair(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		for i := range 5 {
			says(h, fmt.Sprint("c", i), "one")
		}
		h.Accept(storetest.By(storetest.Entry("d", "d", "one"), "bob"))
		h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
		list := func(owner int64) (people string) {
			t.Helper()
			found, err := h.Router.Resting(h.Ctx, owner, time.Now(), 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				people += r.Person + " "
			}
			return people
		}
		if got := list(h.Owner()); got != "ada ada ada bob " {
			t.Errorf("found %q", got)
		}
		if now, err := h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now()); err != nil || now == nil {
			t.Fatalf("%+v, %v", now, err)
		}
		if mine, others := list(h.Owner()), list(h.Owner()+1); mine != "ada ada ada bob " || others != "bob " {
			t.Errorf("found %q, and another engine %q", mine, others)
		}
	})
}
