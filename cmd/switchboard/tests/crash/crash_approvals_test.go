package crash_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

const (
	wishers  = 8 // people who write
	deciders = 3 // of them are admins; what the others wish is asked in each one's chat
)

// moments are when a kill falls: a question was committed, a decision was written or
// pressed, it was committed and is not used yet, the command runs, its result is there.
var moments = []string{"asked", "said", "decided", "running", "done"}

// Every command needs a permission, and the program is killed at each moment in turn.
func TestCrashApprovals(t *testing.T) {
	t.Parallel()
	c := newApprovalsCrash(t, killsOf(t, ownKills), "")
	c.query = c.rig.Query
	c.servers = func() []*programtest.Server { return []*programtest.Server{c.rig.Server} }
	c.rig.Up()
	c.storm(func(int) {
		c.rig.Kill()
		c.rig.Start()
	})
	c.verify()
	c.rig.Stop(20 * time.Second)
}

// Two engines on one PostgreSQL, of which one or both are killed. A decision is taken by the
// one that has the channel, also about what the other asked.
func TestCrashApprovalsTwoEngines(t *testing.T) {
	t.Parallel()
	url := storetest.MigratedURL(t)
	c := newApprovalsCrash(t, killsOf(t, againKills), "workers = 3\n")
	f := programtest.NewFleet(c.rig, url, "one", "two")
	c.query = f.Query
	c.servers = func() []*programtest.Server { return []*programtest.Server{f.Engines[0].Server, f.Engines[1].Server} }
	f.Up()
	c.storm(func(kill int) {
		victim := f.Engines[c.random.IntN(2)]
		if holder := f.Holder("play"); kill%2 == 0 && holder != nil {
			victim = holder
		}
		victim.Kill()
		if kill%3 == 0 {
			f.Other(victim).Kill()
			f.Other(victim).Start()
		}
		victim.Start()
	})
	c.verify()
	c.decidedElsewhere(f)
	f.Stop()
}

// An approvalsCrash is a run of the crash test in which every command needs a permission.
type approvalsCrash struct {
	*crash
	query    func(query string, args ...any) [][]string // asks the database
	servers  func() []*programtest.Server               // the engines
	patient  atomic.Bool                                // admins answer nothing now
	said     atomic.Int32                               // decisions
	reviewed atomic.Int32                               // requests to the reviewer
	kills    int
	told     map[string]map[int]int // how often an admin was told of a job that it is "Allowed" or "Denied"
}

func newApprovalsCrash(t *testing.T, kills int, router string) *approvalsCrash {
	programtest.Busy(t)
	seed := crashSeed(t)
	c := &approvalsCrash{kills: kills, crash: &crash{t: t, random: rand.New(rand.NewPCG(seed, 0)), marker: programtest.Marker()}}
	var people strings.Builder
	for u := range wishers {
		role := "user"
		if u < deciders {
			role = "admin"
		}
		fmt.Fprintf(&people, "[[people]]\nname = \"u%d\"\nrole = %q\nidentities = [\"scripted:u%d\"]\ntools = [\"exec\"]\n", u, role, u)
	}
	c.rig = programtest.NewRig(t, nil, "buttons = true\n[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n"+router+
		"[policy]\nask = [\"exec\"]\n[approvals]\ndeadline = \"12s\"\n"+people.String())
	c.place = programtest.NewScriptedPlace(c.rig.Platform)
	c.rig.Model.Handle(c.think)
	return c
}

// fate says what becomes of job n: it needs no permission, or it is "allowed", "denied",
// "left" until it is too late, or allowed and denied at the same time.
func fate(n int) string {
	f := [...]string{"allowed", "talk", "allowed", "denied", "left"}[(n+n/wishers)%5]
	if f == "left" && (n%2 > 0 || n > 40) { // the last question is soon over
		return "both"
	}
	return f
}

// deniedAnew says that a second question for job n is denied: it was allowed, and cut off.
func deniedAnew(n int) bool { return fate(n) == "allowed" && n%4 == 2 && n%wishers < deciders }

var failedAttempt = regexp.MustCompile(`Attempt (\d+), task`)

// think is the model. A command that was cut off is tried once more for half of the jobs.
func (c *approvalsCrash) think(req llmtest.Request) llmtest.Reply {
	switch req.Role {
	case "planner":
		time.Sleep(10 * time.Millisecond)
		m := jobPattern.FindStringSubmatch(req.Section("New message"))
		if m == nil { // what a waiting turn is overtaken by
			time.Sleep(250 * time.Millisecond)
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard")))
		}
		n, _ := strconv.Atoi(m[1])
		if fate(n) == "talk" {
			return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(fmt.Sprintf("done job %d", n))))
		}
		line := fmt.Sprintf("%s; : %s; sleep 0.2", lineOf(n), c.marker)
		if m := failedAttempt.FindStringSubmatch(req.Section("What failed")); m != nil {
			if n%2 > 0 || m[1] != "1" {
				return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer(fmt.Sprintf("cut off job %d", n))))
			}
			line += again // the same plan would be refused
		}
		return llmtest.Text(llmtest.Plan("do it", llmtest.Exec(line, "exit 0"), llmtest.Msg(fmt.Sprintf("Say: done job %d", n))))
	case "reviewer":
		c.reviewed.Add(1)
		if strings.Contains(req.Section("Output"), "Ended: ok") {
			return llmtest.Text(llmtest.ReviewOK())
		}
		if strings.Contains(req.Section("Task"), again) { // the same reason would end the turn
			return llmtest.Text(llmtest.Replan("nobody knows how far it came this time either"))
		}
		return llmtest.Text(llmtest.Replan("the command was cut off"))
	}
	return llmtest.Text(jobText(req.Section("Task")))
}

// again is in a command that is tried once more.
const again = "; : again"

// lineOf is how the command of job n begins.
func lineOf(n int) string { return fmt.Sprintf("echo %d >> log.txt", n) }

// storm has people write and admins decide, while kill ends the program at every moment,
// and waits until all is settled.
func (c *approvalsCrash) storm(kill func(n int)) {
	c.t.Helper()
	for u := range deciders { // so that each has a chat in which to ask
		c.place.Say(u, "good morning")
	}
	c.rig.Await("the admins are greeted", programtest.Patience, func() bool {
		for u := range deciders {
			if len(c.place.Shown(u)) == 0 {
				return false
			}
		}
		return true
	})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.told = c.decide(stop)
	}()
	defer func() {
		close(stop)
		<-stopped
	}()
	for n := range c.kills {
		for range 3 {
			c.wish()
		}
		c.awaitMoment(moments[n%len(moments)])
		time.Sleep(time.Duration(c.random.IntN(10)) * time.Millisecond)
		c.holds()
		kill(n)
	}
	c.settle()
}

// wish lets the next person write, once few enough questions of theirs are open.
func (c *approvalsCrash) wish() {
	c.rig.Await("the next person may ask", 2*programtest.Patience, func() bool {
		return c.query(fmt.Sprintf("SELECT count(*) FROM turns WHERE person = 'u%d' AND state IN ('queued', 'running', 'waiting')", c.written%wishers))[0][0] < "5"
	})
	c.place.Say(c.written%wishers, fmt.Sprintf("job %d", c.written))
	c.written++
}

// awaitMoment waits for a moment to kill at; more is written while it does not come. Looking into the database takes
// longer than most moments last, so it looks at a counter, a log or a file; nothing is answered while it waits for a question.
func (c *approvalsCrash) awaitMoment(moment string) {
	c.t.Helper()
	grown := func(count func() int) func() bool {
		before := count()
		return func() bool { return count() > before }
	}
	c.patient.Store(moment == "asked")
	defer c.patient.Store(false)
	comes := map[string]func() func() bool{
		"asked": func() func() bool {
			last := c.query("SELECT coalesce(max(id), 0) FROM approvals")[0][0]
			return func() bool {
				return c.query("SELECT count(*) FROM approvals WHERE state = 'proposed' AND id > " + last)[0][0] != "0"
			}
		},
		"said": func() func() bool { return grown(func() int { return int(c.said.Load()) }) },
		"decided": func() func() bool {
			return grown(func() (n int) {
				for _, s := range c.servers() {
					n += strings.Count(s.Log.String(), `"an approval was decided"`)
				}
				return n
			})
		},
		"running": func() func() bool {
			return grown(func() (n int) {
				for _, times := range c.loggedSoFar() {
					n += times
				}
				return n
			})
		},
		"done": func() func() bool { return grown(func() int { return int(c.reviewed.Load()) }) },
	}[moment]()
	began := time.Now()
	c.rig.Await("a kill falls when something is "+moment, 2*programtest.Patience, func() bool {
		if time.Since(began) > 2*time.Second {
			began = time.Now()
			c.wish()
		}
		return comes()
	})
}

// holds wants what has to be true at every instant.
func (c *approvalsCrash) holds() {
	c.t.Helper()
	var queries []string
	for what, query := range map[string]string{
		"turns wait for no open question":        "turns t WHERE t.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.turn_id = t.id AND a.state = 'proposed')",
		"open questions have no turn that waits": "approvals a JOIN turns t ON t.id = a.turn_id WHERE a.state = 'proposed' AND t.state <> 'waiting'",
		"open questions have no code":            "approvals a WHERE a.state = 'proposed' AND NOT EXISTS (SELECT 1 FROM actions x WHERE x.approval_id = a.id AND x.state = 'proposed')",
		"codes are open of what is decided":      "actions x JOIN approvals a ON a.id = x.approval_id WHERE x.state = 'proposed' AND a.state <> 'proposed'",
		"commands began without an approval":     "tasks k WHERE k.type = 'exec' AND k.started_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.turn_id = k.turn_id AND a.attempt = k.attempt AND a.position = k.position AND a.state = 'accepted' AND a.used_at IS NOT NULL)",
		"approvals are used and not accepted":    "approvals a WHERE a.used_at IS NOT NULL AND a.state <> 'accepted'",
		"commands have two approvals":            "approvals a JOIN approvals b ON b.turn_id = a.turn_id AND b.attempt = a.attempt AND b.position = a.position AND b.id > a.id",
	} {
		queries = append(queries, "SELECT '"+what+"', count(*) FROM "+query)
	}
	for _, row := range c.query(strings.Join(queries, " UNION ALL ")) {
		if row[1] != "0" {
			c.t.Errorf("%s %s", row[1], row[0])
		}
	}
}

// verify holds what people saw, what ran and the database against each other.
func (c *approvalsCrash) verify() {
	c.t.Helper()
	c.holds()
	ran, states := c.logged(), map[string]int{}
	asked, used, denied, done := map[int]int{}, map[int]int{}, map[int]int{}, map[int]int{}
	for _, row := range c.query(`
		SELECT m.text, a.state, CASE WHEN a.used_at IS NULL THEN 'unused' ELSE 'used' END, k.state, k.allowed_by, a.shown, k.code, k.output
		FROM approvals a JOIN turns t ON t.id = a.turn_id JOIN messages m ON m.id = t.message_id
		JOIN tasks k ON k.turn_id = a.turn_id AND k.attempt = a.attempt AND k.position = a.position ORDER BY a.id`) {
		n, _ := strconv.Atoi(strings.TrimPrefix(row[0], "job "))
		state, task := row[1], row[3]
		asked[n]++
		states[state]++
		states[task]++
		right := false
		switch state + " " + row[2] {
		case "accepted used":
			used[n]++
			right = task == "done" || task == "interrupted"
			right = right && (fate(n) == "allowed" && !(deniedAnew(n) && asked[n] > 1) || fate(n) == "both") && row[4] == "approval.once"
		case "rejected unused":
			denied[n]++
			right = task == "failed" && (fate(n) == "denied" || fate(n) == "both" || deniedAnew(n) && asked[n] > 1)
		case "expired unused":
			right = task == "failed" // an admin may be too late on a busy machine
		}
		if task == "done" {
			done[n]++
		}
		if !right || !strings.HasPrefix(row[5], lineOf(n)+";") {
			c.t.Errorf("job %d, which is to be %s: question %d is %s, %s, and its task %s by %q: %s: %s: %.500s", n, fate(n), asked[n], state, row[2], task, row[4], row[5], row[6], row[7])
		}
	}
	for n := range c.written {
		if c.told["Allowed"][n] > used[n] || c.told["Denied"][n] > denied[n] {
			c.t.Errorf("for job %d %d questions were answered as allowed and %d as denied, and in the ledger %d are and %d", n, c.told["Allowed"][n], c.told["Denied"][n], used[n], denied[n])
		}
		if ran[n] < done[n] || ran[n] > used[n] {
			c.t.Errorf("the command of job %d ran %d times, came to its end %d times and was let run %d times", n, ran[n], done[n], used[n])
		}
		if (fate(n) == "talk") != (asked[n] == 0) {
			c.t.Errorf("job %d, which is to be %s, asked %d times", n, fate(n), asked[n])
		}
	}
	for _, state := range []string{"accepted", "rejected", "expired", "done", "interrupted"} {
		if states[state] == 0 && (state != "interrupted" || c.kills >= ownKills) { // fewer kills may miss what runs
			c.t.Errorf("nothing was %s at all", state)
		}
	}
	audited := c.query("SELECT target, action FROM audit WHERE action IN ('approval.accepted', 'approval.rejected')")
	if len(audited) != states["accepted"]+states["rejected"] {
		c.t.Errorf("%d decisions in the audit, for %v", len(audited), states)
	}
	c.t.Logf("%d jobs; %v; %d kills, %d times more was written for one", c.written, states, c.kills, c.written-3*c.kills)
	c.ended()
	programtest.Gone(c.t, c.marker)
}

// ended wants each turn to have ended, and its end told once.
func (c *approvalsCrash) ended() {
	c.t.Helper()
	unknown := map[int64]bool{}
	for _, d := range c.rig.Deliveries() {
		unknown[d.TurnID] = unknown[d.TurnID] || d.State == "unknown"
	}
	turns := map[int]int{}
	for _, turn := range c.rig.Turns() {
		if turn.State != "done" {
			c.t.Errorf("turn %d (%s) ended %s, %s", turn.ID, turn.Text, turn.State, turn.Outcome)
		}
		m := jobPattern.FindStringSubmatch(turn.Text)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		turns[n]++
		ends := []string{fmt.Sprintf("done job %d", n), fmt.Sprintf("cut off job %d", n)}
		switch turn.Outcome {
		case "rejected":
			ends = []string{"did not allow the command", "`" + lineOf(n) + ";"}
		case "expired":
			ends = []string{"nobody allowed the command in time", "`" + lineOf(n) + ";"}
		}
		plain, marked := 0, 0
		for _, text := range c.place.Shown(n % wishers) {
			text, again := strings.CutPrefix(strings.TrimSpace(text), "(repeated)")
			text = strings.TrimSpace(text)
			stopped := strings.HasPrefix(text, "I stopped: ") && strings.Contains(text, ends[0]) ||
				turn.Outcome == "rejected" && strings.HasPrefix(text, "Denied, so I did nothing: ")
			stopped = stopped && strings.Contains(text, ends[1])
			switch {
			case !stopped && !slices.Contains(ends, text):
			case again:
				marked++
			default:
				plain++
			}
		}
		c.checkOnce(fmt.Sprintf("the end of job %d (%s)", n, turn.Outcome), plain, marked, unknown[turn.ID])
	}
	for n := range c.written {
		if turns[n] != 1 {
			c.t.Errorf("job %d has %d turns", n, turns[n])
		}
	}
}

// decidedElsewhere wants decisions to have been taken by another engine than asked.
func (c *approvalsCrash) decidedElsewhere(f *programtest.Fleet) {
	c.t.Helper()
	by := map[string]*programtest.Member{}
	for _, m := range f.Engines {
		for line := range strings.Lines(m.Log.String()) {
			var entry struct {
				Msg      string
				Approval json.Number `json:"approval_id"`
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "an approval was decided" {
				by[entry.Approval.String()] = m
			}
		}
	}
	owners, here, elsewhere := f.Owners(), 0, 0
	for _, row := range c.query("SELECT a.id, a.created_at, t.holders FROM approvals a JOIN turns t ON t.id = a.turn_id") {
		asked, owner := row[1], ""
		for _, holder := range strings.Fields(row[2]) { // the last that set it running before it asked
			if parts := strings.Split(holder, ":"); parts[2] <= asked {
				owner = parts[0]
			}
		}
		switch m := by[row[0]]; {
		case m == nil:
		case m == owners[owner]:
			here++
		default:
			elsewhere++
		}
	}
	c.t.Logf("%d decisions were taken by the engine that asked, %d by the other", here, elsewhere)
	if elsewhere == 0 {
		c.t.Error("no decision was taken by the other engine")
	}
}
