package main_test

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
var racing = &builtBinary{flags: []string{"-race"}}

// A fleet is several engines on one database and one data folder, beside a platform
// and a model: the processes a crowd of machines would run.
type fleet struct {
	*rig
	url     string // of the database, for the test's own looks
	path    string // of the program
	engines []*member
}

// A member is one engine of a fleet, started again and again as another process.
type member struct {
	*server
	fleet *fleet
}

// newFleet makes engines over r, whose settings name no store yet. They run when
// they are started.
func newFleet(r *rig, url string, names ...string) *fleet {
	r.t.Helper()
	r.append(fmt.Sprintf("[store]\nurl = %q\n", url))
	f := &fleet{rig: r, url: url, path: binary.path}
	if raceDetector {
		f.path = racing.build(r.t)
	}
	for _, name := range names {
		f.engines = append(f.engines, &member{fleet: f, server: newServer(r.t, name, f.path, r.dir, r.config)})
	}
	return f
}

// twoEngines is a fleet of two on an empty schema, whose planner is the fake model
// and whose people are admins.
func twoEngines(t *testing.T, extra string, people ...string) *fleet {
	t.Helper()
	url := storetest.PostgresURL(t)
	return newFleet(newRig(t, people, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"+extra), url, "one", "two")
}

// up runs the engine and waits until it says that it is ready.
func (m *member) up() {
	m.t.Helper()
	before := m.ready()
	m.start()
	m.fleet.await("engine "+m.name+" is ready", 30*time.Second, func() bool {
		m.mustLive()
		return m.ready() > before
	})
}

// stop asks the engine to end and wants it to end well.
func (m *member) stop() {
	m.t.Helper()
	m.server.stop(20 * time.Second)
}

func (f *fleet) up() {
	f.t.Helper()
	for _, m := range f.engines {
		m.up()
	}
}

func (f *fleet) stop() {
	f.t.Helper()
	for _, m := range f.engines {
		m.stop()
	}
}

// query asks the database for rows of texts.
func (f *fleet) query(query string, args ...any) [][]string {
	f.t.Helper()
	return rowsOf(f.t, "postgres", f.url+"&connect_timeout=5", query, args...)
}

// count asks the database for one number.
func (f *fleet) count(query string, args ...any) int {
	f.t.Helper()
	n, err := strconv.Atoi(f.query(query, args...)[0][0])
	if err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// owners maps the owners of all processes so far to their engines.
func (f *fleet) owners() map[string]*member {
	f.t.Helper()
	list := map[string]*member{}
	for _, row := range f.query("SELECT id, pid FROM owners") {
		for _, m := range f.engines {
			if pid, _ := strconv.Atoi(row[1]); slices.Contains(m.pids, pid) {
				list[row[0]] = m
			}
		}
	}
	return list
}

// holder is the engine that holds the channel now; nil: none of them.
func (f *fleet) holder(channel string) *member {
	f.t.Helper()
	rows := f.query("SELECT owner FROM leases WHERE kind = 'channel' AND name = $1 AND owner IS NOT NULL", channel)
	if len(rows) == 0 {
		return nil
	}
	return f.owners()[rows[0][0]]
}

// other is an engine that is not m.
func (f *fleet) other(m *member) *member {
	return f.engines[(slices.Index(f.engines, m)+1)%len(f.engines)]
}

// finished counts the ended turns by the engine that held them last.
func (f *fleet) finished() map[string]int {
	f.t.Helper()
	owners, n := f.owners(), map[string]int{}
	for _, row := range f.query("SELECT holders FROM turns WHERE state IN ('done', 'failed')") {
		words := strings.Fields(row[0])
		if len(words) == 0 {
			f.t.Fatal("a turn ended that nobody held")
		}
		owner, _, _ := strings.Cut(words[len(words)-1], ":")
		m := owners[owner]
		if m == nil {
			f.t.Fatalf("owner %s is none of the engines", owner)
		}
		n[m.name]++
	}
	return n
}

// ownersIn lists the owners in a turn's holders, each once.
func ownersIn(holders string) (list []string) {
	for _, word := range strings.Fields(holders) {
		if owner, _, _ := strings.Cut(word, ":"); !slices.Contains(list, owner) {
			list = append(list, owner)
		}
	}
	return list
}

// shared wants each engine to have finished a fifth of the turns at least.
func (f *fleet) shared() {
	f.t.Helper()
	n := f.finished()
	all := 0
	for n := range maps.Values(n) {
		all += n
	}
	for _, m := range f.engines {
		if 5*n[m.name] < all {
			f.t.Errorf("engine %s finished %d of %d turns, less than a fifth", m.name, n[m.name], all)
		}
	}
	f.t.Logf("finished by engine: %v", n)
}

// A question that one engine asked is decided at the other, which has the channel by then; what was
// allowed runs once, and the buttons are gone.
func TestDecisionIsTakenAtTheOtherEngine(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.change(`tools_deny = ["exec"]`, "tools_deny = []")
	o.change("tools = [\"exec\"]", "role = \"admin\"")
	f := newFleet(o.rig, storetest.PostgresURL(t), "one", "two")
	f.up()
	o.listens()
	bob := o.desks[0].bob
	bob.writes("run echo shared >> runs.txt")
	m := bob.asked("echo shared >> runs.txt")
	asker := f.holder(o.desks[0].kind)
	asker.stop()
	o.await("the other one has the channel", 20*time.Second, func() bool { return f.holder(o.desks[0].kind) == f.other(asker) })
	bob.presses(m, "Allow once")
	bob.reads("ran: echo shared")
	bob.closed(m.ID)
	o.wantRan(1, "shared")
}
