package router_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// A witness is a ledger that tells what it is asked for, and steps in after a commit.
type witness struct {
	router.Ledger
	begins  *atomic.Int32                                     // looks at conversations
	opened  *atomic.Int32                                     // parts begun by commits
	before  func(says []outbox.Reply)                         // nil: nothing
	after   func(hold outbox.Lease, d *outbox.Delivery) error // of a commit that began d; nil: nothing
	settled func()                                            // after a Settle, before it is known; nil: nothing
}

func newWitness() *witness { return &witness{begins: new(atomic.Int32), opened: new(atomic.Int32)} }

func (w *witness) of(l router.Ledger) router.Ledger {
	seen := *w
	seen.Ledger = l
	return &seen
}

func (w *witness) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	w.begins.Add(1)
	return w.Ledger.Begin(ctx, hold, conv)
}

func (w *witness) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	if w.before != nil {
		w.before(says)
	}
	next, err := w.Ledger.Commit(ctx, ref, step, says)
	for _, say := range says {
		if o := say.Open; err == nil && o != nil && o.Begun != nil {
			w.opened.Add(1)
			if w.after != nil {
				err = w.after(o.Lease, o.Begun)
			}
		}
	}
	return next, err
}

func (w *witness) Settle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) (bool, error) {
	more, err := w.Ledger.Settle(ctx, hold, d, s)
	if w.settled != nil {
		w.settled()
	}
	return more, err
}

// Settle found nothing more, and then something came: it does not wait for the next
// look at everything.
func TestWhatComesAfterALastSettleIsSent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		var once sync.Once
		w.settled = func() {
			once.Do(func() {
				r.platform.Say("c1", "ada", "/help")
				r.until("the reply is there", func() bool { return len(r.deliveries("pending")) == 1 })
				time.Sleep(10 * time.Millisecond)
			})
		}
		r.ledger = w.of
		r.start()
		r.platform.Say("c1", "ada", "hello")
		r.await(1)
		began := time.Now()
		if r.await(2); time.Since(began) > idleSender {
			t.Errorf("it was sent after %s", time.Since(began))
		}
	})
}

// idleSender is how long a sender waits for more by itself.
const idleSender = 2 * time.Second

func TestAnswersAreBegunByTheirCommit(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		r.ledger = w.of
		r.start()
		r.until("the channel is held", func() bool { return r.held() })
		for i, text := range []string{"one", "two", "three"} {
			r.platform.Say("c1", "ada", text)
			if sent := r.await(i + 1); sent[i].Text != "re: "+text {
				t.Fatalf("sent %q", texts(sent))
			}
			r.until("it is settled", func() bool { return len(r.deliveries("sent")) == i+1 })
			time.Sleep(10 * time.Millisecond) // for the sender to hear of it
		}
		r.end()
		if n, looks := w.opened.Load(), w.begins.Load(); n != 3 || looks != 0 {
			t.Errorf("%d of 3 answers were begun by their commit, %d looks for more", n, looks)
		}
	})
}

// The program dies with the commit as its last deed.
func TestDeathAfterTheCommitThatBeginsIsUnknown(t *testing.T) {
	t.Parallel()
	for _, finder := range []bool{true, false} {
		t.Run(map[bool]string{true: "finder", false: "repeat, marked"}[finder], func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.script.Finder = finder
				w := newWitness()
				died := make(chan struct{})
				w.after = func(outbox.Lease, *outbox.Delivery) error {
					close(died)
					return errDead
				}
				r.ledger = w.of
				r.start()
				r.until("the channel is held", func() bool { return r.held() })
				r.platform.Say("c1", "ada", "hello")
				select {
				case <-died:
				case <-time.After(time.Minute):
					t.Fatal("no commit began a part")
				}
				r.end()
				if n := len(r.platform.Tries()); n != 0 {
					t.Fatalf("the dead sent %d parts", n)
				}
				r.ledger = nil
				r.start()
				want := map[bool]string{true: "re: hello", false: "(repeated) re: hello"}[finder]
				r.until("it is settled", func() bool { return len(r.deliveries("sent")) == 1 })
				r.same("the conversation reads", texts(r.platform.Sent()), []string{want})
			})
		})
	}
}

// Between the commit and the send it shows that another engine may have taken over:
// nothing is sent, and the part is as good as never begun.
func TestUnsafeBetweenCommitAndSendSendsNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var doubt atomic.Bool
		r.safe = func() bool { return !doubt.Load() }
		w := newWitness()
		w.after = func(outbox.Lease, *outbox.Delivery) error {
			doubt.Store(true)
			return nil
		}
		r.ledger = w.of
		r.start()
		r.until("the channel is held", func() bool { return r.held() })
		r.platform.Say("c1", "ada", "hello")
		r.until("it was begun and taken back", func() bool { return w.opened.Load() == 1 && len(r.deliveries("pending")) == 1 })
		if d := r.deliveries("pending")[0]; d.Tries != 0 || len(r.platform.Tries()) != 0 {
			t.Errorf("%+v, %d sends", d, len(r.platform.Tries()))
		}
		doubt.Store(false)
		r.shows(1, "re: hello")
	})
}

// The channel's lease goes away between the commit and the send, and what was begun is
// given back, so that nobody has to ask about it.
func TestHoldLostBetweenCommitAndSendGivesThePartBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		fenced := &fencing{witness: w}
		var once sync.Once
		w.after = func(outbox.Lease, *outbox.Delivery) error {
			once.Do(func() {
				fenced.on.Store(true)
				r.platform.Say("c2", "bob", "/help")
				r.until("the sender heard that its lease is gone", fenced.told.Load)
				time.Sleep(20 * time.Millisecond)
			})
			return nil
		}
		r.ledger = fenced.of
		r.start()
		r.until("the channel is held", func() bool { return r.held() })
		r.platform.Say("c1", "ada", "hello")
		r.until("both are sent", func() bool { return len(r.deliveries("sent")) == 2 })
		for _, d := range r.deliveries("sent") {
			if d.Repeated || d.Tries != 1 {
				t.Errorf("%+v", d)
			}
		}
		if n := len(r.platform.Tries()); n != 2 {
			t.Errorf("%d sends: %q", n, texts(r.platform.Sent()))
		}
	})
}

// fencing is a ledger that says once, when it is on, that the channel's lease is gone.
type fencing struct {
	*witness
	on, told atomic.Bool
}

func (f *fencing) of(l router.Ledger) router.Ledger {
	f.witness = f.witness.of(l).(*witness)
	return f
}

func (f *fencing) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	if f.on.CompareAndSwap(true, false) {
		defer f.told.Store(true)
		return nil, time.Time{}, core.ErrFenced
	}
	return f.witness.Begin(ctx, hold, conv)
}

// What the limiter granted and the commit did not use is given back: the part does not
// wait for a second place.
func TestUnusedPlaceIsGivenBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.channel.Rate = "6/m" // one in ten seconds
		w := newWitness()
		asked := make(chan struct{}, 10)
		w.before = func(says []outbox.Reply) {
			if len(says) > 0 && says[0].Open != nil {
				says[0].Open = nil
				asked <- struct{}{}
			}
		}
		r.ledger = w.of
		r.start()
		r.until("the channel is held", func() bool { return r.held() })
		r.platform.Say("c1", "ada", "hello")
		began := time.Now()
		r.await(1)
		testkit.Within(t, time.Since(began), 8*time.Second) // a second place comes after ten
		if len(asked) != 1 {
			t.Errorf("%d commits were asked to begin it", len(asked))
		}
		r.platform.Say("c2", "ada", "hello")
		r.until("it waits", func() bool { return len(r.deliveries("pending")) == 1 })
		if len(asked) != 1 {
			t.Error("a commit was asked to begin a part that the limiter does not let through")
		}
	})
}

// A head waits for its time: what is said meanwhile is not begun before it.
func TestNothingIsBegunBesideAnOpenHead(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		r.ledger = w.of
		r.start()
		r.until("the channel is held", func() bool { return r.held() })
		r.platform.Next(channelstest.Fault{RateLimited: true, RetryAfter: time.Second})
		r.platform.Say("c1", "ada", "/help")
		r.until("the head waits", func() bool { return len(r.platform.Tries()) == 1 && len(r.deliveries("pending")) == 1 })
		r.platform.Say("c1", "ada", "hello")
		r.until("the answer is there", func() bool { return len(r.deliveries("pending")) == 2 })
		sent := r.await(2)
		if sent[1].Text != "re: hello" || w.opened.Load() != 0 {
			t.Errorf("sent %q, %d begun by a commit", texts(sent), w.opened.Load())
		}
	})
}

// held says that the engine sends for the channel.
func (r *rig) held() bool {
	return r.router.Lines.Statuses()[0].State == channels.StateConnected
}
