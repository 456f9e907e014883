package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/scheduler"
	"switchboard/store"
	"switchboard/store/storetest"
)

// moreReminders makes the last of 51 jobs 950 ones, more than a person may have.
const moreReminders = `
	INSERT INTO jobs (owner, payload, text, spec, rules, conversation_id, state, slot, due_at, created_at, updated_at)
	WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 949)
	SELECT owner, payload, text, spec, rules, conversation_id, state, slot, due_at, created_at, updated_at FROM jobs, n WHERE id = 51`

// BenchmarkStartLag is how late 1,000 reminders begin that are due within ten seconds, while 50 jobs take longer: the
// turns of 34 do not end, and 16 hang while they are started. What did not begin in time is as late as the time
// that it had.
func BenchmarkStartLag(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(kind, func(b *testing.B) {
			const during = 13 * time.Second
			var lags []time.Duration
			never := 0
			for b.Loop() {
				r := newRig(b, open(b))
				for range 50 {
					r.add(scheduler.Job{Payload: scheduler.PayloadAgent, Spec: every(time.Hour)})
				}
				r.add(scheduler.Job{Spec: every(time.Hour)})
				storetest.Exec(b, r.DB, moreReminders)
				r.fault = func(run scheduler.DueRun) error {
					if run.Job.ID <= 16 {
						time.Sleep(10 * time.Second)
					}
					return nil
				}
				begin := time.Now().Add(time.Second).UnixMicro()
				storetest.Exec(b, r.DB, fmt.Sprintf("UPDATE jobs SET slot = %[1]d + (id - 1) * 10000, due_at = %[1]d + (id - 1) * 10000", begin))
				r.runFor(during)
				for id := int64(51); id <= 1000; id++ {
					runs := r.history(id)
					i := slices.IndexFunc(runs, func(run scheduler.Run) bool { return run.State == scheduler.RunDone })
					if i < 0 {
						never++
						lags = append(lags, during)
						continue
					}
					lags = append(lags, runs[i].Lag())
				}
			}
			slices.Sort(lags)
			b.ReportMetric(float64(len(lags)-never)/float64(b.N), "runs")
			b.ReportMetric(float64(never)/float64(b.N), "never-began")
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(lags[len(lags)*p/100].Milliseconds()), fmt.Sprintf("p%d-ms", p))
			}
		})
	}
}
