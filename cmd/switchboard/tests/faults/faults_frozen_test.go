package faults_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

// ticking is a command that says when it lives, in Unix nanoseconds.
const ticking = "echo began >> log.txt; for i in $(seq 1 1000); do date +%s%N >> ticks.txt; sleep 0.2; done; : "

// ticks are the instants at which commands lived.
func ticks(r *programtest.Rig) (list []time.Time) {
	r.T.Helper()
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "ticks.txt"))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			r.T.Error(err)
		}
		for _, word := range strings.Fields(string(data)) {
			if n, err := strconv.ParseInt(word, 10, 64); err == nil {
				list = append(list, time.Unix(0, n))
			}
		}
	}
	return list
}

// The engine that holds the channel stands still for a minute, in the middle of a
// send and with a command that runs on beside it. The other engine goes on for it;
// the command has ended before that, and when the first one wakes up, it does
// nothing that the other did.
func TestEngineFrozenForAMinuteRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "u1", "u2", "u3")
	mark := programtest.Marker()
	f.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if programtest.Said(req) == "go" || req.Role != "planner" {
			return programtest.Doing(ticking + mark)(req)
		}
		return programtest.Echo(req)
	})
	sending, stands := make(chan struct{}, 100), make(chan struct{})
	stood := sync.OnceFunc(func() { close(stands) })
	t.Cleanup(stood)
	f.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
		if p.Conversation != "cu2" || strings.HasPrefix(p.Text, "(repeated)") {
			return channelstest.Fault{}
		}
		sending <- struct{}{}
		<-stands // it is shown while the engine stands still
		return channelstest.Fault{}
	})
	f.Up()
	f.Platform.Say("cu1", "u1", "go")
	f.Await("the command runs", 20*time.Second, func() bool { return len(ticks(f.Rig)) > 0 })
	holder := f.Holder("play")
	if turn := f.Query("SELECT holders FROM turns"); len(turn) != 1 || f.Owners()[programtest.OwnersIn(turn[0][0])[0]] != holder {
		t.Fatalf("the command runs elsewhere: %v", turn)
	}
	f.Platform.Say("cu2", "u2", "hello")
	<-sending
	holder.Freeze()
	frozen := time.Now()
	stood()
	f.Platform.Say("cu3", "u3", "anybody?")
	f.Await("u3 is answered by the other engine", 30*time.Second, func() bool { return slices.Contains(f.Shown("u3"), "heard: anybody?") })
	t.Logf("u3 answered %s after the freeze", time.Since(frozen).Round(10*time.Millisecond))
	f.Await("u1 is told", 30*time.Second, func() bool { return slices.Contains(f.Shown("u1"), "It was cut off.") })
	t.Logf("u1 told %s after the freeze", time.Since(frozen).Round(10*time.Millisecond))
	time.Sleep(time.Until(frozen.Add(time.Minute)))
	holder.Thaw()
	time.Sleep(5 * time.Second) // whatever it still wants to do

	ticks := ticks(f.Rig)
	last := slices.MaxFunc(ticks, time.Time.Compare)
	taken := takenOver(f, "go")
	t.Logf("the command lived for %s of the freeze; its turn was taken over after %s", last.Sub(frozen).Round(10*time.Millisecond), taken.Sub(frozen).Round(10*time.Millisecond))
	if last.After(taken) {
		t.Errorf("the command lived %s beside the other holder of its turn", last.Sub(taken))
	}
	programtest.Gone(t, mark)
	if got := written(f.Rig); len(got) != 1 {
		t.Errorf("the command began %d times", len(got))
	}
	f.Reads("u1", "It was cut off.")
	// It had reached the platform; nobody knew.
	f.Reads("u2", "heard: hello", "(repeated) heard: hello")
	f.Reads("u3", "heard: anybody?")
	if n := f.Count("SELECT count(*) FROM turns WHERE state <> 'done'"); n > 0 {
		t.Errorf("%d turns are not done", n)
	}

	holder.MustLive()
	f.Other(holder).Kill() // who was frozen serves again
	f.Answers("u3", "and now?", "heard: and now?")
	holder.Stop()
}

// takenOver is when the turn with that text was set running by its second holder.
func takenOver(f *programtest.Fleet, text string) time.Time {
	f.T.Helper()
	rows := f.Query("SELECT t.holders FROM turns t JOIN messages m ON m.turn_id = t.id WHERE m.direction = 'in' AND m.text = $1", text)
	if len(rows) != 1 {
		f.T.Fatalf("%d turns say %q", len(rows), text)
	}
	words := strings.Fields(rows[0][0])
	if len(words) != 2 {
		f.T.Fatalf("the turn %q was held by %q", text, words)
	}
	micros, err := strconv.ParseInt(words[1][strings.LastIndex(words[1], ":")+1:], 10, 64)
	if err != nil {
		f.T.Fatal(err)
	}
	return time.UnixMicro(micros)
}
