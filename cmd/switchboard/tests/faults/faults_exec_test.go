package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

func TestKilledEngineLeavesNoProcess(t *testing.T) {
	t.Parallel()
	mark := programtest.Marker()
	script := fmt.Sprintf("nohup sh -c 'sleep 300; : %[1]s' & nohup sh -c 'sleep 300; : %[1]s' >/dev/null 2>&1 & echo began > began.txt; sleep 300; : %[1]s", mark)
	r := programtest.PlannedBy(t, "", programtest.Doing(script), "u1")
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	// The shell that was given the script, and the two it started.
	r.Await("the command and its children run", 15*time.Second, func() bool {
		began, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "began.txt"))
		return len(began) == 1 && len(programtest.Marked(mark)) >= 3
	})
	r.Kill()
	r.Await("all of them are gone", 3*time.Second, func() bool { return len(programtest.Marked(mark)) == 0 })
	r.Up()
	r.Await("the person is told", 15*time.Second, func() bool { return slices.Contains(r.Shown("u1"), "It was cut off.") })
	turn := r.TurnOf("go")
	if turn.State != "done" || turn.Plans[0].Tasks[0].State != "interrupted" {
		t.Errorf("the turn ended %s, its command %s", turn.State, turn.Plans[0].Tasks[0].State)
	}
	programtest.Gone(t, mark)
}

func TestCancelOfARunningCommandKillsItsProcesses(t *testing.T) {
	t.Parallel()
	mark := programtest.Marker()
	r := programtest.NewRig(t, []string{"u1"}, "[router]\nrate_person = \"off\"\nworkers = 1\n[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if programtest.Said(req) == "still there?" {
			return programtest.Echo(req)
		}
		return programtest.Doing(fmt.Sprintf("nohup sh -c 'sleep 300; : %[1]s' & echo half > half.txt; sleep 300; : %[1]s", mark))(req)
	})
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("the command runs", 15*time.Second, func() bool { return len(programtest.Marked(mark)) >= 2 })
	if text := r.Ask("u1", "/cancel"); !strings.Contains(strings.ToLower(text), "cancel") {
		t.Errorf("/cancel is answered %q", text)
	}
	r.Await("the whole tree is gone", 3*time.Second, func() bool { return len(programtest.Marked(mark)) == 0 })
	r.Await("the turn is over", 10*time.Second, func() bool { return r.TurnOf("go").State == "cancelled" })
	r.Await("the person is told what was done", 5*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Shown("u1"), "\n"), "stopped midway: `nohup sh")
	})
	turn := r.TurnOf("go")
	if task := turn.Plans[0].Tasks[0]; task.State != "interrupted" && task.State != "cancelled" {
		t.Errorf("the command is %s", task.State)
	}
	if last := turn.Plans[0].Tasks[1]; last.State != "cancelled" {
		t.Errorf("the message behind it is %s", last.State)
	}
	r.Answers("u1", "still there?", "heard: still there?")
}

// A command that prints a gigabyte costs time, not memory.
func TestCommandPrintingAGigabyteTakesNoMemory(t *testing.T) {
	t.Parallel()
	programtest.Busy(t)
	r := programtest.PlannedBy(t, "", programtest.Doing("yes 0123456789abcdef0123456789abcdef | head -c 1073741824"), "u1")
	r.Up()
	before, _ := r.Memory()
	began := time.Now()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("an answer", 2*time.Minute, func() bool { return len(r.Shown("u1")) > 0 })
	most, _ := r.Memory()
	t.Logf("%s; at most %d MB, %d MB before", time.Since(began).Round(10*time.Millisecond), most>>10, before>>10)
	if most > 160<<10 {
		t.Errorf("the engine grew to %d MB", most>>10)
	}
	turn := r.TurnOf("go")
	task := turn.Plans[0].Tasks[0]
	if turn.State != "done" || task.State != "done" {
		t.Errorf("the turn ended %s, the command %s", turn.State, task.State)
	}
	if len(task.Output) > 2<<20 || len(task.Output) < 100<<10 {
		t.Errorf("%d KB of output are kept, the limit is 1 MB", len(task.Output)>>10)
	}
	if size := fileSizes(r); size > 20<<20 {
		t.Errorf("the database takes %d MB", size>>20)
	}
}

func fileSizes(r *programtest.Rig) (size int64) {
	files, _ := filepath.Glob(filepath.Join(r.Dir, "data", "switchboard.db*"))
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// tiny mounts a small file system as the rig's data folder.
func tiny(r *programtest.Rig, t *testing.T, size string) (dir string) {
	t.Helper()
	r.Empty()
	dir = filepath.Join(r.Dir, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	storetest.SmallDisk(t, dir, "size="+size+",mode=0700")
	return dir
}

func TestFullDiskAcknowledgesNothingThatIsNotStored(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", func(req llmtest.Request) llmtest.Reply {
		reply := programtest.Echo(req)
		if programtest.Said(req) == "under way" {
			reply.Delay = time.Second
		}
		return reply
	}, "u1", "u2", "u3")
	// What is on it at the end has to fit beside a whole write-ahead log, which is
	// 4 MB before SQLite overwrites it.
	dir := tiny(r, t, "32m")
	r.Up()
	r.Answers("u1", "before", "heard: before")
	r.Platform.Say("cu3", "u3", "under way")
	r.Await("the model was asked", 5*time.Second, func() bool { return r.Model.Count() == 2 })
	ballast := filepath.Join(dir, "ballast")
	programtest.FillDisk(t, ballast)
	const n = 40
	for i := range n { // each 8 KB, so that they cannot all fit into what SQLite has left
		user := fmt.Sprintf("u%d", 1+i%2)
		r.Platform.Say("c"+user, user, fmt.Sprintf("message %d %s", i, strings.Repeat("x", 8<<10)))
	}
	r.Await("the log says that the disk is full", 20*time.Second, func() bool { return r.Log.Has("full") })
	time.Sleep(time.Second) // refused again and again
	if r.Platform.Pending() == 0 {
		t.Error("everything was confirmed on a full disk; it was not full enough")
	}
	out, errs, code := r.CommandWithin(30*time.Second, "a line\n", "chat")
	taken := code == -1 // it still fitted; its answer waits for space, and so does the chat
	if !taken && (code == 0 && strings.TrimSpace(out) == "" || code != 0 && !strings.Contains(errs, "could not be stored")) {
		t.Errorf("chat on a full disk: exit %d, stdout %q\n%s", code, out, errs)
	}
	if _, errs, code := r.Command("turn", "list"); code != 0 {
		t.Errorf("turn list on a full disk: exit %d\n%s", code, errs)
	}
	r.Kill()
	was := r.Server.Ready()
	r.Start() // a start on a full disk may fail, but says why
	failed := false
	r.Await("it started, or says why it did not", 20*time.Second, func() bool {
		failed = r.Ended(0) != nil
		return failed || r.Server.Ready() > was
	})
	if failed && !strings.Contains(programtest.Tail(r.Log.String(), 500), "full") {
		t.Errorf("a start on a full disk says\n%s", programtest.Tail(r.Log.String(), 500))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if failed {
		r.Up()
	}
	answers := func(i int) (plain, marked int) {
		text := fmt.Sprintf("heard: message %d ", i)
		for _, s := range r.Shown(fmt.Sprintf("u%d", 1+i%2)) {
			if strings.HasPrefix(s, text) {
				plain++
			} else if strings.HasPrefix(s, "(repeated) "+text) {
				marked++
			}
		}
		return plain, marked
	}
	for i := range n {
		r.Await(fmt.Sprintf("message %d is answered with space again", i), 40*time.Second, func() bool {
			plain, marked := answers(i)
			return r.Platform.Pending() == 0 && plain+marked > 0
		})
	}
	for i := range n {
		if plain, marked := answers(i); plain > 1 || marked > 1 {
			t.Errorf("message %d was answered %d times, and %d times marked as a repeat", i, plain, marked)
		}
	}
	if taken {
		r.Await("the line that was taken is worked on", 40*time.Second, func() bool {
			return slices.ContainsFunc(r.Model.Requests(), func(req llmtest.Request) bool { return programtest.Said(req) == "a line" })
		})
	}
	r.Await("the turn that was under way is answered", 10*time.Second, func() bool { return len(r.Shown("u3")) > 0 })
	if got := r.Shown("u3")[0]; strings.TrimPrefix(got, "(repeated) ") != "heard: under way" {
		t.Errorf("the turn that was under way says %q", got)
	}
	r.Answers("u1", "after", "heard: after")
}
