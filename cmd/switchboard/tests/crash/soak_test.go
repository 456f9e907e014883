//go:build soak

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

const (
	// soakUsers are so many that nobody writes more than a person may, nor lets more wait
	// than a session may.
	soakUsers = 600
	// soakRound is how long the program runs between two restarts, on average.
	soakRound = 8 * time.Second
)

// people are those of a soak, on the platforms where they write.
type people interface {
	// say writes a text that is message n of all.
	say(n int, text string)
	// drop ends the connections of the platforms.
	drop()
	// pending says that something was written and is not confirmed.
	pending() bool
	// shown are the texts of the bot by conversation, in the order shown.
	shown() map[string][]string
}

// A soak lets many people write for a long time while the platform and the model
// fail at random and the program is killed now and then.
type soak struct {
	t       *testing.T
	rig     *programtest.Rig
	people  people
	pause   time.Duration // between two messages, at most
	burst   int           // messages of a round that looks for leaks
	random  *rand.Rand
	marker  string
	written int
	faults  atomic.Bool
	// count asks the database for one number; connections counts those to it.
	count       func(query string) int
	connections func() int
	engines     func() []*programtest.Server
}

// soakOf is a soak as the environment wants it: for SOAK (a duration) or the given
// one, with SOAK_SEED or any.
func soakOf(t *testing.T, length time.Duration) (*soak, time.Time) {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SOAK_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s, seed %d", length, seed)
	return newSoak(t, seed), time.Now().Add(length)
}

// TestSoak is one engine on SQLite for ten minutes.
func TestSoak(t *testing.T) {
	t.Parallel()
	s, deadline := soakOf(t, 10*time.Minute)
	s.scripted()
	s.count = func(query string) int { return s.rig.Count(query) }
	s.connections = func() int { return 0 }
	s.engines = func() []*programtest.Server { return []*programtest.Server{s.rig.Server} }
	kills := 0
	for rounds := 1; time.Now().Before(deadline); rounds++ {
		s.rig.Up()
		s.faults.Store(true)
		s.busy(soakRound/2 + time.Duration(s.random.Int64N(int64(soakRound))))
		if rounds%3 > 0 {
			s.rig.Kill()
			kills++
			continue
		}
		s.calm(3 * time.Minute) // nothing under way: what is held now is held for good
		s.rest()
		s.rig.Stop(30 * time.Second)
	}
	s.rig.Up()
	s.calm(5 * time.Minute)
	s.leaks()
	s.check()
	t.Logf("%d messages, %d kills", s.written, kills)
	s.rig.Stop(30 * time.Second)
}

func newSoak(t *testing.T, seed uint64) *soak {
	s := &soak{t: t, random: rand.New(rand.NewPCG(seed, 1)), marker: programtest.Marker()}
	s.rig = programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\nfallback = [\"fake/spare\"]\n")
	s.rig.Model.Handle(s.think)
	return s
}

// scripted lets people write on the rig's own platform.
func (s *soak) scripted() {
	var people strings.Builder
	for u := range soakUsers {
		fmt.Fprintf(&people, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"scripted:u%d\"]\n", u, u)
	}
	s.rig.Append(people.String())
	s.rig.Platform.OnSend(func(scripted.Post) channelstest.Fault { return s.fault() })
	s.people, s.pause, s.burst = scriptedPeople{s.rig.Platform}, 60*time.Millisecond, 500
}

// scriptedPeople write on the rig's own platform; each writes three times before the
// next one does.
type scriptedPeople struct{ platform *channelstest.Platform }

func (c scriptedPeople) say(n int, text string) {
	user := fmt.Sprintf("u%d", n/3%soakUsers)
	c.platform.Say("c"+user, user, text)
}

func (c scriptedPeople) drop() { c.platform.Drop() }

func (c scriptedPeople) pending() bool { return c.platform.Pending() > 0 }

func (c scriptedPeople) shown() map[string][]string {
	texts := map[string][]string{}
	for _, sent := range c.platform.Sent() {
		id := string(sent.Conversation)
		texts[id] = append(texts[id], sent.Text)
	}
	return texts
}

// fault is what becomes of one send, while faults are on.
func (s *soak) fault() channelstest.Fault {
	if !s.faults.Load() {
		return channelstest.Fault{}
	}
	switch n := rand.IntN(1000); {
	case n < 5:
		return channelstest.Fault{LoseAnswer: true}
	case n < 10:
		return channelstest.Fault{LoseRequest: true}
	case n < 30:
		return channelstest.Fault{RateLimited: true, RetryAfter: time.Second}
	case n < 32:
		return channelstest.Fault{Refused: "busy", Temporary: true}
	case n < 200:
		return channelstest.Fault{Delay: time.Duration(rand.IntN(100)) * time.Millisecond}
	}
	return channelstest.Fault{}
}

// think answers a job at once, or by a command that may not run twice. Only the
// first model fails; the spare one answers, so that every job can be done.
func (s *soak) think(req llmtest.Request) llmtest.Reply {
	if s.faults.Load() && req.Model == "model" {
		switch n := rand.IntN(1000); {
		case n == 0: // for as long as the program waits for one
			return llmtest.Hang()
		case n < 10:
			return llmtest.Fail(500, "server_error", "", "boom")
		case n < 15:
			return llmtest.Garbage()
		}
	}
	switch req.Role {
	case "planner":
		m := jobPattern.FindStringSubmatch(programtest.Said(req))
		if m == nil {
			return llmtest.Text(llmtest.Plan("?", llmtest.Answer("no job found")))
		}
		n, _ := strconv.Atoi(m[1])
		done := fmt.Sprintf("done job %d", n)
		if n%5 > 0 || req.Section("What failed") != "" {
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(done)))
		}
		line := fmt.Sprintf("echo %d >> log.txt; : %s; head -c 20000 /dev/zero | tr '\\0' x; sleep 0.05", n, s.marker)
		return llmtest.Text(llmtest.Plan("do it", llmtest.Exec(line, "exit 0"), llmtest.Msg("Say: "+done)))
	case "reviewer":
		if strings.Contains(req.Section("Output"), "Ended: ok") {
			return llmtest.Text(llmtest.ReviewOK())
		}
		return llmtest.Text(llmtest.Replan("the command was cut off"))
	}
	return llmtest.Text(jobText(req.Section("Task")))
}

// write lets the next person write.
func (s *soak) write() {
	s.people.say(s.written, fmt.Sprintf("job %d", s.written))
	s.written++
}

// busy lets people write for that long.
func (s *soak) busy(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); {
		s.write()
		time.Sleep(time.Duration(s.random.Int64N(int64(s.pause))))
		if s.random.IntN(200) == 0 {
			s.people.drop()
		}
	}
}

// calm ends the faults and waits until every message has its turn, ended, and
// nothing is on its way.
func (s *soak) calm(within time.Duration) {
	s.t.Helper()
	s.faults.Store(false)
	s.rig.Await("everything is settled", within, func() bool {
		if s.people.pending() {
			return false
		}
		open := s.count("SELECT count(*) FROM turns WHERE state IN ('queued', 'running', 'waiting')")
		out := s.count("SELECT count(*) FROM deliveries WHERE state IN ('pending', 'sending') OR state = 'unknown' AND outcome = 'no_answer'")
		return open+out == 0
	})
}

// held is what the idle engines hold together: memory in KB, the rest counted.
type held struct{ rss, files, threads, goroutines, connections int }

func (s *soak) held() (sum held) {
	for _, e := range s.engines() {
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", e.Cmd.Process.Pid))
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", e.Cmd.Process.Pid))
		_, rss := programtest.MemoryOf(s.t, e.Cmd.Process.Pid)
		sum.rss, sum.files, sum.threads = sum.rss+rss, sum.files+len(files), sum.threads+len(threads)
		sum.goroutines += s.goroutines(e)
	}
	sum.connections = s.connections()
	return sum
}

var goroutinePattern = regexp.MustCompile(`(?m)^goroutines: (\d+)$`)

// goroutines asks an engine by the signal that its tests' build answers.
func (s *soak) goroutines(e *programtest.Server) (n int) {
	s.t.Helper()
	said := func() [][]string { return goroutinePattern.FindAllStringSubmatch(e.Log.String(), -1) }
	before := len(said())
	if err := e.Cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	s.rig.Await("it says how many goroutines it has", programtest.Patience, func() bool { return len(said()) > before })
	n, _ = strconv.Atoi(said()[before][1])
	return n
}

// rest logs what the program holds after a round of work.
func (s *soak) rest() { s.t.Logf("after %d messages: %+v", s.written, s.held()) }

// leaks gives the program the same work again and again, without faults, and wants it
// to hold no more afterwards: by the medians of what it holds after three rounds of it,
// the first left out because it fills caches, and of three later ones.
func (s *soak) leaks() {
	s.t.Helper()
	const rounds, sample = 10, 3
	var seen []held
	for range rounds {
		for range s.burst {
			s.write()
		}
		s.calm(3 * time.Minute)
		time.Sleep(15 * time.Second) // senders of idle conversations leave after a while
		seen = append(seen, s.held())
	}
	s.t.Logf("the same work %d times: %+v", rounds, seen)
	median := func(of []held, what func(held) int) int {
		var list []int
		for _, h := range of {
			list = append(list, what(h))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	first, last := seen[1:1+sample], seen[rounds-sample:]
	for _, c := range []struct {
		name  string
		what  func(held) int
		noise func(first int) int // what comes and goes: connections to the model that are kept
	}{
		{"KB of memory", func(h held) int { return h.rss }, func(first int) int { return first/10 + 8<<10 }},
		{"file descriptors", func(h held) int { return h.files }, func(int) int { return 20 }},
		{"threads", func(h held) int { return h.threads }, func(first int) int { return first / 5 }}, // Go gives none back
		{"goroutines", func(h held) int { return h.goroutines }, func(int) int { return 40 }},
		// Pools fill when much is asked at once; two engines have no more than docs/engines.md says.
		{"connections", func(h held) int { return h.connections }, func(first int) int { return 2*30 - first }},
	} {
		if a, b := median(first, c.what), median(last, c.what); b > a+c.noise(a) {
			s.t.Errorf("%s grow from %d to %d: %+v", c.name, a, b, seen)
		}
	}
}

// check holds the promises against what the platform and the database saw.
func (s *soak) check() {
	s.t.Helper()
	if n := s.count("SELECT count(*) FROM turns"); n != s.written {
		s.t.Errorf("%d turns for %d messages", n, s.written)
	}
	if n := s.count("SELECT count(*) FROM turns WHERE state != 'done'"); n > 0 {
		s.t.Errorf("%d turns did not end done", n)
	}
	plain, repeats := make([]int, s.written), make([]int, s.written)
	for conv, texts := range s.people.shown() {
		last := -1
		for _, text := range texts {
			count := plain
			rest, repeated := strings.CutPrefix(strings.TrimSpace(text), "(repeated) ")
			if repeated {
				count = repeats
			}
			digits, ok := strings.CutPrefix(rest, "done job ")
			if !ok {
				continue
			}
			n, err := strconv.Atoi(digits)
			if err != nil || n >= s.written {
				s.t.Errorf("the platform shows %q", text)
				continue
			}
			count[n]++
			if n < last {
				s.t.Errorf("in %s job %d was answered after job %d", conv, n, last)
			}
			last = n
		}
	}
	lost := 0
	for n := range s.written {
		switch {
		case plain[n] > 1 || repeats[n] > 1:
			s.t.Errorf("job %d was answered %d times, and %d times with a mark", n, plain[n], repeats[n])
		case plain[n]+repeats[n] == 0:
			lost++
		}
	}
	listed := s.count("SELECT count(*) FROM deliveries WHERE state = 'unknown' AND outcome = 'unknown_twice'")
	if lost > listed {
		s.t.Errorf("%d jobs without an answer, %d listed as unknown", lost, listed)
	}
	if dead := s.count("SELECT count(*) FROM deliveries WHERE seq IS NOT NULL AND state IN ('dead', 'dropped')"); dead > 0 {
		s.t.Errorf("%d deliveries were given up", dead)
	}
	s.t.Logf("%d answers unknown twice, %d of them not shown", listed, lost)
	s.ranOnce()
	programtest.Gone(s.t, s.marker)
}

func (s *soak) ranOnce() {
	ran := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(s.rig.Dir, "data", "workspaces", "*", "log.txt"))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Error(err)
		}
		for _, n := range strings.Fields(string(data)) {
			if ran[n]++; ran[n] == 2 {
				s.t.Errorf("the command of job %s ran twice", n)
			}
		}
	}
	if len(ran) == 0 {
		s.t.Error("no command ran at all")
	}
}
