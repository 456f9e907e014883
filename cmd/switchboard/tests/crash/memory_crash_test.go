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

const memoryUsers = 3

// A mind is a model that learns each "thing N" that a person writes, believes it, sums up by counting, and makes one
// fact of each two.
type mind struct {
	under [4]atomic.Int64 // calls that are being made, as minded has them
	made  [4]atomic.Int64
}

var (
	minded   = []string{"look", "curate", "summary", "consolidate"}
	aThing   = regexp.MustCompile(`thing \w+\.\d+`)
	aLine    = regexp.MustCompile(`(?m)^(\d+)\. \(?\d{4}-`)
	aCount   = regexp.MustCompile(`seen (\d+)`)
	bySaying = regexp.MustCompile(`(?m)^\d+\. \S+ \S+ u\d: (thing \S+)$`)
)

func (m *mind) think(req llmtest.Request) llmtest.Reply {
	i := slices.Index(minded, req.Schema)
	if i < 0 {
		return programtest.Echo(req)
	}
	m.under[i].Add(1)
	m.made[i].Add(1)
	reply := llmtest.Reply{Delay: time.Duration(50+rand.IntN(150)) * time.Millisecond}
	time.AfterFunc(reply.Delay+20*time.Millisecond, func() { m.under[i].Add(-1) }) // until what comes of it is written
	switch req.Schema {
	case "look":
		learned := []string{}
		for _, said := range bySaying.FindAllStringSubmatch(req.Section("Messages"), -1) {
			learned = append(learned, said[1])
		}
		reply.JSON = map[string]any{"learnings": learned}
	case "curate":
		verdicts := []any{}
		for n, text := range aThing.FindAllString(req.Section("Learnings"), -1) {
			verdicts = append(verdicts, map[string]any{"learning": n + 1, "verdict": "promote", "kind": "fact", "text": text, "category": nil, "key": nil, "replaces": nil, "reason": nil})
		}
		reply.JSON = map[string]any{"verdicts": verdicts}
	case "summary":
		seen := len(aLine.FindAllString(req.Section("Messages"), -1))
		if before := aCount.FindStringSubmatch(req.Section("Summary so far")); before != nil {
			n, _ := strconv.Atoi(before[1])
			seen += n
		}
		reply.JSON = map[string]any{"sentences": []string{fmt.Sprintf("seen %d", seen)}}
	case "consolidate":
		facts := []any{}
		lines := strings.Split(req.Section("Facts"), "\n")
		for n := 0; n < len(lines); n += 2 {
			of, text := []int{n + 1}, strings.Join(aThing.FindAllString(lines[n], -1), " ")
			if n+1 < len(lines) {
				of, text = append(of, n+2), text+" "+strings.Join(aThing.FindAllString(lines[n+1], -1), " ")
			}
			facts = append(facts, map[string]any{"text": text, "of": of})
		}
		reply.JSON = map[string]any{"facts": facts}
	}
	return reply
}

// Twenty-five kills anywhere while it learns, judges, sums up and consolidates: nothing is lost, and nothing is there twice. A second bot that
// follows it, killed as often, remembers the same.
func TestMemoryOnAnEngineThatIsKilled(t *testing.T) {
	t.Parallel()
	r, m := newMind(t)
	m.crash(r, []*programtest.Server{r.Server}, r.Query, newReplica(t, r, ""))
	r.Stop(20 * time.Second)
}

// The same on PostgreSQL with two engines, of which each works for the other.
func TestMemoryOnTwoEnginesThatAreKilled(t *testing.T) {
	t.Parallel()
	r, m := newMind(t)
	f := programtest.NewFleet(r, storetest.MigratedURL(t), "one", "two")
	m.crash(r, []*programtest.Server{f.Engines[0].Server, f.Engines[1].Server}, f.Query, newReplica(t, r, storetest.MigratedURL(t)))
	f.Stop()
}

func newMind(t *testing.T) (*programtest.Rig, *mind) {
	t.Helper()
	var people []string
	for i := range memoryUsers {
		people = append(people, fmt.Sprintf("u%d", i))
	}
	r := programtest.NewRig(t, people, "[agent]\nplanner = \"fake/model\"\nsummarize_threshold = 6\nknowledge_max_facts = 8\n"+
		"[router]\nrate_person = \"off\"\nidle_timeout = \"300ms\"\n[memory]\nper_day = 100000\n")
	m := &mind{}
	r.Model.Handle(m.think)
	return r, m
}

func (m *mind) crash(r *programtest.Rig, engines []*programtest.Server, query func(string, ...any) [][]string, second *replica) {
	r.T.Helper()
	said := map[string][]string{}
	say := func(n int) {
		for i := range memoryUsers * n {
			user := fmt.Sprintf("u%d", i%memoryUsers)
			thing := fmt.Sprintf("thing %s.%d", user, len(said[user]))
			said[user] = append(said[user], thing)
			r.Platform.Say("c"+user, user, thing)
		}
	}
	for _, e := range engines {
		e.Start()
	}
	r.Await("an engine runs", 30*time.Second, func() bool { return engines[0].Ready() > 0 })
	stop := second.follow()
	fell, kills := map[string]int{}, killsOf(r.T, ownKills)
	for kill := range kills {
		say(3)
		if want := kill % (len(minded) + 1); want < len(minded) {
			more := time.Now()
			r.Await("it is asked for "+minded[want], time.Minute, func() bool {
				if time.Since(more) > 5*time.Second { // all that was said is done with
					say(3)
					more = time.Now()
				}
				return m.under[want].Load() > 0
			})
			fell[minded[want]]++
		}
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		victim := engines[kill%len(engines)]
		victim.Kill()
		victim.Start()
	}
	stop()
	say(3)
	one := func(sql string) string {
		list := query(sql)
		if len(list) == 0 || len(list[0]) == 0 {
			return ""
		}
		return list[0][0]
	}
	r.Await("all is answered and learned", 2*time.Minute, func() bool {
		return one("SELECT count(*) FROM turns WHERE state NOT IN ('done', 'merged')") == "0" && one("SELECT count(*) FROM sessions WHERE restless = TRUE") == "0" &&
			one("SELECT count(*) FROM messages WHERE direction = 'in'") == strconv.Itoa(memoryUsers*len(said["u0"]))
	})
	calls := map[string]int64{}
	for i, what := range minded {
		calls[what] = m.made[i].Load()
	}
	r.T.Logf("of %d kills %v were at most 120 ms after a call for it began, of %v calls", kills, fell, calls)
	for user, things := range said {
		var looked, learned, facts []string
		for _, row := range query("SELECT m.text FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.key = 'play:c" + user + "' AND m.direction = 'in' AND m.class = 'turn' AND m.id <= s.looked_to") {
			looked = append(looked, row[0])
		}
		if n := len(things) - len(looked); n < 0 || n > 2 { // fewer than three new ones are not looked at
			r.T.Errorf("%d of %d messages of %s were looked at", len(looked), len(things), user)
		}
		for _, row := range query("SELECT text FROM memories WHERE kind = 'learning' AND state = 'promoted' AND person = '" + user + "'") {
			learned = append(learned, row[0])
		}
		for _, row := range query("SELECT text FROM memories WHERE kind = 'fact' AND state = 'active' AND scope = 'person:" + user + "'") {
			facts = append(facts, aThing.FindAllString(row[0], -1)...)
		}
		for what, have := range map[string][]string{"learned": learned, "facts": facts} {
			slices.Sort(have)
			want := slices.Sorted(slices.Values(looked))
			if !slices.Equal(have, want) {
				a, _ := json.Marshal(have)
				r.T.Errorf("%s of %s: %d, want %d: %s", what, user, len(have), len(want), a)
			}
		}
		spoken := one("SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.key = 'play:c" + user + "' AND m.id <= s.summed_to AND (m.direction = 'in' AND m.class = 'turn' OR m.class = 'say' AND m.notice = FALSE)")
		if summary := one("SELECT summary FROM sessions WHERE key = 'play:c" + user + "'"); summary != "seen "+spoken {
			r.T.Errorf("the summary of %s is %q, of %s messages", user, summary, spoken)
		}
		if n := one("SELECT count(*) FROM recalled WHERE kind = 'message' AND scope = 'person:" + user + "'"); n != strconv.Itoa(len(things)) {
			r.T.Errorf("%s messages of %s are found, want %d", n, user, len(things))
		}
	}
	if n := one("SELECT count(*) FROM memories WHERE state = 'pending'"); n != "0" {
		r.T.Errorf("%s learnings wait", n)
	}
	second.wantSame(query)
}
