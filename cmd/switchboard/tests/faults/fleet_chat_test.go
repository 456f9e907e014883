package faults_test

import (
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// The walk-through of docs/engines.md: somebody chats beside two engines, one is
// killed and then the other, also in the middle of a turn, and the chat goes on.
func TestChatGoesOnWithTheOtherEngine(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "")
	var asked atomic.Int32
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	f.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if programtest.Said(req) == "slow" && asked.Add(1) == 1 {
			<-hang // for the engine that is killed
		}
		return programtest.Echo(req)
	})
	f.Up()
	chat := exec.Command(programtest.Build(t), "--config", f.Config, "chat")
	chat.Dir, chat.Env = f.Dir, programtest.Environ()
	var out, errs testkit.Log
	chat.Stdout, chat.Stderr = &out, &errs
	lines, err := chat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); chat.Wait() }()
	t.Cleanup(func() { chat.Process.Kill(); <-ended })
	want := ""
	answered := func(text string) {
		t.Helper()
		want += "heard: " + text + "\n"
		began := time.Now()
		f.Await(text+" is answered", 30*time.Second, func() bool { return out.String() == want })
		t.Logf("%s: answered after %s", text, time.Since(began).Round(time.Millisecond))
	}
	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(lines, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say("first")
	answered("first")
	for _, m := range []*programtest.Member{f.Engines[1], f.Engines[0]} { // whichever of them it talks to
		m.Kill()
		say("without " + m.Name)
		answered("without " + m.Name)
		m.Up()
	}
	say("slow")
	f.Await("the model thinks", 10*time.Second, func() bool { return asked.Load() > 0 })
	holders := f.Query("SELECT owner FROM leases WHERE kind = 'session' AND owner IS NOT NULL")
	if len(holders) != 1 {
		t.Fatalf("%d sessions are held", len(holders))
	}
	f.Owners()[holders[0][0]].Kill()
	answered("slow")
	lines.Close()
	f.Await("the chat ends", 10*time.Second, func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if code := chat.ProcessState.ExitCode(); code != 0 {
		t.Errorf("chat ended with exit %d\n%s", code, strings.TrimSpace(errs.String()))
	}
	if n := f.Count("SELECT count(*) FROM turns WHERE state = 'done'"); n != 4 {
		t.Errorf("%d turns are done", n)
	}
}
