//go:build long

package faults_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// thinking answers after a while, as a model does.
func thinking(after time.Duration) func(llmtest.Request) llmtest.Reply {
	return func(req llmtest.Request) llmtest.Reply {
		reply := programtest.Echo(req)
		reply.Delay = after
		return reply
	}
}

// 64 turns that wait for a model cost less than a twentieth of one processor.
func TestWaitingForTheModelCostsNothing(t *testing.T) {
	t.Parallel()
	people := crowd(64)
	r := programtest.PlannedBy(t, "", thinking(time.Minute), people...)
	r.Up()
	for _, u := range people {
		r.Platform.Say("c"+u, u, "think")
	}
	r.Await("all of them wait for the model", 30*time.Second, func() bool { return r.Model.Count() == len(people) })
	time.Sleep(time.Second) // what follows the start is over
	const looked = 5 * time.Second
	before := programtest.CpuOf(t, r.Cmd.Process.Pid)
	time.Sleep(looked)
	used := programtest.CpuOf(t, r.Cmd.Process.Pid) - before
	t.Logf("%s of CPU in %s, %s before", used, looked, before)
	if used > looked/20 || before == 0 {
		t.Errorf("%d turns that wait take %s of CPU in %s", len(people), used, looked)
	}
}

// Where the model is what takes time, two engines do nearly twice as much as one.
func TestTwoEnginesDoMore(t *testing.T) {
	t.Parallel()
	people := crowd(40)
	f := programtest.TwoEngines(t, "workers = 4\n", people...)
	f.Model.Handle(thinking(500 * time.Millisecond))
	answered := counted(f.Platform)
	f.Engines[0].Up()
	load := func() time.Duration {
		t.Helper()
		want := answered.Load() + 2*int64(len(people))
		began := time.Now()
		for range 2 {
			for _, u := range people {
				f.Platform.Say("c"+u, u, "work")
			}
		}
		f.Await("all are answered", time.Minute, func() bool { return answered.Load() >= want })
		return time.Since(began)
	}
	one := load()
	f.Engines[1].Up()
	two := load()
	ratio := one.Seconds() / two.Seconds()
	t.Logf("one engine %s, two engines %s: %.2f times as fast", one.Round(time.Millisecond), two.Round(time.Millisecond), ratio)
	if ratio < 1.6 {
		t.Errorf("two engines are only %.2f times as fast as one", ratio)
	}
}

// What the program holds does not grow with what it has done. SWITCHBOARD_TEST_TURNS
// says how many turns; make long has 100,000.
func TestMemoryIsFlat(t *testing.T) {
	t.Parallel()
	turns := 2000
	if text := os.Getenv("SWITCHBOARD_TEST_TURNS"); text != "" {
		var err error
		if turns, err = strconv.Atoi(text); err != nil {
			t.Fatalf("SWITCHBOARD_TEST_TURNS: %v", err)
		}
	}
	people := crowd(50)
	r := programtest.NewRig(t, people, "[router]\nrate_person = \"off\"\n")
	answered := counted(r.Platform)
	r.Up()
	var warm, now int
	for done := 0; done < turns; done += len(people) {
		want := answered.Load() + int64(len(people))
		for _, u := range people {
			r.Platform.Say("c"+u, u, "hello")
		}
		r.Await("all are answered", time.Minute, func() bool { return answered.Load() >= want })
		if done <= turns/5 {
			_, warm = r.Memory()
		}
	}
	_, now = r.Memory()
	t.Logf("%d MB after a fifth of %d turns, %d MB after all", warm>>10, turns, now>>10)
	if now > warm+24<<10 {
		t.Errorf("it grew from %d MB to %d MB", warm>>10, now>>10)
	}
}
