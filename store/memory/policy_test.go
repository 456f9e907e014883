package memory_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/agent/memory"
	"switchboard/router/decision"
	routermemory "switchboard/router/memory"
	"switchboard/store/storetest"
)

// A judge is a policy service at a real server.
type judge struct {
	decision.Service
	url  string
	away atomic.Bool
	says atomic.Value // func(input map[string]string) bool; none: yes
	last atomic.Value // string
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	j := &judge{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		j.last.Store(string(body))
		var q struct{ Input map[string]string }
		if json.Unmarshal(body, &q) != nil || j.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		says, set := j.says.Load().(func(map[string]string) bool)
		_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]bool{"allow": !set || says(q.Input)}})
	}))
	j.url = server.URL
	t.Cleanup(func() {
		j.Apply("", "")
		server.Close()
	})
	j.fresh()
	return j
}

// fresh has nothing kept of what it answered.
func (j *judge) fresh() {
	j.Apply("", "")
	j.Apply(j.url, "")
}

func TestPolicyServiceDecidesWhatIsRemembered(t *testing.T) {
	t.Parallel()
	eachKept(t, func(k *keeper) {
		j := newJudge(k.T)
		k.Policy = &j.Service
		j.says.Store(func(in map[string]string) bool { return in["kind"] != "rule" && in["taint"] == "" })
		ann := &routermemory.Writer{Person: "ann", Place: direct("ann", "telegram", 1)}
		fact := memory.Entry{Kind: memory.Fact, Text: "the key rotates on Fridays", Source: routermemory.Said}
		if _, rule := k.write(ann, fact); rule != "" {
			k.Errorf("refused by %s", rule)
		}
		want := `{"input":{"action":"memory.write","person":"ann","role":"","channel":"telegram","scope":"person:ann","kind":"fact","taint":"","tool":"","effect":""}}`
		if got := j.last.Load(); got != want {
			k.Errorf("asked %s", got)
		}
		j.last.Store("")
		// What our own rules refuse is not asked about.
		if _, rule := k.write(ann, memory.Entry{Kind: memory.Fact, Scope: memory.Global, Text: "x"}); rule != "memory.role" || j.last.Load() != "" {
			k.Errorf("refused by %s, asked %s", rule, j.last.Load())
		}
		for _, no := range []memory.Entry{
			{Kind: memory.Rule, Category: "general", Text: "be brief", Source: routermemory.Command},
			{Kind: memory.Fact, Taint: "web", Text: "the key is under the mat", Source: routermemory.Curator},
		} {
			if c, rule := k.write(ann, no); rule != decision.Rule || c.NoAnswer != nil || c.Refusal.Text != "The service that decides what I may remember does not allow that." {
				k.Errorf("%s: refused by %q: %+v", no.Kind, rule, c.Refusal)
			}
		}
		// What makes a memory clean and sure is asked about as what it is.
		storetest.Exec(k.T, k.db, "INSERT INTO memories (kind, scope, text, state, person, taint, source, created_at, updated_at) VALUES ('fact', 'person:ann', 'x', 'active', 'ann', 'web', 'rest', 1, 1)")
		for id, want := range map[int64]string{1: "", 2: decision.Rule} {
			c, err := k.Edit(k.Context(), ann, routermemory.Keep, id, "")
			if err != nil || want == "" && c.Refusal != nil || want != "" && (c.Refusal == nil || c.Refusal.Rule != want) {
				k.Errorf("memory %d: %+v, %v", id, c.Refusal, err)
			}
		}
		j.away.Store(true)
		j.fresh()
		if c, rule := k.write(ann, memory.Entry{Kind: memory.Fact, Text: "another"}); rule != decision.Rule || c.NoAnswer == nil || !strings.Contains(c.Refusal.Text, "does not answer") {
			k.Errorf("refused by %q: %+v", rule, c.Refusal)
		}
		for query, want := range map[string]int64{
			"SELECT count(*) FROM memories": 2,
			"SELECT count(*) FROM audit WHERE outcome = 'refused' AND why LIKE 'The service%' AND CAST(data AS text) LIKE '%policy.service%'": 3,
		} {
			if n, err := storetest.Count(k.Context(), k.db, query); err != nil || n != want {
				k.Errorf("%s: %d, %v; want %d", query, n, err, want)
			}
		}
	})
}

// At rest a service that does not answer costs no call of a model and loses nothing; what it does not allow is discarded.
func TestRestWaitsForThePolicyService(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *storetest.House) {
		j := newJudge(t)
		m := &model{says: map[string]any{
			"look":    map[string]any{"learnings": []string{"Ada likes tea."}},
			"curate":  verdicts(map[string]any{"learning": 1, "verdict": "ask", "text": "Do you like tea?"}),
			"summary": map[string]any{"sentences": []string{"Ada spoke of tea."}},
		}}
		r := resting(h, m)
		r.Policy = &j.Service
		j.away.Store(true)
		says(h, "c1", "one", "two", "three")
		for range 10 {
			j.fresh()
			h.Exec("UPDATE sessions SET rest_after = 0")
			rest(h, r)
		}
		if m.count("curate") != 0 {
			t.Errorf("%d calls for what cannot be written", m.count("curate"))
		}
		waits := "learning session:1 pending rest: Ada likes tea."
		if got := rows(h, memoriesOf); got != waits {
			t.Errorf("remembered:\n%s", got)
		}
		if doing, err := h.DB.RestTrouble(h.Ctx); err != nil || doing.Failing != 1 || !strings.Contains(doing.Line(), "the policy service does not answer") {
			t.Errorf("%+v, %v", doing, err)
		}
		// It goes away while a model is asked, however often.
		m.hook = func() { j.away.Store(true) }
		for range 10 {
			j.away.Store(false)
			j.fresh()
			h.Exec("UPDATE sessions SET rest_after = 0")
			rest(h, r)
		}
		if got := rows(h, memoriesOf); got != waits || m.count("curate") != 10 {
			t.Errorf("after %d calls remembered:\n%s", m.count("curate"), got)
		}
		m.hook = nil
		j.away.Store(false)
		judged := m.says["curate"]
		m.says["curate"] = map[string]any{"nonsense": 1} // it is tried again: the outage does not count
		j.fresh()
		h.Exec("UPDATE sessions SET rest_after = 0")
		rest(h, r)
		if got := rows(h, memoriesOf); got != waits {
			t.Errorf("after an answer with faults remembered:\n%s", got)
		}
		m.says["curate"] = judged
		j.says.Store(func(in map[string]string) bool { return in["kind"] != "question" })
		h.Exec("UPDATE sessions SET rest_after = 0")
		rest(h, r)
		h.WantCount(1, "SELECT count(*) FROM memories WHERE state = 'discarded' AND outcome LIKE 'policy.service: %'")
		h.WantCount(1, "SELECT count(*) FROM memories")
		// What several say stays as it is where it may not become one.
		var list []memory.Entry
		for i := range 6 {
			list = append(list, memory.Entry{Scope: "person:ada", Person: "ada", Text: fmt.Sprintf("fact %d", i)})
		}
		said(t, h.DB, list...)
		m.says["consolidate"] = map[string]any{"facts": []any{map[string]any{"text": "all", "of": []int{1, 2}}, map[string]any{"text": "rest", "of": []int{3, 4}}, map[string]any{"text": "last", "of": []int{5, 6}}}}
		j.away.Store(true)
		for _, want := range []int{0, 1} {
			j.fresh()
			h.Exec("UPDATE sessions SET restless = TRUE, rest_after = 0")
			rest(h, r)
			if m.count("consolidate") != want {
				t.Errorf("%d calls, want %d", m.count("consolidate"), want)
			}
			j.away.Store(false)
			m.hook = func() {
				j.says.Store(func(map[string]string) bool { return false })
				j.fresh()
			}
		}
		h.WantCount(6, "SELECT count(*) FROM memories WHERE state = 'active'")
		h.WantCount(0, "SELECT count(*) FROM memories WHERE source = 'merge'")
	})
}
