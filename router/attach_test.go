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
	"switchboard/router/routertest"
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
		Channel: scripted.Over(r.Name, keyed{r.Platform, key, valid}, r.Script, slog.New(slog.DiscardHandler)),
		Config:  r.Channel,
	}
}

// again is the rig's channel as another value.
func (r *rig) again() router.Attached {
	return router.Attached{Channel: channelstest.Scripted(r.Name, r.Platform, r.Script), Config: r.Channel}
}

func (r *rig) attach(at router.Attached) {
	r.T.Helper()
	if err := r.Router.Attach(at); err != nil {
		r.T.Fatal(err)
	}
}

// detach detaches the channel and waits until nothing of it is under way.
func (r *rig) detach() {
	r.T.Helper()
	r.Router.Detach(r.Name)
	r.Until("the channel is gone", func() bool { return r.Router.Channels.Rules(r.Name) == nil })
	r.Until("its lease is given back", func() bool { return !r.Router.Connections.Connection(r.Name).Holds() })
}

// answered waits until the messages 0 to n-1, said in each of the conversations, are answered,
// and wants each answer once and in order.
func (r *rig) answered(n int, convs ...string) {
	r.T.Helper()
	r.Await(n * len(convs))
	want := make([]string, n)
	for i := range want {
		want[i] = "re: " + strconv.Itoa(i)
	}
	for _, c := range convs {
		r.Same("conversation "+c+" reads", routertest.Texts(r.Platform.SentIn(c)), want)
	}
	r.Until("every event is confirmed", func() bool { return r.Platform.Pending() == 0 })
	r.HasTurns(n * len(convs))
	if n := r.Platform.MostPolls(); n != 1 {
		r.T.Errorf("%d connections at once", n)
	}
}

func TestChannelDetachedInTrafficAndAttachedAgainLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		convs := []string{"c1", "c2", "c3"}
		const n = 30
		r.Start()
		say := func(from, to int) {
			for i := from; i < to; i++ {
				for _, c := range convs {
					r.Platform.Say(c, "ada", strconv.Itoa(i))
				}
			}
		}
		say(0, n/2)
		r.Await(3)
		r.detach()
		if s := r.Router.Connections.Statuses(); len(s) != 0 {
			t.Errorf("it is said to be %+v", s)
		}
		turns, sent := len(r.Turns()), len(r.Platform.Tries())
		say(n/2, n)
		time.Sleep(300 * time.Millisecond)
		if is := len(r.Turns()); is != turns || len(r.Platform.Tries()) != sent {
			t.Errorf("detached, it took %d messages in and sent %d times", is-turns, len(r.Platform.Tries())-sent)
		}
		r.attach(r.again())
		r.answered(n, convs...)
	})
}

// The send under way at the detach is settled, and not made again.
func TestSendUnderWayAtTheDetachIsSettled(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Platform.Next(channelstest.Fault{Delay: 700 * time.Millisecond})
		r.Start()
		r.Platform.Say("c1", "ada", "0")
		r.Until("it is on its way", func() bool { return len(r.Platform.Tries()) == 1 })
		r.Router.Detach(r.Name)
		r.Await(1)
		r.Until("it is settled", func() bool { return len(r.Deliveries("sent")) == 1 })
		r.detach()
		r.attach(r.again())
		r.Platform.Say("c1", "ada", "1")
		r.answered(2, "c1")
		if n := len(r.Platform.Tries()); n != 2 {
			t.Errorf("%d sends", n)
		}
	})
}

// What is to be sent on a platform that is away stays, and goes out when the channel is
// attached again.
func TestChannelDetachedWhileItsPlatformIsAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Until("it is connected", r.Connected)
		if err := r.Platform.Down(true); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r.Accept(routertest.Event(i, "c1", "ada", strconv.Itoa(i)))
		}
		r.Until("the answers wait", func() bool { return len(r.Deliveries("pending")) == 3 })
		r.detach()
		if _, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(9, "c1", "ada", "9")}); err == nil {
			t.Error("a message was taken in on a channel that is detached")
		}
		if err := r.Platform.Down(false); err != nil {
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
		r.Wrap = func(channels.Channel) channels.Channel { return r.attached("one", &valid).Channel }
		release := r.Brain.Held("2")
		r.Start()
		for i := range 2 {
			r.Platform.Say("c1", "ada", strconv.Itoa(i))
		}
		r.Await(2)
		r.Platform.Say("c1", "ada", "2")
		r.Until("a turn runs", func() bool { return r.Brain.Ran("2") == 1 })
		valid.Store(&two)
		r.Platform.Drop()
		r.Until("the former key is refused", func() bool { return !r.Connected() })
		for i := 3; i < 6; i++ {
			r.Platform.Say("c1", "ada", strconv.Itoa(i))
		}
		began := time.Now()
		r.attach(r.attached("two", &valid))
		r.Until("the new key is taken", r.Connected)
		testkit.Within(t, time.Since(began), 4*time.Second) // the former key had earned a pause of 5 s
		release()
		r.answered(6, "c1")
		if n := r.Brain.Ran("2"); n != 1 {
			t.Errorf("the turn that ran meanwhile was run %d times", n)
		}
	})
}

// A turn that runs at the detach may end within the grace and is answered; another is handed
// back, and run when the channel is attached again.
func TestTurnThatRunsAtTheDetach(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		t.Run("ends in time", func(t *testing.T) {
			release := r.Brain.Held("0")
			r.Start()
			r.Begins("c1", "ada", "0")
			r.Accept(routertest.Event(91, "c1", "ada", "1"))
			r.Router.Detach(r.Name)
			r.Until("it is detached", func() bool { return len(r.Router.Channels.List()) == 0 })
			if r.Router.Channels.Rules(r.Name) == nil {
				t.Error("the turn that runs has no rights left")
			}
			release()
			r.Shows(1, "re: 0")
			r.detach()
			if r.Brain.Ran("1") != 0 {
				t.Error("the next turn began on a channel that is detached")
			}
		})
		t.Run("does not", func(t *testing.T) {
			release := r.Brain.Held("2")
			r.attach(r.again())
			r.Begins("c1", "ada", "2")
			r.Accept(routertest.Event(93, "c1", "ada", "3"))
			r.detach()
			if turns := r.Turns(); turns[0].State != "queued" || turns[1].State != "running" {
				t.Errorf("the turns are %q", r.Outcomes())
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
		r.Start()
		r.Until("it is connected", r.Connected)
		since := r.Router.Connections.Statuses()[0].Since
		policy := router.NewPolicy(r.Roster, r.Router.Channels.Rules, router.DefaultPolicyConfig())
		verdict := func() tools.Verdict {
			return policy.Decide(tools.Question{Person: "ada", Channel: r.Name, Mode: sessions.ModeAct, Tool: "time", Effect: tools.EffectRead}).Verdict
		}
		if v := verdict(); v != tools.Allow {
			t.Errorf("before: %s", v)
		}
		shut := r.Channel
		shut.DM, shut.ToolsAllow = "disabled", nil
		if err := r.Router.SetRules(r.Name, shut); err != nil {
			t.Fatal(err)
		}
		if v := verdict(); v != tools.Refuse {
			t.Errorf("after: %s", v)
		}
		if receipt := r.Accept(routertest.Event(1, "c2", "ada", "hello"))[0]; !receipt.Silent {
			t.Errorf("taken in where nobody may write: %+v", receipt)
		}
		if err := r.Router.SetRules(r.Name, r.Channel); err != nil {
			t.Fatal(err)
		}
		r.Platform.Say("c1", "ada", "0")
		r.Shows(1, "re: 0")
		if s := r.Router.Connections.Statuses()[0]; !s.Since.Equal(since) || r.Platform.MostPolls() != 1 {
			t.Errorf("it connected again: %+v", s)
		}
		bad := r.Channel
		bad.Rate = "much"
		if err := r.Router.SetRules(r.Name, bad); err == nil {
			t.Error("a rate that is none is taken")
		}
		if err := r.Router.SetRules("elsewhere", shut); err == nil {
			t.Error("a channel that is not there has rules")
		}
		if err := r.Router.Attach(router.Attached{Channel: &named{pane{}, r.Name}}); err == nil {
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
	release := a.Brain.Held("0")
	defer release()
	routertest.StartBusy(a.Rig, b.Rig, "c1", "ada", "0")
	a.detach()
	a.Until("the other engine has the channel", b.Connected)
	a.Platform.Say("c1", "ada", "1")
	b.answered(2, "c1")
	if a.Brain.Ran("0") != 1 || b.Brain.Ran("0") != 1 || a.Brain.Ran("1") != 0 {
		t.Errorf("the turns ran %d and %d times here, %d and %d there", a.Brain.Ran("0"), a.Brain.Ran("1"), b.Brain.Ran("0"), b.Brain.Ran("1"))
	}
	a.attach(a.again())
	b.End()
	a.Until("the former has it again", a.Connected)
}

// Whatever is done with the channel while messages come, and however often the program
// stops, each message is answered once and in order, by one connection at a time; nothing
// is left behind that runs.
func TestChannelAttachedAndDetachedAtRandom(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n, steps = 40, 40
		convs := []string{"c1", "c2", "c3"}
		pprof.Do(t.Context(), pprof.Labels("attach", t.Name()), func(context.Context) { r.Start() })
		var talk sync.WaitGroup
		talk.Go(func() {
			for i := range n {
				for _, c := range convs {
					r.Platform.Say(c, "ada", strconv.Itoa(i))
				}
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
		for range steps {
			switch rand.N(6) {
			case 0:
				r.Router.Detach(r.Name)
			case 1:
				r.detach()
			case 2:
				_ = r.Router.SetRules(r.Name, r.Channel) // where it is attached
			case 3:
				if rand.N(4) == 0 {
					r.End()
					pprof.Do(t.Context(), pprof.Labels("attach", t.Name()), func(context.Context) { r.Start() })
				}
			default:
				r.attach(r.again())
			}
			time.Sleep(rand.N(60 * time.Millisecond))
		}
		r.attach(r.again())
		talk.Wait()
		r.answered(n, convs...)
		r.Until("it is connected", r.Connected)
		r.Until("what ran for the channel has ended", func() bool { return r.mostAlike() == 1 })
	})
}

// mostAlike is how many goroutines that serve the test's channels do the same, at most.
func (r *rig) mostAlike() (most int) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		r.T.Fatal(err)
	}
	for _, group := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(group, fmt.Sprintf("%q", r.T.Name())) && strings.Contains(group, "switchboard/router/outbox/delivery.") {
			count, _ := strconv.Atoi(goroutineCount.FindString(group))
			most = max(most, count)
		}
	}
	return most
}

var goroutineCount = regexp.MustCompile(`(?m)^\d+`)
