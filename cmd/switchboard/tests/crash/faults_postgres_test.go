package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// An outage is a crash test whose database is broken instead of an engine: two
// engines work on jobs, at most of one user each second, while it happens.
type outage struct {
	*crash
	fleet    *programtest.Fleet
	server   *storetest.Server
	platform *channelstest.Platform
}

// newOutage runs two engines, each behind a proxy of its own if way is not nil.
func newOutage(t *testing.T, proxies ...**storetest.Proxy) *outage {
	t.Helper()
	return newOutageOn(t, storetest.NewServer(t), proxies...)
}

func newOutageOn(t *testing.T, server *storetest.Server, proxies ...**storetest.Proxy) *outage {
	t.Helper()
	c := newCrash(t, crashSeed(t), func(r *programtest.Rig) programtest.Place { return programtest.NewScriptedPlace(r.Platform) }, "workers = 4\n")
	o := &outage{crash: c, fleet: programtest.NewFleet(c.rig, server.URL(), "one", "two"), server: server, platform: c.rig.Platform}
	for i, p := range proxies {
		*p = storetest.NewProxy(t, server.Addr())
		m := o.fleet.Engines[i]
		m.Env = append(m.Env, "SWITCHBOARD_STORE__URL="+server.URLAt((*p).Addr()))
	}
	o.fleet.Up()
	return o
}

// load lets users write n messages, evenly over that time.
func (o *outage) load(n int, during time.Duration) {
	for range n {
		o.write(o.written + 1)
		time.Sleep(during / time.Duration(n))
	}
}

// healed wants everything answered, and the engines to be the ones that were there
// before: none was declared dead or ended.
func (o *outage) healed() {
	o.t.Helper()
	o.settle()
	o.check()
	o.unharmed()
	o.fleet.Stop()
}

// unharmed wants both engines to live as the owners they were at first.
func (o *outage) unharmed() {
	o.t.Helper()
	for _, m := range o.fleet.Engines {
		m.MustLive()
	}
	if n := o.fleet.Count("SELECT count(*) FROM owners"); n != 2 {
		o.t.Errorf("%d owners for two engines", n)
	}
	if rows := o.fleet.Query("SELECT id, state, coalesce(declared_at, 0) FROM owners WHERE state <> 'alive' OR declared_at IS NOT NULL"); len(rows) > 0 {
		o.t.Errorf("a healthy engine is declared dead: %v", rows)
	}
	for _, m := range o.fleet.Engines { // a renewal takes the declaration back
		if m.Log.Has("an engine has died") {
			o.t.Errorf("engine %s declared a healthy one dead", m.Name)
		}
	}
}

func TestDatabaseRestartedUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	for range 2 {
		o.load(10, time.Second)
		o.server.Stop()
		o.load(5, time.Second/2)
		o.server.Start()
		o.load(10, time.Second)
		o.server.Kill()
		o.load(5, time.Second/2)
		o.server.Start()
	}
	o.load(5, time.Second)
	o.healed()
}

// halfAMinute holds what is answered when the database goes away for everybody and
// comes back.
func (o *outage) halfAMinute(goes, comes func()) {
	o.t.Helper()
	o.load(10, time.Second)
	goes()
	o.load(10, 30*time.Second)
	comes()
	began := time.Now()
	o.load(5, time.Second)
	o.settle()
	o.t.Logf("all is answered %s after the database is back", time.Since(began).Round(10*time.Millisecond))
	o.healed()
}

func TestDatabaseGoneForHalfAMinuteLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.halfAMinute(o.server.Stop, o.server.Start)
}

// The database answers nobody for half a minute, and refuses nobody either.
func TestDatabaseStallForEverybodyLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.halfAMinute(o.server.Freeze, o.server.Thaw)
}

// The disk of PostgreSQL is full: at first it refuses what needs space, and may end
// when it cannot write its log.
func TestFullDiskOfPostgreSQLLosesNothing(t *testing.T) {
	t.Parallel()
	var disk string
	o := newOutageOn(t, storetest.NewServer(t, func(dir string) {
		disk = dir
		storetest.SmallDisk(t, dir, "size=96m,mode=0777")
	}))
	o.load(10, time.Second)
	ballast := filepath.Join(disk, "ballast")
	programtest.FillDisk(t, ballast)
	full := func() bool {
		return slices.ContainsFunc(o.fleet.Engines, func(m *programtest.Member) bool { return m.Log.Has("full") })
	}
	for began := time.Now(); !full() || time.Since(began) < 10*time.Second; {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("nobody says that the disk is full")
		}
		o.load(1, 250*time.Millisecond)
	}
	o.server.SwitchLog()
	o.load(10, 5*time.Second)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	o.server.Revive()
	began := time.Now()
	o.load(5, time.Second)
	o.settle()
	t.Logf("all is answered %s after there is space again", time.Since(began).Round(10*time.Millisecond))
	o.healed()
}

// The engine that holds the channel is cut off from the database for half a minute:
// the other goes on for both, and when the way is free again, nothing was done twice.
func TestDatabaseStallForOneEngineMovesItsWork(t *testing.T) {
	t.Parallel()
	var ways [2]*storetest.Proxy
	o := newOutage(t, &ways[0], &ways[1])
	o.load(10, time.Second)
	holder := o.fleet.Holder("play")
	way := ways[0]
	if holder == o.fleet.Engines[1] {
		way = ways[1]
	}
	way.Stall()
	began := time.Now()
	o.load(5, time.Second)
	o.fleet.Await("the other engine holds the channel", 30*time.Second, func() bool { return o.fleet.Holder("play") == o.fleet.Other(holder) })
	t.Logf("taken over %s after the stall", time.Since(began).Round(10*time.Millisecond))
	o.load(10, max(0, 30*time.Second-time.Since(began)))
	way.Flow()
	o.load(10, 2*time.Second)
	o.settle()
	o.check()
	for _, m := range o.fleet.Engines {
		m.MustLive()
	}
	o.fleet.Stop()
}

// Connections that nobody uses have died unnoticed when an engine is told to stop: that
// is no failure, and what it had is given back.
func TestStopAfterConnectionsWereCutIsNoFailure(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	way := storetest.NewProxy(t, server.Addr())
	f := programtest.NewFleet(programtest.NewRig(t, []string{"u1", "u2", "u3", "u4"}, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"), server.URL(), "one")
	f.Engines[0].Env = append(f.Engines[0].Env, "SWITCHBOARD_STORE__URL="+server.URLAt(way.Addr()))
	f.Model.Handle(programtest.Echo)
	for round := range 5 {
		f.Up()
		for n := range 40 { // at once, so that there are many connections
			user := fmt.Sprintf("u%d", 1+n%4)
			f.Platform.Say("c"+user, user, fmt.Sprint("round ", round, ", ", n))
		}
		f.Await("all is answered", 30*time.Second, func() bool { return len(f.Platform.Sent()) == 40*(round+1) })
		f.Noted()
		way.Cut()
		f.Stop()
		if n := f.Count("SELECT count(*) FROM owners WHERE state = 'alive'"); n != 0 {
			t.Errorf("%d owners are alive after the stop", n)
		}
		if n := f.Count("SELECT count(*) FROM leases WHERE owner IS NOT NULL"); n != 0 {
			t.Errorf("%d leases are held after the stop", n)
		}
	}
}

// A database that is not there when the program starts is waited for, and said; the program serves once it is.
func TestServeWaitsForADatabaseThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Env = append(r.Env, "SWITCHBOARD_STORE__URL="+server.URL())
	server.Stop()
	r.Start()
	r.Await("it says that it waits", 20*time.Second, func() bool {
		r.MustLive()
		return r.Log.Has("the database is not there yet, and is waited for")
	})
	server.Start()
	r.Await("it is ready", 60*time.Second, func() bool {
		r.MustLive()
		return r.Log.Has(`"msg":"ready"`)
	})
	if got := r.Ask("u1", "hello"); got != "heard: hello" {
		t.Errorf("it answers %q", got)
	}
	r.Stop(20 * time.Second)
}
