package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	"switchboard/store"
	stored "switchboard/store/memory"
	"switchboard/store/storetest"
)

// BenchmarkRecall recalls, as a turn does, what stands and what is found among 100,000 memories of 1,000 people, one of whom has 10,000, for that one and for one
// who has some 90. A commit comes between any two, as with every message.
func BenchmarkRecall(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(kind, func(b *testing.B) {
			db := open(b)
			texts := crowd(b, db, 1000, 90_000, 10_000)
			before := resident()
			for _, person := range []int{0, 1} {
				b.Run(fmt.Sprintf("memories=%d", len(texts[person])), func(b *testing.B) {
					r := rand.New(rand.NewPCG(1, 2))
					var took []time.Duration
					found, none := 0, 0
					for b.Loop() {
						text := asks(r, texts[person])
						storetest.Exec(b, db, `UPDATE memories SET used_at = 1 WHERE id = 1`)
						began := time.Now()
						at := memory.Place{Person: strings.TrimPrefix(string(named(person)), "person:"), Direct: true, Session: 7}
						if _, _, err := db.Router().StandingMemories(b.Context(), at, 0.5); err != nil {
							b.Fatal(err)
						}
						hits, err := memory.Recall(b.Context(), stored.New(db.DB), text, memory.Query{Scopes: at.Scopes()}, 800)
						took = append(took, time.Since(began))
						if err != nil {
							b.Fatal(err)
						}
						if found += len(hits); len(hits) == 0 {
							none++
						}
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
					b.ReportMetric(float64(found)/float64(len(took)), "hits/op")
					b.ReportMetric(float64(none)/float64(len(took)), "none/op")
				})
			}
			b.Logf("%.1f MB more resident", float64(resident()-before)/1e6)
		})
	}
}

func named(person int) memory.Scope { return memory.OfPerson("p" + strconv.Itoa(person)) }

// crowd writes memories: so many of as many people, and more of the first.
func crowd(b *testing.B, db *store.DB, people, others, first int) [][]string {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.1, 8, 29_999)
	vocabulary := make([]string, 30_000)
	for i := range vocabulary {
		for range 2 + r.IntN(3) {
			vocabulary[i] += string("bcdfghklmnprstvw"[r.IntN(16)]) + string("aeiou"[r.IntN(5)])
		}
		if r.IntN(2) == 0 {
			vocabulary[i] += string("nrstl"[r.IntN(5)])
		}
	}
	texts := make([][]string, people)
	var list []memory.Entry
	for i := range others + first {
		person := 0
		if i >= first {
			person = 1 + (i-first)%(people-1)
		}
		var words []string
		for range 6 + r.IntN(8) {
			words = append(words, []string{"the", "of", "on", "with", "her", "is"}[r.IntN(6)], vocabulary[zipf.Uint64()])
		}
		text := strings.Join(words, " ")
		texts[person] = append(texts[person], text)
		list = append(list, memory.Entry{Scope: named(person), Text: text, CreatedAt: time.Unix(1700000000+int64(i), 0)})
		if len(list) == 20 {
			said(b, db, list...)
			list = nil
		}
	}
	said(b, db, list...)
	if db.PG() {
		storetest.Exec(b, db, "ANALYZE")
	}
	return texts
}

// asks is a question with some words of one of the texts.
func asks(r *rand.Rand, texts []string) string {
	words := strings.Fields(texts[r.IntN(len(texts))])
	var some []string
	for i := 1; i < len(words); i += 2 {
		if r.IntN(2) == 0 {
			some = append(some, words[i])
		}
	}
	return "when does the " + strings.Join(some, " with the ") + "?"
}

// resident is the memory of this process, in bytes.
func resident() int64 {
	runtime.GC()
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text) + " 0 0")[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// BenchmarkMeaning is BenchmarkRecall by meaning too: 10,000 vectors of 384 numbers of one person, among those of 200 others, for both.
func BenchmarkMeaning(b *testing.B) {
	const dimension = 384
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(kind, func(b *testing.B) {
			db := open(b)
			texts := crowd(b, db, 201, 20_000, 10_000)
			e := newEmbedding(b, db)
			e.dimension = dimension
			e.all()
			before := resident()
			for _, person := range []int{0, 1} {
				b.Run(fmt.Sprintf("memories=%d", len(texts[person])), func(b *testing.B) {
					r := rand.New(rand.NewPCG(1, 2))
					in := e.by.Over(db.Router())
					var took []time.Duration
					for b.Loop() {
						text := asks(r, texts[person])
						storetest.Exec(b, db, `UPDATE memories SET used_at = 1 WHERE id = 1`)
						began := time.Now()
						q := memory.Query{Scopes: []memory.Scope{memory.Global, named(person), memory.OfSession(7)}, Meaning: text}
						if _, err := memory.Recall(b.Context(), in, text, q, 800); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(began))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
					b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
				})
			}
			b.Run("all", func(b *testing.B) { // more than is kept
				for b.Loop() {
					for person := range texts {
						q := memory.Query{Scopes: []memory.Scope{named(person)}, Meaning: "where?"}
						if _, err := memory.Recall(b.Context(), e.by.Over(db.Router()), "where?", q, 800); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.Logf("%.1f MB more resident", float64(resident()-before)/1e6)
			})
		})
	}
}
