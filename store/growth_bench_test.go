package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/router/ledger"
	"switchboard/store"
	"switchboard/store/engines"
	"switchboard/store/storetest"
)

// BenchmarkGrowth is what one person waits for in the store, and what an engine looks for
// again and again, in an empty database, in one with 1,000,000 strangers' conversations
// and 20,000 waiting turns, and in that one while retention clears the strangers away.
func BenchmarkGrowth(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		for _, size := range []string{"empty", "crowded", "swept"} {
			b.Run(kind+"/"+size, func(b *testing.B) { growth(b, open(b), size) })
		}
	}
}

func growth(b *testing.B, db *store.DB, size string) {
	e, err := engines.Start(b.Context(), db.DB, false)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	r := db.Router()
	hold, _, err := r.TakeChannel(b.Context(), e.ID(), "tg")
	if err != nil {
		b.Fatal(err)
	}
	if size == "empty" {
		crowd(b, db, 1, 2000, "eve")
	} else {
		crowd(b, db, 1_000_000, 20_000, "eve")
	}
	var sweeping sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	var swept int64
	if size == "swept" {
		sweeping.Go(func() { swept, _ = db.Sweep(ctx, e.ID(), keepAYear) })
	}
	took := map[string][]time.Duration{}
	timed := func(name string, fn func() error) {
		began := time.Now()
		if err := fn(); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		took[name] = append(took[name], time.Since(began))
	}
	i := int64(0)
	for b.Loop() {
		i++
		if db.PG() && i%500 == 0 {
			storetest.Exec(b, db, "UPDATE owners SET renewed_at = sb_clock(), expires_at = sb_clock() + 15000000")
		}
		timed("message", func() error { return message(b.Context(), r, e.ID(), hold, fmt.Sprint("c", i%100), i) })
		timed("stranger", func() error {
			_, err := r.Accept(b.Context(), e.ID(), []ledger.Entry{stranger(fmt.Sprint("s", i), fmt.Sprint("s", i))})
			return err
		})
		timed("open", func() error { _, err := r.Open(b.Context(), hold); return err })
		timed("held", func() error { _, err := r.Held(b.Context(), e.ID()); return err })
		timed("admins", func() error { _, err := r.AdminChats(b.Context()); return err })
		if i > 1900 {
			continue
		}
		var claimed []ledger.Claimed
		timed("claim", func() (err error) { claimed, err = r.Claim(b.Context(), e.ID(), []string{"tg"}, nil, 1); return err })
		for _, c := range claimed {
			if _, err := r.Commit(b.Context(), c.TurnRef, agent.Step{End: &agent.End{State: "done", Outcome: "answered"}}, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	stop()
	sweeping.Wait()
	for name, list := range took {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds()), name+"-p99-µs")
	}
	if size == "swept" {
		b.ReportMetric(float64(swept), "rows-swept")
	}
}
