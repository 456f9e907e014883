package memory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/store"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// lines reads a file of the labelled set.
func lines[R any](t *testing.T, name string) (list []R) {
	t.Helper()
	text, err := os.ReadFile("testdata/recall/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r R
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

// scopeOf is the scope of a place of the set.
func scopeOf(place string) memory.Scope {
	if name, ok := strings.CutPrefix(place, "direct:"); ok {
		return memory.OfPerson(name)
	} else if name, ok := strings.CutPrefix(place, "group:"); ok {
		return memory.OfGroup("tg", name)
	}
	return memory.Global
}

// What the labelled set asks for comes back, nothing that is out of scope or replaced, and nothing where nothing answers.
// Its README says what the classes are.
func TestRecallOfTheLabelledSet(t *testing.T) {
	t.Parallel()
	type told struct {
		ID, Kind, Person, Place, At, Text, Supersedes string
	}
	type asked struct {
		ID, Place, Class, Text string
		Want, Not              []string
	}
	memories, questions := lines[told](t, "memories.jsonl"), lines[asked](t, "questions.jsonl")
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		replaced := map[string]bool{}
		for _, m := range memories {
			replaced[m.Supersedes] = true
		}
		var list []memory.Entry
		for _, m := range memories {
			at, err := time.Parse(time.DateOnly, m.At)
			if err != nil {
				t.Fatal(err)
			}
			e := memory.Entry{Kind: memory.Fact, Scope: scopeOf(m.Place), Person: m.Person, Text: m.Text, CreatedAt: at}
			if replaced[m.ID] { // and is found all the same, to see that its state is looked at
				e.State = "superseded"
			}
			list = append(list, e)
		}
		names := map[int64]string{}
		for i, id := range said(t, db, list...) {
			names[id] = memories[i].ID
		}
		type score struct{ all, first, five, none, hits int }
		scores := map[string]*score{}
		for _, q := range questions {
			s := scores[q.Class]
			if s == nil {
				s = &score{}
				scores[q.Class] = s
			}
			hits, err := memory.Recall(t.Context(), stored.New(db.DB), q.Text, memory.Query{Scopes: []memory.Scope{memory.Global, scopeOf(q.Place)}}, 800)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, h := range hits {
				found = append(found, names[h.Ref])
				if slices.Contains(q.Not, names[h.Ref]) && (q.Class == "scope" || q.Class == "update") {
					t.Errorf("%s brings %s", q.ID, names[h.Ref])
				}
			}
			s.all++
			s.hits += len(hits)
			if len(hits) == 0 {
				s.none++
			}
			if len(q.Want) > 0 {
				switch at := slices.Index(found, q.Want[0]); {
				case at == 0:
					s.first++
					fallthrough
				case at > 0 && at < 5:
					s.five++
				}
			}
			if os.Getenv("RECALL_MISSES") == q.Class { // to see what is missed
				fmt.Println(q, found)
			}
		}
		for class, s := range scores {
			t.Logf("%-10s %3d questions: %.2f first, %.2f in five, %.2f nothing, %.1f a question", class, s.all,
				float64(s.first)/float64(s.all), float64(s.five)/float64(s.all), float64(s.none)/float64(s.all), float64(s.hits)/float64(s.all))
		}
		for _, want := range []struct {
			class string
			part  int
			least float64
		}{{"stem", scores["stem"].five, 0.9}, {"update", scores["update"].five, 0.95}, {"never", scores["never"].none, 0.9}} {
			if all := scores[want.class].all; float64(want.part) < want.least*float64(all) {
				t.Errorf("%s: %d of %d, want %.2f", want.class, want.part, all, want.least)
			}
		}
	})
}
