//go:build soak

package crash_test

import (
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// A trouble is one thing that befalls two engines and their database.
type trouble struct {
	name string
	// happen begins it; the answer ends it, after the round.
	happen func(s *soakTwo) (end func())
}

var troubles = []trouble{
	{"an engine is killed", func(s *soakTwo) func() {
		m := s.any()
		m.Kill()
		return m.Up
	}},
	{"an engine is stopped", func(s *soakTwo) func() {
		m := s.any()
		m.Stop()
		return m.Up
	}},
	{"both engines are killed", func(s *soakTwo) func() {
		for _, m := range s.fleet.Engines {
			m.Kill()
		}
		return s.fleet.Up
	}},
	{"an engine is frozen", func(s *soakTwo) func() {
		m := s.any()
		m.Freeze()
		time.Sleep(time.Duration(s.random.Int64N(int64(20 * time.Second))))
		return m.Thaw
	}},
	{"the database is restarted", func(s *soakTwo) func() {
		s.server.Stop()
		return s.server.Start
	}},
	{"the database crashes", func(s *soakTwo) func() {
		s.server.Kill()
		return s.server.Start
	}},
	{"the database stalls", func(s *soakTwo) func() {
		s.server.Freeze()
		time.Sleep(time.Duration(s.random.Int64N(int64(20 * time.Second))))
		return s.server.Thaw
	}},
	{"the way to the database stalls for one engine", func(s *soakTwo) func() {
		way := s.ways[s.random.IntN(2)]
		way.Stall()
		time.Sleep(time.Duration(s.random.Int64N(int64(20 * time.Second))))
		return way.Flow
	}},
	{"connections to the database are cut", func(s *soakTwo) func() {
		s.ways[s.random.IntN(2)].Cut()
		return func() {}
	}},
	{"nothing", func(*soakTwo) func() { return func() {} }},
}

// soakTwo is a soak of two engines, each with its own way to one database.
type soakTwo struct {
	*soak
	fleet  *programtest.Fleet
	server *storetest.Server
	ways   []*storetest.Proxy
}

func (s *soakTwo) any() *programtest.Member {
	return s.fleet.Engines[s.random.IntN(len(s.fleet.Engines))]
}

// soakEngines makes two engines on a database.
func soakEngines(inner *soak, database *storetest.Server) *soakTwo {
	s := &soakTwo{soak: inner, server: database}
	s.fleet = programtest.NewFleet(s.rig, s.server.URL(), "one", "two")
	for _, m := range s.fleet.Engines {
		way := storetest.NewProxy(s.t, s.server.Addr())
		s.ways = append(s.ways, way)
		m.Env = append(m.Env, "SWITCHBOARD_STORE__URL="+s.server.URLAt(way.Addr()))
	}
	s.count = func(query string) int { return s.fleet.Count(query) }
	s.connections = func() int {
		return s.fleet.Count("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'switchboard%'")
	}
	s.engines = func() (list []*programtest.Server) {
		for _, m := range s.fleet.Engines {
			list = append(list, m.Server)
		}
		return list
	}
	return s
}

// TestSoakTwoEngines is two engines on one PostgreSQL for half an hour, with one
// trouble after the other.
func TestSoakTwoEngines(t *testing.T) {
	t.Parallel()
	inner, deadline := soakOf(t, 30*time.Minute)
	inner.scripted()
	s := soakEngines(inner, storetest.NewServer(t))
	s.fleet.Up()
	happened := map[string]int{}
	for round := 1; time.Now().Before(deadline); round++ {
		s.faults.Store(true)
		s.busy(soakRound / 2)
		next := troubles[(round+s.random.IntN(2))%len(troubles)]
		happened[next.name]++
		end := next.happen(s)
		s.busy(time.Duration(s.random.Int64N(int64(soakRound))))
		end()
		s.busy(time.Second)
		for _, m := range s.fleet.Engines {
			m.MustLive()
		}
		if round%5 == 0 {
			s.calm(3 * time.Minute)
			s.rest()
		}
	}
	s.calm(5 * time.Minute)
	s.leaks()
	s.check()
	t.Logf("%d messages; %v", s.written, happened)
}
