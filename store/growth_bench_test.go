package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/store"
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
	h := newHouse(b, db)
	hold := h.Hold()
	if size == "empty" {
		crowd(b, db, 1, 2000, "eve")
	} else {
		crowd(b, db, 1_000_000, 20_000, "eve")
	}
	var sweeping sync.WaitGroup
	ctx, stop := context.WithCancel(h.Ctx)
	var swept int64
	if size == "swept" {
		sweeping.Go(func() { swept, _ = db.Retain(ctx, h.owner(), keepAYear) })
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
		if i%500 == 0 {
			h.Renew()
		}
		timed("message", func() error { return h.message(hold, fmt.Sprint("c", i%100), i) })
		timed("stranger", func() error {
			_, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{stranger(fmt.Sprint("s", i), fmt.Sprint("s", i))})
			return err
		})
		timed("open", func() error { _, err := h.Router.Open(h.Ctx, hold); return err })
		timed("held", func() error { _, err := h.Router.Held(h.Ctx, h.owner()); return err })
		timed("admins", func() error { _, err := h.Router.AdminChats(h.Ctx); return err })
		if i > 1900 {
			continue
		}
		var claimed []core.Claimed
		timed("claim", func() (err error) {
			claimed, err = h.Router.Claim(h.Ctx, h.owner(), []string{"tg"}, nil, 1)
			return err
		})
		for _, c := range claimed {
			h.Commit(c.TurnRef, end("done", "answered"))
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
