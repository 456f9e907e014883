package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
)

// crowd are n people, u0 and so on.
func crowd(n int) (people []string) {
	for i := range n {
		people = append(people, fmt.Sprintf("u%d", i))
	}
	return people
}

// counted counts what is sent.
func counted(p *channelstest.Platform) *atomic.Int64 {
	var n atomic.Int64
	p.OnSend(func(scripted.Post) channelstest.Fault {
		n.Add(1)
		return channelstest.Fault{}
	})
	return &n
}

// texts are the texts shown in each conversation.
func texts(p *channelstest.Platform) map[string][]string {
	shown := map[string][]string{}
	for _, s := range p.Sent() {
		shown[string(s.Conversation)] = append(shown[string(s.Conversation)], strings.TrimSpace(s.Text))
	}
	return shown
}

// A model that never answers, in more sessions of one person than both engines
// together give them: everybody else is served meanwhile, on both.
func TestStuckModelOfOnePersonDelaysNoOther(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "workers = 16\n", crowd(6)...)
	stuck, asked := make(chan struct{}), atomic.Int32{}
	t.Cleanup(func() { close(stuck) })
	f.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if strings.HasPrefix(programtest.Said(req), "stuck") {
			asked.Add(1)
			<-stuck
		}
		return programtest.Echo(req)
	})
	for _, m := range f.Engines { // a model that is silent for so long is asked again
		m.Env = append(m.Env, "SWITCHBOARD_AGENT__STALL_TIMEOUT=15m", "SWITCHBOARD_AGENT__LLM_TIMEOUT=15m")
	}
	f.Up()
	const sessions = 16 // two engines give a person four workers each
	for i := range sessions {
		f.Platform.Say(fmt.Sprintf("cstuck%d", i), "u0", fmt.Sprintf("stuck %d", i))
	}
	f.Await("the model is asked", 20*time.Second, func() bool { return asked.Load() >= 8 })
	for round := range 5 {
		for i := 1; i < 6; i++ {
			text := fmt.Sprintf("round %d", round)
			f.Answers(fmt.Sprintf("u%d", i), text, "heard: "+text)
		}
	}
	if n := asked.Load(); n != 8 {
		t.Errorf("the model thinks about %d turns of one person, whom two engines give 4 workers each", n)
	}
	if n := f.Count("SELECT count(*) FROM turns WHERE state IN ('queued', 'running')"); n != sessions {
		t.Errorf("%d turns are open, %d were stuck", n, sessions)
	}
}

// A chat whose platform wants an hour's rest is left alone for it, also by the
// engine that takes over; all others flow.
func TestChatLimitedForAnHourDelaysNoOther(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "u1", "u2", "u3")
	f.Model.Handle(programtest.Echo)
	f.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
		if p.Conversation == "cu1" {
			return channelstest.Fault{RateLimited: true, RetryAfter: time.Hour}
		}
		return channelstest.Fault{}
	})
	tries := func() (n int) {
		for _, post := range f.Platform.Tries() {
			if post.Conversation == "cu1" {
				n++
			}
		}
		return n
	}
	others := func() {
		t.Helper()
		for round := range 10 {
			for _, user := range []string{"u2", "u3"} {
				text := fmt.Sprint("round ", round)
				f.Answers(user, text, "heard: "+text)
			}
		}
	}
	f.Up()
	for n := range 5 {
		f.Platform.Say("cu1", "u1", fmt.Sprint("limited ", n))
	}
	f.Await("the platform refused", 20*time.Second, func() bool { return tries() > 0 })
	others()
	if n := tries(); n != 1 {
		t.Errorf("the chat was tried %d times", n)
	}
	f.Await("all of them are answered, as far as we are concerned", 20*time.Second, func() bool {
		return f.Count("SELECT count(*) FROM turns WHERE state = 'done' AND id IN (SELECT turn_id FROM messages WHERE text LIKE 'limited%')") == 5
	})
	f.Await("every other send is noted", 5*time.Second, func() bool {
		return f.Count("SELECT count(*) FROM deliveries d JOIN conversations c ON c.id = d.conversation_id WHERE c.conversation <> 'cu1' AND d.state <> 'sent'") == 0
	})
	holder := f.Holder("play")
	holder.Kill()
	others()
	holder.Up()
	others()
	// Who takes the channel over may know of the limit by its row alone.
	if n := tries(); n > 2 {
		t.Errorf("after the takeover the chat was tried %d times in all", n)
	}
	for _, row := range f.Query("SELECT d.id, d.state, d.outcome FROM deliveries d JOIN conversations c ON c.id = d.conversation_id WHERE c.conversation = 'cu1'") {
		if row[1] != "pending" {
			t.Errorf("delivery %s of the limited chat is %s (%s)", row[0], row[1], row[2])
		}
	}
	f.Stop()
}

// Far more is asked than can be worked on; all of it waits, and is answered in order.
func TestTenThousandQueuedAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	programtest.Busy(t)
	const users, each = 200, 50
	held := make(chan struct{})
	// The model is silent until all are accepted, which is no fault of its.
	r := programtest.PlannedBy(t, "stall_timeout = \"15m\"\nllm_timeout = \"15m\"\n", func(req llmtest.Request) llmtest.Reply {
		<-held
		return programtest.Echo(req)
	}, crowd(users)...)
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	sent := counted(r.Platform)
	r.Up()
	before, _ := r.Memory()
	for n := range each {
		for u := range users {
			r.Platform.Say(fmt.Sprintf("cu%d", u), fmt.Sprintf("u%d", u), fmt.Sprintf("message %d", n))
		}
	}
	began := time.Now()
	r.Await("all are accepted", 5*time.Minute, func() bool { return r.Platform.Pending() == 0 })
	accepted := time.Since(began)
	if n := r.Count("SELECT count(*) FROM turns WHERE state IN ('queued', 'running')"); n != users*each {
		t.Errorf("%d turns are open", n)
	}
	release()
	began = time.Now()
	for n := int64(100); n <= users*each; n += 100 { // a busy machine takes minutes for all of them
		r.Await(fmt.Sprint(n, " are answered"), time.Minute, func() bool { return sent.Load() >= n })
	}
	most, now := r.Memory()
	t.Logf("%d accepted in %s, answered in %s; memory %d MB before, %d MB at most, %d MB now", users*each,
		accepted.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond), before>>10, most>>10, now>>10)
	if most > 256<<10 {
		t.Errorf("the engine grew to %d MB", most>>10)
	}
	var want []string
	for n := range each {
		want = append(want, fmt.Sprintf("heard: message %d", n))
	}
	for conv, got := range texts(r.Platform) {
		if !slices.Equal(got, want) {
			t.Fatalf("in %s stands %q", conv, got)
		}
	}
}

// A thousand sessions write at once to two engines with 64 workers each.
func TestThousandSessionsAtOnceAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	programtest.Busy(t)
	const users = 1000
	f := programtest.TwoEngines(t, "", crowd(users)...)
	f.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := programtest.Echo(req)
		reply.Delay = 100 * time.Millisecond // a model's time, so that one engine is not enough
		return reply
	})
	sent := counted(f.Platform)
	f.Up()
	began := time.Now()
	for u := range users {
		f.Platform.Say(fmt.Sprintf("cu%d", u), fmt.Sprintf("u%d", u), fmt.Sprintf("I am %d", u))
	}
	f.Await("all are answered", 5*time.Minute, func() bool { return sent.Load() >= users })
	t.Logf("answered after %s", time.Since(began).Round(10*time.Millisecond))
	time.Sleep(time.Second)
	shown := texts(f.Platform)
	for u := range users {
		if got := shown[fmt.Sprintf("cu%d", u)]; !slices.Equal(got, []string{fmt.Sprintf("heard: I am %d", u)}) {
			t.Errorf("u%d reads %q", u, got)
		}
	}
	t.Logf("finished by engine: %v", f.Finished())
	f.Stop()
}

// Five thousand events a second, most of strangers: all are taken in, in bounded
// memory, and who belongs here is served meanwhile.
func TestFloodOfEventsTakesBoundedMemory(t *testing.T) {
	t.Parallel()
	programtest.Busy(t)
	const perSecond, seconds = 5000, 4
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1", "u2")
	r.Up()
	before, _ := r.Memory()
	flooded := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		for n := range perSecond * seconds {
			user := fmt.Sprintf("s%d", n%700)
			r.Platform.Say("c"+user, user, "buy this")
			if n%100 == 99 {
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / perSecond)))
			}
		}
		flooded <- time.Since(began)
	}()
	time.Sleep(time.Second)
	var took []time.Duration
	for n := range 10 {
		began := time.Now()
		text := fmt.Sprint("hello ", n)
		r.Answers("u1", text, "heard: "+text)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	written := <-flooded
	began := time.Now()
	r.Await("all are taken in", 5*time.Minute, func() bool { return r.Platform.Pending() == 0 })
	most, now := r.Memory()
	t.Logf("%d events told in %s, taken in %s later; answers meanwhile after %s to %s; memory %d MB before, %d MB at most, %d MB now",
		perSecond*seconds, written.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond),
		took[0].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), before>>10, most>>10, now>>10)
	if most > 256<<10 {
		t.Errorf("the engine grew to %d MB", most>>10)
	}
	if n := r.Count("SELECT count(*) FROM messages WHERE class = 'stranger'"); n != perSecond*seconds {
		t.Errorf("%d messages of strangers are kept for audit, %d were written", n, perSecond*seconds)
	}
	if n := r.Count("SELECT count(*) FROM turns"); n != 10 {
		t.Errorf("%d turns", n)
	}
}
