package faults_test

import (
	"context"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// An engine takes at most twelve connections of PostgreSQL, however much there is to do, and nothing waits for
// ever for one of them.
func TestConnectionsOfEnginesAreFew(t *testing.T) {
	t.Parallel()
	programtest.Busy(t)
	const most = 12 // as docs/engines.md says
	people := crowd(120)
	f := programtest.TwoEngines(t, "", people...)
	f.Model.Handle(programtest.Echo)
	answered := counted(f.Platform)
	load := func(engines int) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		highest := make(chan int, 1)
		go func() {
			n := 0
			for ctx.Err() == nil {
				n = max(n, f.Count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'switchboard%'"))
			}
			highest <- n
		}()
		want := answered.Load()
		for range 5 {
			for _, u := range people {
				f.Platform.Say("c"+u, u, "hello")
			}
			want += int64(len(people))
			f.Await("all are answered", time.Minute, func() bool { return answered.Load() >= want })
		}
		stop()
		if n := <-highest; n > engines*most || n < engines*5 {
			t.Errorf("%d connections of %d engines", n, engines)
		} else {
			t.Logf("%d connections of %d engines", n, engines)
		}
	}
	f.Engines[0].Up()
	load(1)
	f.Engines[1].Up()
	load(2)
	f.Stop()
}
