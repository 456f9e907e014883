package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/router/core"
	routermemory "switchboard/router/memory"
	"switchboard/store"
	"switchboard/store/database"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// model answers what memory asks, by schema.
type model struct {
	mu    sync.Mutex
	asked []llm.Request
	says  map[string]any
	err   error
	hook  func() // before each answer
}

func (m *model) Complete(_ context.Context, role string, req llm.Request) (llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Role = role
	m.asked = append(m.asked, req)
	if m.hook != nil {
		m.hook()
	}
	if m.err != nil {
		return llm.Response{}, m.err
	}
	text, _ := json.Marshal(m.says[req.Schema.Name])
	return llm.Response{Text: string(text)}, nil
}

func (m *model) count(schema string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, req := range m.asked {
		if req.Schema.Name == schema {
			n++
		}
	}
	return n
}

// resting is a house in which a rester works whose model is scripted.
func resting(h *storetest.House, m *model) *routermemory.Rester {
	cfg := memory.DefaultConfig()
	s := &routermemory.Service{
		Store: h.Router, Person: func(name string) *core.Person { return &core.Person{Name: name, Role: core.RoleUser} },
		Hide:     func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") },
		Settings: func() memory.Config { return cfg }, Proposes: func() bool { return false }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	return routermemory.NewRester(routermemory.Rester{
		Service: s, Rests: h.Router, Owner: h.Owner(), Ask: func(string) memory.Asker { return m },
		Limits: func() routermemory.RestLimits {
			return routermemory.RestLimits{Idle: time.Nanosecond, Retries: 1, SumFrom: 6, MostFacts: 5, Day: "2026-11-29", DayOver: time.Now().Add(time.Hour)}
		},
	})
}

// rest works until nothing is left to be done.
func rest(h *storetest.House, r *routermemory.Rester) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		list, err := h.Router.Resting(h.Ctx, h.Owner(), time.Now(), 10)
		if err != nil {
			h.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		if time.Now().After(deadline) {
			h.Fatalf("it never rests: %+v", list)
		}
		r.Wake()
	}
	cancel()
	<-done
}

func says(h *storetest.House, conv string, texts ...string) {
	h.Helper()
	for i, text := range texts {
		h.Accept(storetest.By(storetest.Entry(conv, fmt.Sprintf("%s%d%d", conv, i, time.Now().UnixNano()), text), "ada"))
	}
	h.Exec("UPDATE turns SET state = 'done', finished_at = 1 WHERE state IN ('queued', 'running')")
}

func rows(h *storetest.House, query string) string {
	h.Helper()
	list, err := database.List[struct{ Line string }](h.Ctx, h.DB.DB, "read", query)
	if err != nil {
		h.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, r.Line)
	}
	return strings.Join(out, "\n")
}

const memoriesOf = `SELECT kind || ' ' || scope || ' ' || state || ' ' || source || ': ' || text AS line FROM memories ORDER BY id`

func verdicts(list ...map[string]any) any {
	for _, v := range list {
		for _, key := range []string{"kind", "category", "key", "text", "replaces", "reason"} {
			if _, there := v[key]; !there {
				v[key] = nil
			}
		}
	}
	return map[string]any{"verdicts": list}
}

func each(t *testing.T, fn func(t *testing.T, h *storetest.House)) {
	storetest.Each(t, func(t *testing.T, db *store.DB) { fn(t, storetest.NewHouse(t, db)) })
}

func TestRestLooksJudgesAndSumsUpOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := &model{says: map[string]any{
			"look":    map[string]any{"learnings": []string{"Ada's key is hunter2.", "Ada may like tea."}},
			"curate":  verdicts(map[string]any{"learning": 1, "verdict": "promote", "kind": "fact", "text": "Ada's key is hunter2."}, map[string]any{"learning": 2, "verdict": "ask", "text": "Do you like tea?"}),
			"summary": map[string]any{"sentences": []string{"Ada spoke of a key."}},
		}}
		r := resting(h, m)
		says(h, "c1", "one", "two")
		rest(h, r)
		if len(m.asked) > 0 {
			t.Errorf("two messages are worth %d calls", len(m.asked))
		}
		says(h, "c1", "three", "/tool x", "four", "five", "six")
		rest(h, r)
		want := "learning session:1 promoted rest: Ada's key is [redacted].\nlearning session:1 promoted rest: Ada may like tea.\n" +
			"fact person:ada active curator: Ada's key is [redacted].\nquestion person:ada active curator: Do you like tea?"
		if got := rows(h, memoriesOf); got != want {
			t.Errorf("remembered:\n%s", got)
		}
		if got := rows(h, "SELECT summary || '|' || summary_taint AS line FROM sessions"); got != "Ada spoke of a key.|" {
			t.Errorf("summary %q", got)
		}
		if got := rows(h, "SELECT kind AS line FROM recalled WHERE kind <> 'message' ORDER BY kind"); got != "memory\nmemory\nsummary" {
			t.Errorf("found are %q", got)
		}
		h.WantCount(6, "SELECT count(*) FROM recalled WHERE kind = 'message' AND scope = 'person:ada'")
		h.WantCount(1, "SELECT count(*) FROM memories WHERE kind = 'question' AND expires_at > 0")
		h.WantCount(3, "SELECT calls FROM memory_days WHERE person = 'ada'")
		h.WantCount(0, "SELECT count(*) FROM leases WHERE kind = 'memory' AND owner IS NOT NULL")
		// Nothing new: no call.
		h.Exec("UPDATE sessions SET restless = TRUE")
		rest(h, r)
		if len(m.asked) != 3 {
			t.Errorf("%d calls", len(m.asked))
		}
	})
}

// Of what happened while a model was asked nothing is overwritten.
func TestRestWritesNothingOfWhatIsNotSoAnyMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := &model{says: map[string]any{
			"look": map[string]any{"learnings": []string{}}, "summary": map[string]any{"sentences": []string{"FORGOTTEN"}},
		}}
		m.hook = func() {
			if m.asked[len(m.asked)-1].Schema.Name == "summary" {
				h.Exec("UPDATE sessions SET summary = '', reset_message = (SELECT max(id) FROM messages)")
			}
		}
		says(h, "c1", "one", "two", "three", "four", "five", "six")
		rest(h, resting(h, m))
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE summary = '' AND rest_tries = 0")
		// An engine that lost the lease writes nothing.
		now, err := h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now())
		if err != nil || now != nil {
			t.Fatalf("%+v, %v", now, err)
		}
		says(h, "c1", "seven")
		if now, err = h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now()); err != nil || now == nil {
			t.Fatalf("%+v, %v", now, err)
		}
		late := *now
		if now, err = h.Router.Rest(h.Ctx, 1, h.Owner(), time.Now()); err != nil || now == nil || now.Fence <= late.Fence {
			t.Errorf("the same engine does not go on: %+v, %v", now, err)
		}
		if err := h.Router.FreeRest(h.Ctx, now); err != nil {
			t.Fatal(err)
		}
		if err := h.Router.WriteLook(h.Ctx, &late, 99, []memory.Entry{{Text: "LATE"}}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("without the lease: %v", err)
		}
		if _, err := h.Router.IndexRest(h.Ctx, &late); !errors.Is(err, core.ErrFenced) {
			t.Errorf("without the lease: %v", err)
		}
		h.WantCount(0, "SELECT count(*) FROM memories")
	})
}

func TestRestIsTriedAgainLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := &model{err: llm.ErrAway}
		r := resting(h, m)
		says(h, "c1", "one", "two", "three")
		rest(h, r)
		if doing, err := h.DB.RestTrouble(h.Ctx); err != nil || doing.Failing != 1 || doing.Tries != 1 || !strings.Contains(doing.Line(), "is not learned yet, after 1 tries: the model is not available") {
			t.Errorf("%+v, %v", doing, err)
		}
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE restless = TRUE AND rest_after > 0")
		for range 8 {
			h.Exec("UPDATE sessions SET rest_after = 1")
			rest(h, r)
		}
		if m.count("look") != 9 {
			t.Errorf("%d tries", m.count("look"))
		}
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE restless = TRUE AND rest_after > 0 AND rest_tries = 9 AND looked_to = 0") // an outage may take long
		// What is new is found, whatever the models do.
		says(h, "c1", "zeppelin")
		rest(h, r)
		if m.count("look") != 9 {
			t.Errorf("%d tries", m.count("look"))
		}
		h.WantCount(4, "SELECT count(*) FROM recalled WHERE kind = 'message'")
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE rest_tries = 9")
		// A model that gives no usable answer is not asked for ever.
		m.err, m.says = nil, map[string]any{"look": map[string]any{"nothing": 1}}
		h.Exec("UPDATE sessions SET rest_after = 1")
		rest(h, r)
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE restless = FALSE AND looked_to > 0 AND rest_tries = 0")
		m.says = map[string]any{"look": map[string]any{"learnings": []string{}}, "summary": map[string]any{"sentences": []string{"They spoke."}}}
		says(h, "c1", "four", "or", "more")
		rest(h, r)
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE restless = FALSE AND looked_to > 0 AND rest_tries = 0 AND rest_fault = ''")
		// There are no more calls today.
		h.Exec("UPDATE memory_days SET calls = 50")
		says(h, "c1", "five", "six", "seven")
		before := len(m.asked)
		rest(h, r)
		if len(m.asked) != before {
			t.Errorf("%d calls too many", len(m.asked)-before)
		}
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE rest_tries = 0 AND rest_after > 0 AND rest_fault LIKE '%per_day%'")
	})
}

// What panics at rest is a fault of that session, which is left undone in the end, and the others' work goes on.
func TestPanicAtRestEndsNothingElse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := learned("Ada likes tea.", "SUMMARY")
		m.hook = func() {
			text := "Ada likes tea."
			if strings.Contains(fmt.Sprint(m.asked[len(m.asked)-1]), "boom") {
				text = "boom"
			}
			m.says["look"] = map[string]any{"learnings": []string{text}}
		}
		r := resting(h, m)
		r.Hide = func(text string) string {
			if text == "boom" {
				panic("boom")
			}
			return text
		}
		says(h, "c1", "boom", "boom", "boom")
		says(h, "c2", "one", "two", "three")
		rest(h, r)
		if got := rows(h, "SELECT rest_tries || substr(rest_fault, 1, 11) AS line FROM sessions ORDER BY id"); got != "1panic: boom\n0" {
			t.Errorf("left undone: %s", got)
		}
		if got := rows(h, memoriesOf); !strings.Contains(got, "Ada likes tea.") {
			t.Errorf("remembered:\n%s", got)
		}
		for range 7 {
			h.Exec("UPDATE sessions SET rest_after = 1 WHERE restless = TRUE")
			rest(h, r)
		}
		h.WantCount(2, "SELECT count(*) FROM sessions WHERE restless = FALSE AND looked_to > 0 AND rest_tries = 0")
	})
}

func TestConsolidationIsOfOneMomentAndCanBeTakenBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		var list []memory.Entry
		for i := range 6 {
			list = append(list, memory.Entry{Scope: "person:ada", Person: "ada", Text: fmt.Sprintf("fact %d", i)})
		}
		ids := said(t, h.DB, append(list, memory.Entry{Scope: "person:ada", Text: "tainted", Taint: "web"})...)
		m := &model{says: map[string]any{"consolidate": map[string]any{"facts": []any{
			map[string]any{"text": "facts 0 and 1", "of": []int{1, 2}},
			map[string]any{"text": "fact 2", "of": []int{3}},
			map[string]any{"text": "x", "of": []int{4}},
			map[string]any{"text": "fact 4", "of": []int{5}},
			map[string]any{"text": "fact 5", "of": []int{6}},
		}}}}
		once := true
		m.hook = func() { // a person forgets one meanwhile
			if once {
				h.Exec(fmt.Sprintf("UPDATE memories SET state = 'forgotten' WHERE id = %d", ids[1]))
			}
			once = false
		}
		r := resting(h, m)
		says(h, "c1", "hello")
		rest(h, r)
		h.WantCount(0, "SELECT count(*) FROM memories WHERE source = 'merge'")
		h.Exec(fmt.Sprintf("UPDATE memories SET state = 'active' WHERE id = %d", ids[1]), "UPDATE sessions SET restless = TRUE", "DELETE FROM memory_scopes",
			"UPDATE recalled SET said_at = 100 + ref WHERE kind = 'memory'")
		rest(h, r)
		active := `SELECT text AS line FROM memories WHERE state = 'active' ORDER BY text`
		if got := rows(h, active); got != "fact 2\nfact 3\nfact 4\nfact 5\nfacts 0 and 1\ntainted" {
			t.Errorf("left:\n%s", got)
		}
		calls := len(m.asked)
		h.Exec("UPDATE sessions SET restless = TRUE")
		if rest(h, r); len(m.asked) != calls {
			t.Error("nothing is new, and it was asked again")
		}
		var merged int64
		if _, err := fmt.Sscan(rows(h, "SELECT CAST(id AS text) AS line FROM memories WHERE source = 'merge'"), &merged); err != nil {
			t.Fatal(err)
		}
		h.WantCount(1, fmt.Sprintf("SELECT count(*) FROM recalled WHERE kind = 'memory' AND ref = %d AND said_at = %d", merged, 100+ids[1]))
		undo := func(id int64) error {
			return h.DB.Write(h.Ctx, database.Async, "undo", func(t *database.Tx) error { return stored.Unmerge(t, id) })
		}
		if err := undo(merged); err != nil {
			t.Fatal(err)
		}
		if got := rows(h, active); got != "fact 0\nfact 1\nfact 2\nfact 3\nfact 4\nfact 5\ntainted" {
			t.Errorf("after the undo:\n%s", got)
		}
		h.WantCount(7, "SELECT count(*) FROM recalled WHERE kind = 'memory'")
		for _, id := range []int64{merged, ids[0], 999} {
			if err := undo(id); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("undo %d: %v", id, err)
			}
		}
	})
}

func TestFactsAge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		ago := func(days int) time.Time { return time.Now().Add(-time.Duration(days)*24*time.Hour - time.Hour) }
		said(t, h.DB,
			memory.Entry{Text: "36", CreatedAt: ago(36)}, memory.Entry{Text: "37", CreatedAt: ago(37)}, memory.Entry{Text: "50", CreatedAt: ago(50)},
			memory.Entry{Text: "old", CreatedAt: ago(500)}, memory.Entry{Text: "kept", CreatedAt: ago(500)}, memory.Entry{Text: "used", CreatedAt: ago(500)},
			memory.Entry{Text: "pref", Kind: memory.Preference, CreatedAt: ago(500)}, memory.Entry{Text: "asked", Kind: memory.Question, CreatedAt: ago(500), ExpiresAt: ago(1)},
		)
		h.Exec("UPDATE memories SET kept = TRUE WHERE text = 'kept'", fmt.Sprintf("UPDATE memories SET used_at = %d WHERE text = 'used'", ago(31).UnixMicro()))
		for range 2 {
			if _, err := h.DB.Age(h.Ctx); err != nil {
				t.Fatal(err)
			}
		}
		got := rows(h, "SELECT text || ' ' || CAST(CAST(round(confidence * 10) AS bigint) AS text) || ' ' || state AS line FROM memories ORDER BY id")
		if want := "36 10 active\n37 9 active\n50 8 active\nold 2 archived\nkept 10 active\nused 10 active\npref 10 active\nasked 10 forgotten"; got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

// Where memory is another bot's nothing is learned, and no model is asked for what could not be written.
func TestACopyLearnsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		m := learned("Ada likes tea.", "SUMMARY")
		says(h, "c1", "one", "two", "three", "four", "five", "six")
		h.Exec("INSERT INTO memories (kind, scope, text, state, person, session_id, source, created_at, updated_at) VALUES ('learning', 'session:1', 'x', 'pending', 'ada', 1, 'review', 1, 1)",
			"INSERT INTO memory_copy (id, log, n, come_to) VALUES (1, 'a', 1, -1)")
		rest(h, resting(h, m))
		if len(m.asked) != 1 || m.count("summary") != 1 {
			t.Errorf("%d calls, %d for the summary", len(m.asked), m.count("summary"))
		}
		if got := rows(h, memoriesOf); got != "learning session:1 discarded review: " {
			t.Error(got)
		}
	})
}
