package memory

import (
	"context"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm"
)

// found are hits with these texts, a day apart, the newest last.
type found []string

func (f found) Search(_ context.Context, q Query) (Found, error) {
	out := Found{Counts: make([]int, len(q.Terms))}
	for i, text := range f {
		h := Hit{Record: OfMemory, Kind: Fact, Ref: int64(i), Person: "ada", Text: text, Confidence: 1, Words: Words(text), SaidAt: time.Date(2026, 5, 1+i, 0, 0, 0, 0, time.UTC)}
		out.Hits = append(out.Hits, h)
		for n, t := range q.Terms {
			if t.in(" " + h.Words + " ") {
				out.Counts[n]++
			}
		}
	}
	return out, nil
}

func TestRecallRanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask   string
		store found
		want  string
	}{
		{"Where is the harbour key?", found{"The harbour key is in the box.", "The harbour key is in the car."}, "car,box"},                     // the newer
		{"Where is the harbour key?", found{"The harbour key is in the box.", "The harbour is closed.", "The key is bent."}, "box,bent,closed"}, // what has more of it
		{"Where is the habour key?", found{"The harbour key is in the box.", "The key is bent."}, "box,bent"},                                   // nearly the same word
		{"What is the name of my dog?", found{"Her name is Anna."}, ""},
		{"Where is it?", found{"It is here."}, ""},
		{"Where is my passport?", nil, ""},
	} {
		hits, err := Recall(t.Context(), c.store, c.ask, Query{}, 800)
		if err != nil {
			t.Fatal(err)
		}
		var last []string
		for _, h := range hits {
			words := strings.Fields(strings.Trim(h.Text, "."))
			last = append(last, words[len(words)-1])
		}
		if got := strings.Join(last, ","); got != c.want {
			t.Errorf("%s: %q, want %q", c.ask, got, c.want)
		}
	}
}

// What is recalled fits into its budget, with date and source, and a long text leaves room for others.
func TestRecallFitsItsBudget(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("many words of no use ", 200) + "the zeppelin is moored at the harbour " + strings.Repeat("and more of them ", 300)
	store := found{long, "A zeppelin is blue.", strings.Repeat("zeppelin ", 5000)}
	for _, budget := range []int{0, 10, 100, 300, 800} {
		hits, err := Recall(t.Context(), store, "zeppelin?", Query{Memories: true}, budget)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, h := range hits {
			n += llm.Tokens(h.Line(time.UTC))
			if !strings.Contains(h.Text, "zeppelin") {
				t.Errorf("cut to %q", h.Text)
			}
		}
		if n > budget || budget == 800 && len(hits) != 3 {
			t.Errorf("budget %d: %d hits, %d tokens", budget, len(hits), n)
		}
		if budget == 800 && hits[len(hits)-1].Line(time.UTC) == "" {
			t.Error("a line is empty")
		}
	}
	h := Hit{Record: OfMemory, Kind: Fact, Person: "ada", Text: "A zeppelin\nis blue.", SaidAt: time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)}
	if got := h.Line(time.UTC); got != "2026-05-02, fact of ada: A zeppelin is blue." {
		t.Error(got)
	}
}
