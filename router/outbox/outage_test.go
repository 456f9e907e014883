package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// An outage is the way to a platform that is away for a time, by what it does with calls then.
type outage struct {
	scripted.Link
	does string // with calls; "limit": with searches alone

	mu   sync.Mutex
	from time.Time // zero: it is not away yet
	to   time.Time
	next bool // it goes away as soon as the next part took effect
	last time.Duration
}

var errOutage = errors.New("nobody knows what became of it")

// goes has it be away for so long from now on, or from when the next part took effect.
func (a *outage) goes(last time.Duration, next bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next, a.last = next, last
	if !next {
		a.from, a.to = time.Now(), time.Now().Add(last)
	}
}

// meet is what becomes of a call: nil, it goes through.
func (a *outage) meet(ctx context.Context) error {
	a.mu.Lock()
	left := time.Until(a.to)
	a.mu.Unlock()
	if left <= 0 || a.does == "limit" {
		return nil
	}
	switch a.does {
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	case "refused":
		return channels.ErrNotConnected
	case "slow":
		select {
		case <-time.After(7 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errOutage // the connection was closed, or a gateway answered
}

func (a *outage) Poll(ctx context.Context, confirm []int64) ([]scripted.Update, error) {
	if err := a.meet(ctx); err != nil {
		return nil, err
	}
	return a.Link.Poll(ctx, confirm)
}

func (a *outage) Post(ctx context.Context, p scripted.Post) (channels.MessageID, error) {
	if err := a.meet(ctx); err != nil {
		return "", err
	}
	id, err := a.Link.Post(ctx, p)
	a.mu.Lock()
	goes := a.next
	a.mu.Unlock()
	if goes {
		a.goes(a.last, false)
		if err := a.meet(ctx); err != nil && a.does != "refused" {
			return "", err
		}
		return "", errOutage
	}
	return id, err
}

func (a *outage) Change(ctx context.Context, c scripted.Change) (scripted.Reply, error) {
	a.mu.Lock()
	left := time.Until(a.to)
	a.mu.Unlock()
	if a.does == "limit" && c.Op == scripted.OpFind && left > 0 {
		return scripted.Reply{}, &channels.RateLimitError{Op: "find", RetryAfter: left}
	}
	if c.Op != scripted.OpToast && c.Op != scripted.OpFetch {
		if err := a.meet(ctx); err != nil {
			return scripted.Reply{}, err
		}
	}
	return a.Link.Change(ctx, c)
}

// goingAway puts the platform of r behind a way that can be cut.
func (r *rig) goingAway(does string) *outage {
	a := &outage{Link: r.Platform, does: does}
	r.Script.Rich, r.Script.DraftEvery = true, 0
	r.Wrap = func(channels.Channel) channels.Channel {
		return scripted.Over(r.Name, a, r.Script, slog.New(slog.DiscardHandler))
	}
	return a
}

const outageChats = 8

// heldUntil has turns wait for their model until release is called.
func (r *rig) heldUntil() (release func()) {
	held := make(chan struct{})
	r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
		<-held
		return "re: " + turn.Message.Text, nil
	}
	return func() { close(held) }
}

// everyAnswer waits until every conversation has its answer, or the notice that names it, and
// nothing is to be sent any more: each is seen once, or again and marked, or named.
func (r *rig) everyAnswer(within time.Duration, exact bool) {
	r.T.Helper()
	open := func() (n int) {
		for _, d := range r.Deliveries("") {
			if d.State != "sent" && (d.State != "unknown" || d.Outcome != "unknown_twice" && d.Outcome != "cannot_ask") {
				n++
			}
		}
		return n
	}
	for began := time.Now(); len(r.Deliveries("")) < outageChats || open() > 0; time.Sleep(5 * time.Second) {
		if time.Since(began) > within {
			r.T.Fatalf("after %s %d of %d parts are open", within, open(), len(r.Deliveries("")))
		}
	}
	time.Sleep(time.Minute) // for what is said of it
	for i := range outageChats {
		shown := routertest.Texts(r.Platform.SentIn(fmt.Sprint("c", i)))
		plain, marked, named := 0, 0, 0
		for _, text := range shown {
			switch {
			case strings.Contains(text, "may not have reached you"):
				named++
			case strings.HasPrefix(text, "(repeated) re: "):
				marked++
			case strings.HasPrefix(text, "re: "):
				plain++
			}
		}
		if plain > 1 || marked > 1 || plain+marked+named == 0 || exact && (plain != 1 || marked+named > 0) {
			r.T.Errorf("c%d reads %q", i, shown)
		}
	}
}

// The platform is away for a time, in every way, before an answer is sent and while it is: each
// answer is seen once, or again and marked, or named in a notice.
func TestOutageLosesNoAnswer(t *testing.T) {
	t.Parallel()
	for _, last := range []time.Duration{time.Minute, 5 * time.Minute} {
		for _, can := range []string{"repeat", "find", "nonce and find"} {
			for _, does := range []string{"hang", "answer 502", "refused", "slow"} { // a closed connection is to the router what a 502 is
				for _, when := range []string{"before", "during"} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s a send", last, can, does, when), func(t *testing.T) {
						inTime(t, func(t *testing.T, r *rig) {
							a := r.goingAway(does)
							r.Script.Finder = strings.HasSuffix(can, "find")
							if r.Script.Deduper = strings.HasPrefix(can, "nonce"); r.Script.Deduper {
								r.Script.Window = 2 * time.Minute
								r.Platform.Dedupe(2 * time.Minute)
							}
							release := r.heldUntil()
							r.Start()
							for i := range outageChats {
								r.Platform.Say(fmt.Sprint("c", i), "ada", "hello")
							}
							r.Within(10*time.Second, "all are thought about", func() bool { return r.Brain.Ran("hello") == outageChats })
							a.goes(last, when == "during")
							release()
							r.everyAnswer(last+5*time.Minute, can != "repeat")
						})
					})
				}
			}
		}
	}
}

// The program is started again in the middle of an outage: the one repeat is not spent in it.
func TestRestartInAnOutageDoesNotSpendTheRepeat(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		a := r.goingAway("answer 502")
		release := r.heldUntil()
		r.Start()
		for i := range outageChats {
			r.Platform.Say(fmt.Sprint("c", i), "ada", "hello")
		}
		r.Within(10*time.Second, "all are thought about", func() bool { return r.Brain.Ran("hello") == outageChats })
		a.goes(5*time.Minute, false)
		release()
		for range 3 {
			time.Sleep(45 * time.Second)
			r.End()
			r.Start()
		}
		r.everyAnswer(10*time.Minute, false)
		if lost := r.Deliveries("unknown"); len(lost) > 0 {
			t.Errorf("%d answers were sent twice into the same outage", len(lost))
		}
	})
}

// A search that the platform puts off is made later: what cannot be asked for a while is not given up.
func TestPartIsLookedForAsSoonAsThePlatformLets(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		a := r.goingAway("limit")
		a.to = time.Now().Add(2 * time.Minute)
		r.Script.Finder = true
		r.Start()
		r.Platform.Next(channelstest.Fault{LoseAnswer: true})
		for i := range outageChats {
			r.Platform.Say(fmt.Sprint("c", i), "ada", "hello")
		}
		r.everyAnswer(5*time.Minute, true)
	})
}

// What is sent again under its nonce is looked for once the nonce is too old, however late it
// comes to be sent: here the way is cut for longer than that, from when the answer was shown.
func TestOldNonceIsLookedUpDirectlyBeforeTheSend(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted ", restarts), func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				a := r.goingAway("refused")
				r.Script.Finder, r.Script.Deduper, r.Script.Window = true, true, 2*time.Minute
				r.Platform.Dedupe(2 * time.Minute)
				r.Start()
				a.goes(150*time.Second, true)
				r.Platform.Say("c1", "ada", "hello")
				if restarts {
					time.Sleep(30 * time.Second)
					r.End()
					r.Start()
				}
				r.Within(10*time.Minute, "it is settled", func() bool { return len(r.Deliveries("sent")) == 1 })
				if shown := routertest.Texts(r.Platform.SentIn("c1")); !slices.Equal(shown, []string{"re: hello"}) {
					t.Errorf("shown %q", shown)
				}
			})
		})
	}
}

// What was sent twice and not heard of is named in its conversation once the platform takes messages,
// and to the admins, once each, also by a program that was started meanwhile. /resend sends it.
func TestWhatEndsUnknownIsNamedAndSentAgain(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarted ", restarts), func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				a := r.goingAway("answer 502")
				r.Start()
				r.Platform.Say("c1", "ada", "hello") // an admin's own chat
				r.SettledAs("sent", 1)
				lose := func(p scripted.Post) channelstest.Fault {
					return channelstest.Fault{LoseRequest: p.Conversation == "c2" && strings.HasSuffix(p.Text, "re: one")}
				}
				r.Platform.OnSend(lose)
				given := time.Now().In(must(time.LoadLocation("Europe/Rome"))).Format("15:04 MST")
				r.Platform.Say("c2", "bob", "one")
				for began := time.Now(); !slices.Contains(outcomes(r), "unknown_twice"); time.Sleep(10 * time.Millisecond) {
					if time.Since(began) > time.Minute {
						t.Fatalf("%+v", r.Deliveries(""))
					}
				}
				a.goes(2*time.Minute, false)
				time.Sleep(time.Minute)
				if n := len(r.Platform.SentIn("c2")); n > 0 {
					t.Fatalf("%q is shown in the outage", routertest.Texts(r.Platform.SentIn("c2")))
				}
				if restarts {
					r.End()
					r.Start()
				}
				r.Within(3*time.Minute, "it is named", func() bool { return len(r.Platform.SentIn("c2")) == 1 })
				time.Sleep(10 * time.Minute)
				r.End()
				r.Start()
				time.Sleep(10 * time.Minute)
				r.Same("c2 reads", routertest.Texts(r.Platform.SentIn("c2")), []string{"An answer from " + given + " may not have reached you. /resend sends it again."})
				if alerts := routertest.Texts(r.Platform.SentIn("c1"))[1:]; len(alerts) != 1 || !strings.Contains(alerts[0], "on play, in c2, may not have arrived") {
					t.Errorf("the admin reads %q", alerts)
				}
				r.Platform.OnSend(nil)
				for _, want := range []string{"I'll send one answer again.", "There is nothing to send again"} {
					r.Platform.Say("c2", "bob", "/resend")
					r.Within(time.Minute, want, func() bool {
						return strings.Contains(strings.Join(routertest.Texts(r.Platform.SentIn("c2")), "\n"), want)
					})
				}
				if shown := routertest.Texts(r.Platform.SentIn("c2")); len(shown) != 4 || shown[1] != "(22 minutes late) (repeated) re: one" {
					t.Errorf("c2 reads %q", shown)
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
