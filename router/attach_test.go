package router_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/sessions"
)

// A keyed link reaches the platform while its key is the one that counts.
type keyed struct {
	scripted.Link
	key   string
	valid *atomic.Pointer[string]
}

func (k keyed) refusal() error {
	if *k.valid.Load() != k.key {
		return channels.ErrUnauthorized
	}
	return nil
}

func (k keyed) Poll(ctx context.Context, confirm []int64) ([]scripted.Update, error) {
	if err := k.refusal(); err != nil {
		return nil, err
	}
	return k.Link.Poll(ctx, confirm)
}

func (k keyed) Post(ctx context.Context, post scripted.Post) (channels.MessageID, error) {
	if err := k.refusal(); err != nil {
		return "", err
	}
	return k.Link.Post(ctx, post)
}

// attached is the rig's channel as a value of its own, which connects with that key.
func (r *rig) attached(key string, valid *atomic.Pointer[string]) router.Attached {
	return router.Attached{
		Channel: scripted.Over(r.name, keyed{r.platform, key, valid}, r.script, slog.New(slog.DiscardHandler)),
		Config:  r.channel,
	}
}

// again is the rig's channel as another value.
func (r *rig) again() router.Attached {
	return router.Attached{Channel: channelstest.Scripted(r.name, r.platform, r.script), Config: r.channel}
}

func (r *rig) attach(at router.Attached) {
	r.t.Helper()
	if err := r.router.Attach(at); err != nil {
		r.t.Fatal(err)
	}
}

// detach detaches the channel and waits until nothing of it is under way.
func (r *rig) detach() {
	r.t.Helper()
	r.router.Detach(r.name)
	r.until("the channel is gone", func() bool { _, known := r.router.Channels.Rules(r.name); return !known })
	r.until("its lease is given back", func() bool { return !r.router.Lines.Connection(r.name).Holds() })
}

// answered waits until the messages 0 to n-1, said in each of the conversations, are answered,
// and wants each answer once and in order.
func (r *rig) answered(n int, convs ...string) {
	r.t.Helper()
	r.await(n * len(convs))
	want := make([]string, n)
	for i := range want {
		want[i] = "re: " + strconv.Itoa(i)
	}
	for _, c := range convs {
		r.same("conversation "+c+" reads", texts(r.platform.SentIn(c)), want)
	}
	r.until("every event is confirmed", func() bool { return r.platform.Pending() == 0 })
	r.hasTurns(n * len(convs))
	if n := r.platform.MostPolls(); n != 1 {
		r.t.Errorf("%d connections at once", n)
	}
}

func TestChannelDetachedInTrafficAndAttachedAgainLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		convs := []string{"c1", "c2", "c3"}
		const n = 30
		r.start()
		say := func(from, to int) {
			for i := from; i < to; i++ {
				for _, c := range convs {
					r.platform.Say(c, "ada", strconv.Itoa(i))
				}
			}
		}
		say(0, n/2)
		r.await(3)
		r.detach()
		if s := r.router.Lines.Statuses(); len(s) != 0 {
			t.Errorf("it is said to be %+v", s)
		}
		turns, sent := len(r.turns()), len(r.platform.Tries())
		say(n/2, n)
		time.Sleep(300 * time.Millisecond)
		if is := len(r.turns()); is != turns || len(r.platform.Tries()) != sent {
			t.Errorf("detached, it took %d messages in and sent %d times", is-turns, len(r.platform.Tries())-sent)
		}
		r.attach(r.again())
		r.answered(n, convs...)
	})
}

// The send under way at the detach is settled, and not made again.
func TestSendUnderWayAtTheDetachIsSettled(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.platform.Next(channelstest.Fault{Delay: 700 * time.Millisecond})
		r.start()
		r.platform.Say("c1", "ada", "0")
		r.until("it is on its way", func() bool { return len(r.platform.Tries()) == 1 })
		r.router.Detach(r.name)
		r.await(1)
		r.until("it is settled", func() bool { return len(r.deliveries("sent")) == 1 })
		r.detach()
		r.attach(r.again())
		r.platform.Say("c1", "ada", "1")
		r.answered(2, "c1")
		if n := len(r.platform.Tries()); n != 2 {
			t.Errorf("%d sends", n)
		}
	})
}

// What is to be sent on a platform that is away stays, and goes out when the channel is
// attached again.
func TestChannelDetachedWhileItsPlatformIsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.until("it is connected", r.connected)
		if err := r.platform.Down(true); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r.accept(event(i, "c1", "ada", strconv.Itoa(i)))
		}
		r.until("the answers wait", func() bool { return len(r.deliveries("pending")) == 3 })
		r.detach()
		if _, err := r.router.Accept(t.Context(), []channels.Event{event(9, "c1", "ada", "9")}); err == nil {
			t.Error("a message was taken in on a channel that is detached")
		}
		if err := r.platform.Down(false); err != nil {
			t.Fatal(err)
		}
		r.attach(r.again())
		r.answered(3, "c1")
	})
}

func TestChannelIsReplacedByOneWithAnotherKey(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var valid atomic.Pointer[string]
		one, two := "one", "two"
		valid.Store(&one)
		r.wrap = func(channels.Channel) channels.Channel { return r.attached("one", &valid).Channel }
		release := r.brain.held("2")
		r.start()
		for i := range 2 {
			r.platform.Say("c1", "ada", strconv.Itoa(i))
		}
		r.await(2)
		r.platform.Say("c1", "ada", "2")
		r.until("a turn runs", func() bool { return r.brain.ran("2") == 1 })
		valid.Store(&two)
		r.platform.Drop()
		r.until("the former key is refused", func() bool { return !r.connected() })
		for i := 3; i < 6; i++ {
			r.platform.Say("c1", "ada", strconv.Itoa(i))
		}
		began := time.Now()
		r.attach(r.attached("two", &valid))
		release()
		r.answered(6, "c1")
		testkit.Within(t, time.Since(began), 4*time.Second) // the former key had earned a pause of 5 s
		if n := r.brain.ran("2"); n != 1 {
			t.Errorf("the turn that ran meanwhile was run %d times", n)
		}
	})
}

// A turn that runs at the detach may end within the grace and is answered; another is handed
// back, and run when the channel is attached again.
func TestTurnThatRunsAtTheDetach(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		t.Run("ends in time", func(t *testing.T) {
			release := r.brain.held("0")
			r.start()
			r.begins("c1", "ada", "0")
			r.accept(event(91, "c1", "ada", "1"))
			r.router.Detach(r.name)
			r.until("it is detached", func() bool { return len(r.router.Channels.List()) == 0 })
			if _, known := r.router.Channels.Rules(r.name); !known {
				t.Error("the turn that runs has no rights left")
			}
			release()
			r.shows(1, "re: 0")
			r.detach()
			if r.brain.ran("1") != 0 {
				t.Error("the next turn began on a channel that is detached")
			}
		})
		t.Run("does not", func(t *testing.T) {
			release := r.brain.held("2")
			r.attach(r.again())
			r.begins("c1", "ada", "2")
			r.accept(event(93, "c1", "ada", "3"))
			r.detach()
			if turns := r.turns(); turns[0].State != "queued" || turns[1].State != "running" {
				t.Errorf("the turns are %q", r.outcomes())
			}
			release()
			r.attach(r.again())
			r.answered(4, "c1")
		})
	})
}

// Changed rules hold from the next event and the next decision on, with the same connection.
func TestChangedRulesHoldAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.until("it is connected", r.connected)
		since := r.router.Lines.Statuses()[0].Since
		policy := router.NewPolicy(r.roster, r.router.Channels.Rules, router.DefaultPolicyConfig())
		verdict := func() tools.Verdict {
			return policy.Decide(tools.Question{Person: "ada", Channel: r.name, Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}).Verdict
		}
		if v := verdict(); v != tools.Allow {
			t.Errorf("before: %s", v)
		}
		shut := r.channel
		shut.DM, shut.ToolsAllow = "disabled", nil
		if err := r.router.SetRules(r.name, shut); err != nil {
			t.Fatal(err)
		}
		if v := verdict(); v != tools.Refuse {
			t.Errorf("after: %s", v)
		}
		if receipt := r.accept(event(1, "c2", "ada", "hello"))[0]; !receipt.Silent {
			t.Errorf("taken in where nobody may write: %+v", receipt)
		}
		if err := r.router.SetRules(r.name, r.channel); err != nil {
			t.Fatal(err)
		}
		r.platform.Say("c1", "ada", "0")
		r.shows(1, "re: 0")
		if s := r.router.Lines.Statuses()[0]; !s.Since.Equal(since) || r.platform.MostPolls() != 1 {
			t.Errorf("it connected anew: %+v", s)
		}
		bad := r.channel
		bad.Rate = "much"
		if err := r.router.SetRules(r.name, bad); err == nil {
			t.Error("a rate that is none is taken")
		}
		if err := r.router.SetRules("elsewhere", shut); err == nil {
			t.Error("a channel that is not there has rules")
		}
		if err := r.router.Attach(router.Attached{Channel: &named{pane{}, r.name}}); err == nil {
			t.Error("the channel becomes one of another kind")
		}
	})
}

// A named is a pane with a name of its own.
type named struct {
	pane
	name string
}

func (n *named) Name() string { return n.name }

// The other engine takes the channel of one that detached it, with all that is left to do.
func TestDetachedChannelGoesToAnotherEngine(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	startBoth(a, b)
	release := a.brain.held("0")
	defer release()
	a.begins("c1", "ada", "0")
	a.detach()
	a.until("the other engine has the channel", b.connected)
	a.platform.Say("c1", "ada", "1")
	b.answered(2, "c1")
	if a.brain.ran("0") != 1 || b.brain.ran("0") != 1 || a.brain.ran("1") != 0 {
		t.Errorf("the turns ran %d and %d times here, %d and %d there", a.brain.ran("0"), a.brain.ran("1"), b.brain.ran("0"), b.brain.ran("1"))
	}
	a.attach(a.again())
	b.end()
	a.until("the former has it again", a.connected)
}

// Whatever is done with the channel while messages come, and however often the program
// stops, each message is answered once and in order, by one connection at a time; nothing
// is left behind that runs.
func TestChannelAttachedAndDetachedAtRandom(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n, steps = 40, 40
		convs := []string{"c1", "c2", "c3"}
		pprof.Do(t.Context(), pprof.Labels("attach", t.Name()), func(context.Context) { r.start() })
		var talk sync.WaitGroup
		talk.Go(func() {
			for i := range n {
				for _, c := range convs {
					r.platform.Say(c, "ada", strconv.Itoa(i))
				}
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
		for range steps {
			switch rand.N(6) {
			case 0:
				r.router.Detach(r.name)
			case 1:
				r.detach()
			case 2:
				_ = r.router.SetRules(r.name, r.channel) // where it is attached
			case 3:
				if rand.N(4) == 0 {
					r.end()
					pprof.Do(t.Context(), pprof.Labels("attach", t.Name()), func(context.Context) { r.start() })
				}
			default:
				r.attach(r.again())
			}
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		r.attach(r.again())
		talk.Wait()
		r.answered(n, convs...)
		r.until("it is connected", r.connected)
		r.until("what ran for the channel has ended", func() bool { return r.mostAlike() == 1 })
	})
}

// mostAlike is how many goroutines that serve the test's channels do the same, at most.
func (r *rig) mostAlike() (most int) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		r.t.Fatal(err)
	}
	for _, group := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(group, fmt.Sprintf("%q", r.t.Name())) && strings.Contains(group, "switchboard/router/outbox/delivery.") {
			count, _ := strconv.Atoi(goroutineCount.FindString(group))
			most = max(most, count)
		}
	}
	return most
}

var goroutineCount = regexp.MustCompile(`(?m)^\d+`)
