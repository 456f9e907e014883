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
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/outbox"
)

const (
	ownKills   = 25 // where a promise has its own test
	againKills = 10 // where another platform, or a second engine, is to keep what that test holds
	crashTurns = 8  // written before each kill
)

// killsOf is the number of kills of a test that has n by default. SWITCHBOARD_TEST_KILLS is another; under the race
// detector, with which a start is slow, there are againKills at most.
func killsOf(t testing.TB, n int) int {
	t.Helper()
	if text := os.Getenv("SWITCHBOARD_TEST_KILLS"); text != "" {
		more, err := strconv.Atoi(text)
		if err != nil || more < againKills {
			t.Fatalf("SWITCHBOARD_TEST_KILLS=%s: it is a number, %d at least", text, againKills)
		}
		return more
	}
	if programtest.RaceDetector {
		return min(n, againKills)
	}
	return n
}

// phases in which a kill can fall.
var phases = []string{"accept", "plan", "exec", "sending"}

// A platform that tells everything twice and the newest first.
func TestCrash(t *testing.T) {
	crashTest(t, killsOf(t, ownKills), false, func(r *programtest.Rig) programtest.Place {
		p := programtest.NewScriptedPlace(r.Platform)
		p.Disorder = true
		r.Platform.Repeat(2)
		r.Platform.Reorder(true)
		return p
	})
}

// Three kills, which fall where they may: the platform loses no answer, so that what a kill cut off is all that is
// in doubt.
func TestThreeCrashesTelegram(t *testing.T) {
	crashTest(t, 3, false, func(r *programtest.Rig) programtest.Place { return programtest.NewTelegramPlace(r.T, false) })
}

// Every tenth answer of the platform is lost after a text, a file or a change took effect, here
// and on the other platforms.
func TestCrashTelegramWithLostAnswers(t *testing.T) {
	crashTest(t, killsOf(t, againKills), true, func(r *programtest.Rig) programtest.Place { return programtest.NewTelegramPlace(r.T, true) })
}

func TestCrashDiscordWithLostAnswers(t *testing.T) {
	crashTest(t, killsOf(t, againKills), true, func(r *programtest.Rig) programtest.Place { return programtest.NewDiscordPlace(r.T, true) })
}

// A part that is not heard of is looked up, and never shown twice.
func TestCrashSlackWithLostAnswers(t *testing.T) {
	crashTest(t, killsOf(t, againKills), true, func(r *programtest.Rig) programtest.Place {
		p := programtest.NewSlackPlace(r.T, true)
		// With its limits no history can be read after the second kill, and all waits for that; and it
		// gives up a message after four kills.
		p.Server.Limit(false)
		p.Server.Retry(time.Minute)
		return p
	})
}

// crashTest has users write while the program is killed so often, and
// holds what the person saw, the platform and the database against the promises. Mixed: some
// answers grow while they are written, and some bring a file.
func crashTest(t *testing.T, kills int, mixed bool, place func(*programtest.Rig) programtest.Place) {
	t.Helper()
	t.Parallel()
	programtest.Busy(t)
	c := newCrash(t, crashSeed(t), place, "")
	c.mixed, c.turns = mixed, kills*crashTurns
	fell := map[string]int{}
	c.rig.Up() // what is written before the first start is not answered
	for kill := range kills {
		if kill > 0 {
			c.rig.Start()
		}
		c.write((kill + 1) * crashTurns)
		time.Sleep(time.Duration(20+c.random.IntN(230)) * time.Millisecond)
		none := func(phase string) bool { return fell[phase] == 0 }
		if kill%2 == 0 || kills == againKills && slices.ContainsFunc(phases, none) { // half of the kills fall anywhere, the others look for a phase
			c.awaitPhase(c.wanted(fell, kill/2))
		}
		if c.mixed && kill%4 == 3 { // a turn that never gets on is given up
			c.awaitGrown()
		}
		for _, phase := range c.inFlight() {
			fell[phase]++
		}
		c.rig.Kill()
	}
	t.Logf("%d kills fell in %v", kills, fell)
	for _, phase := range phases {
		if fell[phase] == 0 && kills >= againKills {
			t.Errorf("no kill fell in %s", phase)
		}
	}
	c.rig.Up()
	c.settle()
	c.check()
	c.rig.Stop(20 * time.Second)
}

// crashSeed is the seed of this run, or the one that is asked for.
func crashSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CRASH_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (CRASH_SEED=%d runs it again)", seed, seed)
	return seed
}

// A crash is one run of the crash test.
type crash struct {
	t        *testing.T
	rig      *programtest.Rig
	place    programtest.Place
	random   *rand.Rand
	marker   string // names the test's commands among all processes
	found    string // the latest of them that was found, below /proc
	mixed    bool
	turns    int // to be written in all
	written  int
	planning atomic.Int32
}

// newCrash adds to the table [router] what router holds.
func newCrash(t *testing.T, seed uint64, place func(*programtest.Rig) programtest.Place, router string) *crash {
	c := &crash{t: t, random: rand.New(rand.NewPCG(seed, 0)), marker: fmt.Sprintf("crash_%d_%d_", os.Getpid(), seed)}
	c.rig = programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[router]\n"+router)
	c.place = place(c.rig)
	c.rig.Append(c.place.Settings())
	c.rig.Model.Handle(c.think)
	return c
}

var jobPattern = regexp.MustCompile(`job (\d+)`)

// think is the model: a third of the jobs are answered at once, the others run a
// command that must not run twice.
func (c *crash) think(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "planner":
		c.planning.Add(1)
		defer c.planning.Add(-1)
		time.Sleep(10 * time.Millisecond)
		m := jobPattern.FindStringSubmatch(req.Section("New message"))
		if m == nil {
			return llmtest.Text(llmtest.Plan("?", llmtest.Answer("no job found")))
		}
		n, _ := strconv.Atoi(m[1])
		done := fmt.Sprintf("done job %d", n)
		switch {
		case c.grows(n):
			reply := llmtest.Text(llmtest.Plan("say it", llmtest.Answer(done+grown)))
			reply.Pause = 150 * time.Millisecond
			return reply
		case req.Section("What failed") != "" || n%3 == 0 && !c.sends(n):
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(done)))
		}
		// The line lands in the file at the very start, so that a second run of a
		// cut-off command would show; the rest is time to be killed in.
		line := fmt.Sprintf("echo %d >> log.txt; : %s; sleep 0.2", n, c.marker)
		if c.sends(n) {
			line += fmt.Sprintf("; sleep 0.4; echo %d > %s", n, jobFile(n))
			return llmtest.Text(llmtest.Plan("send it", llmtest.Exec(line, "exit 0"),
				llmtest.Tool("workspace.publish", map[string]any{"path": jobFile(n)}, "a link"), llmtest.Msg("Say: "+done)))
		}
		return llmtest.Text(llmtest.Plan("do it", llmtest.Exec(line, "exit 0"), llmtest.Msg("Say: "+done)))
	case "reviewer":
		if strings.Contains(req.Section("Output"), "Ended: ok") {
			return llmtest.Text(llmtest.ReviewOK())
		}
		return llmtest.Text(llmtest.Replan("the command was cut off"))
	}
	text := strings.TrimPrefix(jobText(req.Section("Task")), "Say: ")
	if link := programtest.FileLink.FindString(req.User); link != "" {
		text += " with " + link
	}
	return llmtest.Text(text)
}

func jobText(task string) string {
	if i := strings.Index(task, "done job "); i >= 0 {
		task = task[i:]
	}
	line, _, _ := strings.Cut(task, "\n")
	return line
}

// write lets users write until n messages are written.
func (c *crash) write(n int) {
	for ; c.written < n; c.written++ {
		c.place.Say(c.written%programtest.Users, fmt.Sprintf("job %d", c.written))
	}
}

// inFlight says in which phases something is under way, by quick looks, so that it is still true
// when the kill falls: of commands it knows the one that was found.
func (c *crash) inFlight() (in []string) {
	for _, phase := range phases {
		if phase == "exec" && c.isCommand(c.found) || phase != "exec" && c.under(phase) {
			in = append(in, phase)
		}
	}
	return in
}

// isCommand says that a path below /proc is of one of the test's commands.
func (c *crash) isCommand(path string) bool {
	line, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(line), c.marker)
}

// findCommand looks at the processes until it finds one that is a command of the test. On a busy
// machine that takes longer than a command runs: what it found is known.
func (c *crash) findCommand() bool {
	proc, err := os.Open("/proc")
	if err != nil {
		c.t.Error(err)
		return false
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if path := "/proc/" + name + "/cmdline"; name[0] <= '9' && c.isCommand(path) {
			c.found = path
			return true
		}
	}
	return false
}

// under says whether something is in that phase.
func (c *crash) under(phase string) bool {
	switch phase {
	case "accept":
		return c.place.Pending()
	case "plan":
		return c.planning.Load() > 0
	case "exec":
		return c.findCommand()
	}
	return c.place.Sending()
}

// wanted is a phase in which no kill fell yet, or else each in turn.
func (c *crash) wanted(fell map[string]int, turn int) string {
	for i := range phases {
		if phase := phases[(turn+i)%len(phases)]; fell[phase] == 0 {
			return phase
		}
	}
	return phases[turn%len(phases)]
}

// awaitPhase waits until phase is under way; one more message may be written for it.
func (c *crash) awaitPhase(phase string) {
	if phase == "accept" && c.written < c.turns {
		c.write(c.written + 1)
		return
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if c.under(phase) {
			return
		}
		time.Sleep(3 * time.Millisecond) // a look for a command reads all processes
	}
}

// awaitGrown waits until one more answer has grown to its end, for as long as that takes a few times.
func (c *crash) awaitGrown() {
	count := func() (n int) {
		for user := range programtest.Users {
			for _, text := range c.place.Shown(user) {
				if strings.HasSuffix(text, grown) {
					n++
				}
			}
		}
		return n
	}
	before := count()
	for deadline := time.Now().Add(6 * time.Second); time.Now().Before(deadline) && count() == before; {
		time.Sleep(20 * time.Millisecond)
	}
}

// settle waits until every turn has ended and nothing is on its way any more.
func (c *crash) settle() {
	c.t.Helper()
	defer func() {
		if left := c.left(); c.t.Failed() || c.place.Exact() && len(left) > 0 {
			c.t.Logf("left in the chats: %q; %d turns of %d, something not confirmed: %t", left, len(c.rig.Turns()), c.written, c.place.Pending())
		}
	}()
	c.rig.Await("every event has its turn, ended, and its deliveries are settled", 5*time.Minute, func() bool {
		if c.place.Pending() {
			return false
		}
		turns := c.rig.Turns()
		for _, turn := range turns {
			if turn.State != "done" && turn.State != "failed" {
				return false
			}
		}
		if slices.ContainsFunc(c.rig.Deliveries(), c.underWay) {
			return false
		}
		return len(turns) >= c.written && (!c.place.Exact() || len(c.left()) == 0)
	})
}

// underWay says that something is still to become of a delivery, or of what is shown in its place.
func (c *crash) underWay(d outbox.Info) bool {
	switch d.State {
	case "pending", "sending":
		return true
	case "unknown":
		return d.Outcome != "unknown_twice" && d.Outcome != "cannot_ask"
	}
	if d.State == "dropped" && d.Outcome == "left" {
		return c.place.Exact() // a draft in doubt is looked up
	}
	return d.State == "dropped" && d.PlatformID != "" && d.Outcome != "taken_back"
}

// check holds the promises against what the person, the platform and the database saw.
func (c *crash) check() {
	c.t.Helper()
	byText := map[string]int{}
	for _, turn := range c.rig.Turns() {
		byText[turn.Text]++
		if turn.State != "done" {
			c.t.Errorf("turn %d (%s) ended %s, %s", turn.ID, turn.Text, turn.State, turn.Outcome)
		}
	}
	repeats, unknown := map[string]bool{}, map[string]bool{}
	for _, d := range c.rig.Deliveries() {
		text := strings.TrimSpace(d.Text)
		repeats[text] = repeats[text] || d.Repeated
		unknown[text] = unknown[text] || d.State == "unknown"
	}
	ran := c.logged()
	repeated, lost, files := 0, 0, 0
	for n := range c.written {
		if got := byText[fmt.Sprintf("job %d", n)]; got != 1 {
			c.t.Errorf("job %d has %d turns", n, got)
		}
		if ran[n] > 1 {
			c.t.Errorf("the command of job %d ran %d times", n, ran[n])
		}
		a := c.answers(n)
		listed := slices.ContainsFunc(c.finals(n), func(text string) bool { return unknown["(repeated) "+text] })
		c.checkOnce(fmt.Sprintf("the answer to job %d", n), a.plain, a.marked, listed)
		if a.marked == 1 && !slices.ContainsFunc(c.finals(n), func(text string) bool { return repeats["(repeated) "+text] }) {
			c.t.Errorf("the repeat of job %d is not in the ledger", n)
		}
		if a.withFile {
			files++
			c.checkOnce(jobFile(n), a.files, a.markedFiles, unknown[""] || unknown["(repeated)"])
		}
		if a.plain+a.marked == 0 {
			lost++ // listed, as promised
		}
		repeated += a.marked + a.markedFiles
	}
	c.t.Logf("%d turns, %d with a file, %d parts repeated with a mark, %d listed as unknown; calls %v", len(byText), files, repeated, lost, c.place.Made())
	if c.mixed && files == 0 {
		c.t.Error("no file was sent at all")
	}
	c.checkOrder()
	programtest.Gone(c.t, c.marker)
}

// logged counts how often each job's command ran.
func (c *crash) logged() map[int]int {
	c.t.Helper()
	ran := c.loggedSoFar()
	if len(ran) == 0 {
		c.t.Error("no command ran at all")
	}
	return ran
}

// loggedSoFar is logged while the commands still run.
func (c *crash) loggedSoFar() map[int]int {
	ran := map[int]int{}
	files, _ := filepath.Glob(filepath.Join(c.rig.Dir, "data", "workspaces", "*", "log.txt"))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			c.t.Error(err)
		}
		for line := range strings.Lines(string(data)) {
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				c.t.Errorf("%s holds %q", path, line)
			}
			ran[n]++
		}
	}
	return ran
}

// checkOrder wants the answers of a conversation in the order of its turns, each once without a mark.
func (c *crash) checkOrder() {
	turns := c.turnOrder()
	for user := range programtest.Users {
		last := -1
		for _, text := range c.place.Shown(user) {
			m := jobPattern.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			n, _ := strconv.Atoi(m[1])
			if !slices.Contains(c.finals(n), strings.TrimSpace(strings.TrimPrefix(text, "(repeated)"))) {
				continue
			}
			if n%programtest.Users != user {
				c.t.Errorf("user %d reads the answer to job %d", user, n)
			}
			again := n == last && !strings.HasPrefix(text, "(repeated)")
			if turns[n] < turns[last] || again {
				c.t.Errorf("user %d: job %d was answered after job %d", user, n, last)
			}
			last = n
		}
	}
}

// turnOrder maps each job to its turn's number, and wants those of a user in the order
// of the jobs unless the platform tells them in another.
func (c *crash) turnOrder() map[int]int64 {
	c.t.Helper()
	turns := map[int]int64{}
	for _, turn := range c.rig.Turns() {
		if m := jobPattern.FindStringSubmatch(turn.Text); m != nil {
			n, _ := strconv.Atoi(m[1])
			turns[n] = turn.ID
		}
	}
	if p, ok := c.place.(*programtest.ScriptedPlace); ok && p.Disorder {
		return turns
	}
	for n := range c.written {
		if former, ok := turns[n-programtest.Users]; ok && turns[n] < former {
			c.t.Errorf("job %d became a turn before job %d of the same user", n, n-programtest.Users)
		}
	}
	return turns
}
