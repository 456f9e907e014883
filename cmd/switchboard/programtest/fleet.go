//go:build linux

package programtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchboard/store/storetest"
)

// racing is the program with the race detector in, for tests that have it too.
var racing = &binary{flags: []string{"-race"}}

// A Fleet is several engines on one database and one data folder, beside a platform
// and a model: the processes a crowd of machines would run.
type Fleet struct {
	*Rig
	url     string // of the database, for the test's own looks
	path    string // of the program
	Engines []*Member
}

// A Member is one engine of a fleet, started again and again as another process.
type Member struct {
	*Server
	fleet *Fleet
}

// NewFleet makes engines over r, whose settings name no store yet. They run when
// they are started.
func NewFleet(r *Rig, url string, names ...string) *Fleet {
	r.T.Helper()
	r.Append(fmt.Sprintf("[store]\nurl = %q\n", url))
	f := &Fleet{Rig: r, url: url, path: program.path}
	if RaceDetector {
		f.path = racing.build(r.T)
	}
	for _, name := range names {
		f.Engines = append(f.Engines, &Member{fleet: f, Server: newServer(r.T, name, f.path, r.Dir, r.Config)})
	}
	return f
}

// TwoEngines is a fleet of two on a database of their own, whose planner is the fake model
// and whose people are admins.
func TwoEngines(t *testing.T, extra string, people ...string) *Fleet {
	t.Helper()
	url := storetest.MigratedURL(t)
	return NewFleet(NewRig(t, people, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"+extra), url, "one", "two")
}

// Up runs the engine and waits until it says that it is ready.
func (m *Member) Up() {
	m.T.Helper()
	before := m.Ready()
	m.Start()
	m.fleet.Await("engine "+m.Name+" is ready", 3*time.Minute, func() bool {
		m.MustLive()
		return m.Ready() > before
	})
}

// Stop asks the engine to end and wants it to end well.
func (m *Member) Stop() {
	m.T.Helper()
	m.Server.Stop(20 * time.Second)
}

// Up runs all engines.
func (f *Fleet) Up() {
	f.T.Helper()
	for _, m := range f.Engines {
		m.Up()
	}
}

// Stop asks all engines to end, one after the other.
func (f *Fleet) Stop() {
	f.T.Helper()
	for _, m := range f.Engines {
		m.Stop()
	}
}

// Query asks the database for rows of texts.
func (f *Fleet) Query(query string, args ...any) [][]string {
	f.T.Helper()
	return RowsOf(f.T, "postgres", f.url+"&connect_timeout=5", query, args...)
}

// Count asks the database for one number.
func (f *Fleet) Count(query string, args ...any) int {
	f.T.Helper()
	n, err := strconv.Atoi(f.Query(query, args...)[0][0])
	if err != nil {
		f.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// Owners maps the owners of all processes so far to their engines.
func (f *Fleet) Owners() map[string]*Member {
	f.T.Helper()
	list := map[string]*Member{}
	for _, row := range f.Query("SELECT id, pid FROM owners") {
		for _, m := range f.Engines {
			if pid, _ := strconv.Atoi(row[1]); slices.Contains(m.pids, pid) {
				list[row[0]] = m
			}
		}
	}
	return list
}

// Holder is the engine that holds the channel now; nil: none of them.
func (f *Fleet) Holder(channel string) *Member {
	f.T.Helper()
	rows := f.Query("SELECT owner FROM leases WHERE kind = 'channel' AND name = $1 AND owner IS NOT NULL", channel)
	if len(rows) == 0 {
		return nil
	}
	return f.Owners()[rows[0][0]]
}

// Other is an engine that is not m.
func (f *Fleet) Other(m *Member) *Member {
	return f.Engines[(slices.Index(f.Engines, m)+1)%len(f.Engines)]
}

// Finished counts the ended turns by the engine that held them last.
func (f *Fleet) Finished() map[string]int {
	f.T.Helper()
	owners, n := f.Owners(), map[string]int{}
	for _, row := range f.Query("SELECT holders FROM turns WHERE state IN ('done', 'failed')") {
		words := strings.Fields(row[0])
		if len(words) == 0 {
			f.T.Fatal("a turn ended that nobody held")
		}
		owner, _, _ := strings.Cut(words[len(words)-1], ":")
		m := owners[owner]
		if m == nil {
			f.T.Fatalf("owner %s is none of the engines", owner)
		}
		n[m.Name]++
	}
	return n
}

// OwnersIn lists the owners in a turn's holders, each once.
func OwnersIn(holders string) (list []string) {
	for _, word := range strings.Fields(holders) {
		if owner, _, _ := strings.Cut(word, ":"); !slices.Contains(list, owner) {
			list = append(list, owner)
		}
	}
	return list
}

// Shared wants each engine to have finished a tenth of the turns at least: kills fall by chance.
func (f *Fleet) Shared() {
	f.T.Helper()
	n := f.Finished()
	all := 0
	for n := range maps.Values(n) {
		all += n
	}
	for _, m := range f.Engines {
		if 10*n[m.Name] < all {
			f.T.Errorf("engine %s finished %d of %d turns, less than a tenth", m.Name, n[m.Name], all)
		}
	}
	f.T.Logf("finished by engine: %v", n)
}
