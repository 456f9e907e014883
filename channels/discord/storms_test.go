package discord

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
	"switchboard/internal/retry"
)

// mostAnHour is how many sessions may be begun in an hour, whatever the platform does.
const mostAnHour = 20

// clockRig is a platform and a bot in a bubble: hours of them pass at once, at the pace that people have.
type clockRig struct {
	*discordtest.Server
	c     *Client
	sink  *channelstest.Sink
	ada   discordtest.User
	ended atomic.Pointer[error] // what Run returned last
	runs  atomic.Int64
}

func newClockRig(t *testing.T) *clockRig {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))) // the platform's numbers begin in 2015
	s, err := discordtest.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := &clockRig{Server: s, sink: channelstest.NewSink(), ada: s.AddUser("Ada")}
	s.AddChannel(s.AddGuild("Friends", r.ada), "general")
	r.begin(t)
	return r
}

// begin makes the channel as another process would.
func (r *clockRig) begin(t *testing.T) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Token, cfg.APIURL = channelstest.Literal(r.Token()), r.APIURL()
	r.c = New("dc", cfg, slog.New(slog.DiscardHandler))
	r.c.Wire.Through(r.Dial)
	t.Cleanup(r.c.Wire.Close)
}

// keep runs the channel again whenever Run ends, with the pauses that the router makes, until the returned function
// is called.
func (r *clockRig) keep(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for fails := 0; ctx.Err() == nil; fails++ {
			began := time.Now()
			err := r.c.Run(ctx, r.sink)
			r.ended.Store(&err)
			r.runs.Add(1)
			if time.Since(began) > time.Second {
				fails = 0
			}
			wait := retry.Pause(fails, 500*time.Millisecond, 15*time.Second)
			if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
				wait = max(wait, limited.RetryAfter)
			}
			retry.Sleep(ctx, wait)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (r *clockRig) said() string {
	if err := r.ended.Load(); err != nil && *err != nil {
		return (*err).Error()
	}
	return ""
}

// worst is the most sessions asked for within an hour, and the shortest time between two.
func worst(asked []time.Time) (most int, least time.Duration) {
	least = time.Hour
	for i, from := range asked {
		n := 0
		for _, at := range asked[i:] {
			if at.Sub(from) < time.Hour {
				n++
			}
		}
		most = max(most, n)
		if i > 0 {
			least = min(least, from.Sub(asked[i-1]))
		}
	}
	return most, least
}

// Whatever the platform does to sessions, few are begun, and none is called connected.
func TestStormsBeginFewSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		storm discordtest.Storm
		stops bool
	}{
		"4000 instead of READY":             {discordtest.Storm{Code: 4000}, false},
		"4000 after READY":                  {discordtest.Storm{Code: 4000, After: time.Millisecond}, false},
		"4000 half a minute after READY":    {discordtest.Storm{Code: 4000, After: 30 * time.Second}, false},
		"4009 half a minute after READY":    {discordtest.Storm{Code: 4009, After: 30 * time.Second}, false},
		"not valid":                         {discordtest.Storm{}, false},
		"not valid after READY":             {discordtest.Storm{After: time.Millisecond}, false},
		"not valid just before it would do": {discordtest.Storm{After: 59 * time.Second}, false},
		"4010":                              {discordtest.Storm{Code: 4010}, true},
		"4011":                              {discordtest.Storm{Code: 4011}, true},
		"4012":                              {discordtest.Storm{Code: 4012}, true},
		"4013":                              {discordtest.Storm{Code: 4013}, true},
		"4014":                              {discordtest.Storm{Code: 4014}, true},
		"4011 after READY":                  {discordtest.Storm{Code: 4011, After: time.Millisecond}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newClockRig(t)
				r.Storm(&c.storm)
				stop := r.keep(t)
				connected := 0
				for began := time.Now(); time.Since(began) < 2*time.Hour; time.Sleep(10 * time.Second) {
					if r.c.Connected() && time.Since(began) > time.Minute {
						connected++
					}
				}
				asked := r.Asked()
				most, least := worst(asked)
				t.Logf("%d sessions in 2 h, %d within one, at least %s apart; %s", len(asked), most, least, r.said())
				switch {
				case len(asked) == 0 || most > mostAnHour || least < 5*time.Second:
					t.Errorf("%d sessions were begun within an hour, %s apart", most, least)
				case c.stops && (len(asked) > 2 || !strings.Contains(r.said(), "stopped")):
					t.Errorf("%d sessions were begun; it says %q", len(asked), r.said())
				case connected > 0:
					t.Errorf("it is called connected, %d times of 714", connected)
				}
				r.Storm(nil)
				if c.stops {
					stop()
					r.begin(t) // as somebody who read it would
					r.keep(t)
				}
				time.Sleep(11 * time.Minute)
				if !r.Connected() || !r.c.Connected() {
					t.Fatalf("it does not come back: %s", r.said())
				}
				took := len(r.sink.Events())
				r.Say(r.ada.ID, "hello")
				time.Sleep(time.Second)
				if len(r.sink.Events()) != took+1 {
					t.Error("what is said then does not come")
				}
			})
		})
	}
}

// A first session is good as soon as it is there, and one that is resumed after it held, too.
func TestOrdinaryConnectionsAreGoodAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClockRig(t)
		began := time.Now()
		r.keep(t)
		time.Sleep(time.Second)
		if !r.c.Connected() {
			t.Fatal("the first session is not good after a second")
		}
		time.Sleep(2 * time.Minute)
		for i := range 20 {
			r.DropGateway()
			time.Sleep(time.Second)
			if r.Resumes() != i+1 || !r.c.Connected() {
				t.Fatalf("it is not resumed within a second: %d times; %s", r.Resumes(), r.said())
			}
			time.Sleep(61 * time.Second)
		}
		if asked := r.Asked(); len(asked) != 1 || asked[0].Sub(began) > time.Second {
			t.Errorf("%d sessions were begun, the first after %s", len(asked), asked[0].Sub(began))
		}
		r.Invalidate(false)
		time.Sleep(10 * time.Second)
		if len(r.Asked()) != 2 || !r.c.Connected() {
			t.Errorf("another session is begun within seconds where one is not valid any more: %d; %s", len(r.Asked()), r.said())
		}
	})
}

// A fifth of the day's sessions is kept for who restarts the program by hand; one that is restarted again and again
// does not get at it.
func TestAFifthOfTheSessionsIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClockRig(t)
		r.Starts(203)
		r.Storm(&discordtest.Storm{})
		stop := r.keep(t)
		time.Sleep(time.Hour)
		if n := len(r.Asked()); n != 3 || !strings.Contains(r.said(), "200 of the day's 1000 session starts are left") {
			t.Fatalf("%d sessions were begun; it says %q", n, r.said())
		}
		stop()
		for range 100 { // what restarts it does not wait
			r.begin(t)
			stop = r.keep(t)
			time.Sleep(20 * time.Second)
			stop()
		}
		if n := len(r.Asked()); n != 3 {
			t.Fatalf("%d sessions were begun by restarts", n-3)
		}
		r.begin(t)
		r.keep(t)
		time.Sleep(2 * time.Minute)
		if n := len(r.Asked()); n != 4 {
			t.Fatalf("%d sessions were begun after a restart by hand; it says %q", n-3, r.said())
		}
		time.Sleep(20 * time.Hour)
		if n := len(r.Asked()); n != 4 {
			t.Errorf("%d sessions were begun on the same day", n-4)
		}
		r.Storm(nil)
		time.Sleep(5 * time.Hour)
		if !r.c.Connected() || len(r.Asked()) != 5 {
			t.Errorf("on the next day: %d more, connected %t; %s", len(r.Asked())-4, r.c.Connected(), r.said())
		}
	})
}

// A session that cannot be reached is kept, however long that takes: it is resumed where sessions begin, and what
// somebody wrote meanwhile whom nobody heard of comes.
func TestSessionsThatCannotBeReachedAreKept(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*discordtest.Server, bool){
		"refused":                       (*discordtest.Server).CloseDoor,
		"cut right after the handshake": (*discordtest.Server).CutAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newClockRig(t)
				bob := r.AddUser("Bob")
				r.keep(t)
				time.Sleep(2 * time.Minute)
				away(r.Server, true)
				r.DropGateway()
				time.Sleep(10 * time.Second)
				r.Say(bob.ID, "from bob")
				time.Sleep(10 * time.Minute)
				away(r.Server, false)
				time.Sleep(20 * time.Second)
				if got := r.sink.Texts(); !slices.Equal(got, []string{"from bob"}) || len(r.Asked()) != 1 || r.Resumes() != 1 {
					t.Errorf("%q; %d sessions, %d resumed; %s", got, len(r.Asked()), r.Resumes(), r.said())
				}
			})
		})
	}
}

// A session of a former process that is not valid is tried once, also when others after it are not valid.
func TestInvalidSessionsAreTriedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClockRig(t)
		stop := r.keep(t)
		time.Sleep(time.Minute)
		r.Say(r.ada.ID, "one")
		time.Sleep(time.Minute)
		stop()
		r.Forget()
		r.Storm(&discordtest.Storm{})
		r.begin(t)
		r.keep(t)
		time.Sleep(4 * time.Minute)
		if n := r.Invalid(); n != 0 {
			t.Errorf("%d calls were refused", n)
		}
		if n := r.ResumesAsked(); n != 1 {
			t.Errorf("it is tried %d times to resume a session that is not valid", n)
		}
	})
}
