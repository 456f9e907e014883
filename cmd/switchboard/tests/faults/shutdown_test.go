package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// written are the words in the file that commands write into.
func written(r *programtest.Rig) (lines []string) {
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "log.txt"))
	for _, path := range files {
		data, _ := os.ReadFile(path)
		lines = append(lines, strings.Fields(string(data))...)
	}
	return lines
}

func TestStopLetsAShortTurnFinish(t *testing.T) {
	t.Parallel()
	mark := programtest.Marker()
	r := programtest.PlannedBy(t, "", programtest.Doing("echo began >> log.txt; sleep 1; echo ended >> log.txt; : "+mark), "u1")
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("the command runs", 15*time.Second, func() bool { return len(written(r)) == 1 })
	took := r.Stop(20 * time.Second)
	testkit.Within(t, took, 9*time.Second) // not the whole grace, of 10 s
	if got := written(r); !slices.Equal(got, []string{"began", "ended"}) {
		t.Errorf("the command wrote %q", got)
	}
	r.Reads("u1", "It is done.")
	if turn := r.TurnOf("go"); turn.State != "done" {
		t.Errorf("the turn ended %s (%s)", turn.State, turn.Outcome)
	}
}

func TestStopHandsALongTurnBack(t *testing.T) {
	t.Parallel()
	mark := programtest.Marker()
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		if programtest.Said(req) == "while it stops" {
			return programtest.Echo(req)
		}
		return programtest.Doing("echo began >> log.txt; sleep 300; : " + mark)(req)
	}, "u1", "u2")
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("the command runs", 15*time.Second, func() bool { return len(written(r)) == 1 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for end := time.Now().Add(time.Minute); !r.Log.Has("stopping") && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		r.Platform.Say("cu2", "u2", "while it stops") // not taken, so not lost
	}()
	testkit.Within(t, r.Stop(20*time.Second), 20*time.Second) // the grace is 10 s
	<-stopped
	programtest.Gone(t, mark)
	if r.Platform.Pending() == 0 {
		t.Error("a message written while the engine stops was confirmed")
	}
	began := time.Now()
	r.Up()
	r.Await("both are answered", 15*time.Second, func() bool {
		return slices.Contains(r.Shown("u1"), "It was cut off.") && len(r.Shown("u2")) > 0
	})
	t.Logf("both answered %s after the restart", time.Since(began))
	if got := written(r); len(got) != 1 {
		t.Errorf("the command wrote %q", got)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	mark := programtest.Marker()
	r := programtest.PlannedBy(t, "", programtest.Doing("echo began >> log.txt; sleep 300; : "+mark), "u1")
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("the command runs", 15*time.Second, func() bool { return len(written(r)) == 1 })
	r.Cmd.Process.Signal(syscall.SIGTERM)
	r.Await("it is stopping", 5*time.Second, func() bool { return r.Log.Has("stopping") })
	second := time.Now()
	r.Cmd.Process.Signal(syscall.SIGTERM)
	if ended := r.Ended(8 * time.Second); ended == nil { // the grace is 10 s
		t.Fatal("it still runs 8 s after the second signal")
	} else if ended.ProcessState.Success() {
		t.Error("exit 0 although work was broken off")
	}
	t.Logf("ended after %s", time.Since(second))
	r.Await("its command is gone", 3*time.Second, func() bool { return len(programtest.Marked(mark)) == 0 })
	r.Up()
	r.Await("the person is told", 15*time.Second, func() bool { return slices.Contains(r.Shown("u1"), "It was cut off.") })
}

func TestStopWithDeliveriesOnASlowPlatformLosesNone(t *testing.T) {
	t.Parallel()
	var people []string
	for u := range 4 {
		people = append(people, fmt.Sprintf("u%d", u))
	}
	r := programtest.PlannedBy(t, "", programtest.Echo, people...)
	var slow atomic.Bool
	slow.Store(true)
	r.Platform.OnSend(func(post scripted.Post) channelstest.Fault {
		if !slow.Load() {
			return channelstest.Fault{}
		}
		if post.Conversation == "cu0" {
			return channelstest.Fault{RateLimited: true, RetryAfter: time.Minute}
		}
		return channelstest.Fault{Delay: 3 * time.Second}
	})
	r.Up()
	const each = 5
	for n := range each {
		for _, u := range people {
			r.Platform.Say("c"+u, u, fmt.Sprintf("%s %d", u, n))
		}
	}
	r.Await("all are answered, most of them on their way", 20*time.Second, func() bool { return len(r.Deliveries()) == each*len(people) })
	took := r.Stop(25 * time.Second)
	testkit.Within(t, took, 25*time.Second)
	states := map[string]int{}
	for _, d := range r.Deliveries() {
		states[d.State]++
	}
	t.Logf("stopped after %s with deliveries %v", took, states)
	if states["sent"] == 0 || states["pending"] == 0 || states["sent"]+states["pending"] != each*len(people) {
		t.Errorf("deliveries after the stop: %v; each of %d must be sent or pending", states, each*len(people))
	}
	slow.Store(false)
	began := time.Now()
	r.Up()
	r.Await("the rest is sent", 10*time.Second, func() bool { return len(r.Platform.Sent()) >= each*len(people)-each }) // cu0 waits its minute
	for _, u := range people[1:] {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprintf("heard: %s %d", u, n))
		}
		r.Await("all answers of "+u, 10*time.Second, func() bool { return len(r.Shown(u)) >= each })
		r.Reads(u, want...)
	}
	t.Logf("the rest was sent %s after the restart", time.Since(began))
	took = r.Stop(45 * time.Second)        // with nothing to send but what has to wait a minute
	testkit.Within(t, took, 9*time.Second) // not the whole grace
	for _, d := range r.Deliveries() {
		if d.Conversation == "cu0" && d.State != "pending" && d.State != "sent" {
			t.Errorf("delivery %d of the rate-limited chat is %s", d.ID, d.State)
		}
	}
}

func TestRestartIsImmediate(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	starts := map[string][]time.Duration{} // by how the engine ended before
	ending := ""
	for i := range 6 {
		began := time.Now()
		r.Up()
		if got, want := r.Ask("u1", fmt.Sprint("round ", i)), fmt.Sprint("heard: round ", i); got != want {
			t.Errorf("answer %q", got)
		}
		starts[ending] = append(starts[ending], time.Since(began))
		if n := r.Count("SELECT count(*) FROM owners WHERE state = 'alive'"); n != 1 {
			t.Errorf("start %d: %d owners are alive", i, n)
		}
		if i%2 == 0 {
			r.Noted()
			r.Kill()
			ending = "killed"
		} else {
			r.Stop(20 * time.Second)
			ending = "stopped"
		}
	}
	for _, took := range starts {
		testkit.Within(t, slices.Min(took), 10*time.Second) // an owner that is gone expires after 15 s
	}
}

// A command that found no engine is one for a moment; serve must not give up on it.
func TestServeWaitsForAPassingCommand(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "")
	lingering := make(chan struct{})
	go func() {
		defer close(lingering)
		r.CommandWith("hello\n", "chat", "--linger", "2s")
	}()
	lock := filepath.Join(r.Dir, "data", "switchboard.db.lock")
	r.Await("the command is the engine", 15*time.Second, func() bool {
		words, _ := os.ReadFile(lock)
		return strings.HasSuffix(string(words), " true\n")
	})
	r.Start()
	r.Await("serve is the engine", 20*time.Second, func() bool { return r.Log.Has(`"ready"`) })
	<-lingering
	r.Stop(20 * time.Second)
}
