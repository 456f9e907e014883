package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/storetest"
)

const manyJobs = `
	INSERT INTO jobs (owner, payload, text, spec, rules, conversation_id, state, slot, due_at, created_at, updated_at)
	WITH RECURSIVE n (i) AS (SELECT %[4]d + 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[4]d + %[1]d)
	SELECT 'marco', 'notify', 'stretch', '{"every":3600000000000,"anchor":"2026-01-01T00:00:00Z","zone":"UTC"}', '{}',
		(SELECT min(id) FROM conversations), 'active', %[2]d + i * %[3]d, %[2]d + i * %[3]d, 1, 1 FROM n`

// BenchmarkJobs is how long it takes to claim 10,000 jobs that are due within a minute, and to find the 20 that
// are due of 1,000,000.
func BenchmarkJobs(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(kind+"/claim", func(b *testing.B) {
			h := newHouse(b, open(b))
			h.Reminder(storetest.Hourly)
			for b.Loop() {
				b.StopTimer()
				h.Exec("DELETE FROM runs")
				h.Exec("DELETE FROM jobs")
				h.Exec(fmt.Sprintf(manyJobs, 10_000, time.Now().Add(-time.Minute).UnixMicro(), 5_000, 0))
				h.Renew()
				b.StartTimer()
				for {
					jobs, now, _, err := h.Work().DueJobs(h.Ctx, 500, storetest.OfTG)
					if err != nil {
						b.Fatal(err)
					}
					if len(jobs) == 0 {
						break
					}
					claims := make([]scheduler.Claim, len(jobs))
					for i, j := range jobs {
						claims[i] = scheduler.Decide(j.Job, now, j.Open, scheduler.Defaults{Misfire: scheduler.MisfireOnce, Grace: time.Hour})
					}
					if err := h.Work().Claim(h.Ctx, claims); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				h.WantCount(10_000, "SELECT count(*) FROM runs")
				b.StartTimer()
			}
		})
		b.Run(kind+"/find", func(b *testing.B) {
			h := newHouse(b, open(b))
			h.Reminder(storetest.Hourly)
			first := time.Now().Add(-20 * time.Hour).UnixMicro()
			for i := range 10 {
				h.Exec(fmt.Sprintf(manyJobs, 100_000, first, time.Hour.Microseconds(), i*100_000))
			}
			if h.DB.PG() {
				h.Exec("ANALYZE jobs")
			}
			for b.Loop() {
				jobs, _, next, err := h.Work().DueJobs(h.Ctx, 500, storetest.OfTG)
				if err != nil || len(jobs) != 20 || next.IsZero() {
					b.Fatalf("%d due, next %s, %v", len(jobs), next, err)
				}
			}
		})
	}
}
