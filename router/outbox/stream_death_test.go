package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// A drafting ledger is that of a program that dies at one of the steps by which a
// draft is shown: what the step commits is the last thing it did.
type drafting struct {
	router.Store
	at   string // the step; empty: it lives on
	dead *atomic.Bool
	mu   *sync.Mutex
}

func (d drafting) do(step string, f func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead.Load() {
		return routertest.ErrDead
	}
	err := f()
	if step == d.at && err == nil {
		d.dead.Store(true)
		return routertest.ErrDead
	}
	return err
}

func (d drafting) Draft(ctx context.Context, ref core.TurnRef, to channels.MessageID, body channels.Body) (id int64, err error) {
	err = d.do("row", func() error { id, err = d.Store.Draft(ctx, ref, to, body); return err })
	return id, err
}

func (d drafting) BeginDraft(ctx context.Context, hold outbox.Lease, delivery int64, first channels.Body) (begun outbox.Draft, ready bool, err error) {
	err = d.do("mark", func() error { begun, ready, err = d.Store.BeginDraft(ctx, hold, delivery, first); return err })
	return begun, ready && err == nil, err
}

func (d drafting) Drafted(ctx context.Context, hold outbox.Lease, delivery int64, id channels.MessageID) (late bool, err error) {
	err = d.do("id", func() error { late, err = d.Store.Drafted(ctx, hold, delivery, id); return err })
	return late, err
}

func (d drafting) EndDraft(ctx context.Context, hold outbox.Lease, delivery int64, outcome string) error {
	return d.do("taken back", func() error { return d.Store.EndDraft(ctx, hold, delivery, outcome) })
}

func (d drafting) Abandon(ctx context.Context, hold outbox.Lease, delivery int64) error {
	return d.do("abandoned", func() error { return d.Store.Abandon(ctx, hold, delivery) })
}

func (d drafting) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (next *core.Claimed, err error) {
	name := "step"
	if step.End != nil {
		name = "end"
	}
	err = d.do(name, func() error { next, err = d.Store.Commit(ctx, ref, step, says); return err })
	return next, err
}

func (d drafting) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (out *outbox.Delivery, due time.Time, err error) {
	err = d.do("begin", func() error { out, due, err = d.Store.Begin(ctx, hold, conv); return err })
	return out, due, err
}

func (d drafting) Settle(ctx context.Context, hold outbox.Lease, out *outbox.Delivery, s outbox.Settlement) (more bool, err error) {
	err = d.do("settle", func() error { more, err = d.Store.Settle(ctx, hold, out, s); return err })
	return more, err
}

func (d drafting) TakeChannel(ctx context.Context, owner int64, channel string) (hold outbox.Lease, ok bool, err error) {
	err = d.do("take", func() error { hold, ok, err = d.Store.TakeChannel(ctx, owner, channel); return err })
	return hold, ok, err
}

func (d drafting) ReleaseSession(ctx context.Context, ref core.TurnRef) error {
	return d.do("give back", func() error { return d.Store.ReleaseSession(ctx, ref) })
}

// Killed at each step by which a draft is shown, and started again, the bot answers once.
// What was shown is looked up where it is not known, edited, and taken back where it is not
// needed.
func TestKilledWhileADraftIsShownAnswersOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at    string
		shown string // at the end, in order
		row   string // outcome of the draft that became nothing; empty: it became the answer
	}{
		{"row", "[whole]", ""},
		{"mark", "[whole]", ""},
		{"call", "[whole]", ""}, // the platform showed it, and is asked
		{"id", "[whole]", ""},
		{"end", "[whole]", ""},
		{"abandoned", "[whole]", "taken_back"},
		{"taken back", "[whole]", "taken_back"},
	} {
		t.Run(c.at, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Script.Rich, r.Script.DraftEvery, r.Script.Finder = true, 200*time.Millisecond, true
				var dead atomic.Bool
				dying := drafting{at: c.at, dead: &dead, mu: &sync.Mutex{}}
				r.Store = func(l router.Store) router.Store { dying.Store = l; return dying }
				drafts := 0
				r.Platform.OnChange(func(ch scripted.Change) channelstest.Fault {
					if ch.Op != scripted.OpDraft {
						if dead.Load() && ch.Op != scripted.OpTyping {
							return channelstest.Fault{LoseRequest: true}
						}
						return channelstest.Fault{}
					}
					drafts++
					if c.at == "call" && drafts == 1 {
						dead.Store(true)
						return channelstest.Fault{LoseAnswer: true}
					}
					broken := c.at == "abandoned" || c.at == "taken back"
					return channelstest.Fault{LoseRequest: dead.Load(), LoseAnswer: broken && drafts == 2}
				})
				r.Agent = routertest.Acting(func(p routertest.Play) error {
					for _, text := range []string{"half", "half of it"} {
						p.Stream(text)
						for !slices.Contains(routertest.Texts(r.Platform.Sent()), text) && !dead.Load() && p.Ctx.Err() == nil {
							p.Pause(10 * time.Millisecond)
						}
					}
					if err := p.Answer("whole"); err != nil {
						return agent.ErrReleased
					}
					return nil
				})
				r.Start()
				r.Platform.Say("c1", "ada", "ask")
				r.Until("it died", dead.Load)
				r.End()
				dying.at = ""
				dead.Store(false)
				drafts = 100
				r.Start()
				r.Until("it is answered", func() bool {
					return strings.HasSuffix(strings.TrimSuffix(fmt.Sprint(routertest.Texts(r.Platform.Sent())), "]"), "whole") && len(r.Deliveries("sent")) == 1
				})
				r.Until("the draft's story has ended", func() bool { return len(r.drafts()) == 0 })
				r.End()
				got := routertest.Texts(r.Platform.Sent())
				if fmt.Sprint(got) != c.shown {
					t.Errorf("shown %q, want %s", got, c.shown)
				}
				var outcome string
				for _, d := range r.Deliveries("dropped") {
					outcome += d.Outcome
				}
				if outcome != c.row {
					t.Errorf("the draft ended as %q, want %q", outcome, c.row)
				}
				if turn := r.Turns()[0]; turn.State != "done" {
					t.Errorf("the turn is %s", turn.State)
				}
			})
		})
	}
}

// Nobody can look up what a first call showed that was cut off, and it stays: it shows nothing of the
// answer, which would be there twice and unmarked.
func TestDraftThatNobodyCanLookUpBeginsWithNothingOfTheAnswer(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"the program is killed", "the answer is lost", "the answer is late"} {
		t.Run(lost, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Script.Rich, r.Script.DraftEvery = true, 200*time.Millisecond
				var dead, called atomic.Bool
				dying := drafting{dead: &dead, mu: &sync.Mutex{}}
				r.Store = func(l router.Store) router.Store { dying.Store = l; return dying }
				r.Platform.OnChange(func(ch scripted.Change) channelstest.Fault {
					switch {
					case ch.Op != scripted.OpDraft || called.Swap(true):
						return channelstest.Fault{LoseRequest: dead.Load() && ch.Op != scripted.OpTyping}
					case lost == "the answer is late":
						return channelstest.Fault{Delay: 500 * time.Millisecond}
					}
					dead.Store(lost == "the program is killed")
					return channelstest.Fault{LoseAnswer: true}
				})
				r.Agent = routertest.Acting(func(p routertest.Play) error {
					for !called.Load() && p.Ctx.Err() == nil {
						p.Stream("whole")
						p.Pause(10 * time.Millisecond)
					}
					if p.Answer("whole") != nil {
						return agent.ErrReleased
					}
					return nil
				})
				r.Start()
				r.Platform.Say("c1", "ada", "ask")
				r.Until("it began to show", called.Load)
				if lost == "the program is killed" {
					r.Until("it died", dead.Load)
					r.End()
					dead.Store(false)
					r.Start()
				}
				r.Until("it is answered", func() bool { return len(r.Deliveries("sent")) == 1 })
				r.End()
				n := 0
				for _, text := range append(routertest.Texts(r.Platform.Sent()), drafted(r)[0]) {
					n += strings.Count(text, "whole")
				}
				if n != 1 {
					t.Errorf("the answer is shown %d times: first %q, in the end %q", n, drafted(r)[0], routertest.Texts(r.Platform.Sent()))
				}
			})
		})
	}
}
