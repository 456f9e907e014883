package outbox_test

import (
	"context"
	"strings"
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
	"switchboard/router/routertest"
)

// A witness is a database that tells what it is asked for, and steps in after a commit.
type witness struct {
	router.Store
	begins  *atomic.Int32                                     // looks at conversations
	opened  *atomic.Int32                                     // parts begun by commits
	before  func(says []outbox.Reply)                         // nil: nothing
	after   func(hold outbox.Lease, d *outbox.Delivery) error // of a commit that began d; nil: nothing
	settled func()                                            // after a Settle, before it is known; nil: nothing
}

func newWitness() *witness { return &witness{begins: new(atomic.Int32), opened: new(atomic.Int32)} }

func (w *witness) of(l router.Store) router.Store {
	seen := *w
	seen.Store = l
	return &seen
}

func (w *witness) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	w.begins.Add(1)
	return w.Store.Begin(ctx, hold, conv)
}

func (w *witness) Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	if w.before != nil {
		w.before(says)
	}
	next, err := w.Store.Commit(ctx, ref, step, says)
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
	more, err := w.Store.Settle(ctx, hold, d, s)
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
		settled := make(chan time.Time, 1)
		w.settled = func() {
			once.Do(func() {
				r.Platform.Say("c1", "ada", "/help")
				r.Until("the reply is there", func() bool { return len(r.Deliveries("pending")) == 1 })
				time.Sleep(10 * time.Millisecond)
				settled <- time.Now()
			})
		}
		r.Store = w.of
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Await(1)
		began := <-settled
		r.Await(2)
		testkit.Within(t, time.Since(began), 8*time.Second) // a look at everything comes after 15 s
	})
}

// rests waits until nothing is to be sent in ada's chat, as far as its sender knows.
func (r *rig) rests(conv channels.ConversationID) {
	r.T.Helper()
	where := channels.Conversation{Channel: r.Name, ID: conv, Kind: channels.Direct, Place: string(conv)}
	r.Until("the sender rests", func() bool {
		opened := r.Router.Connections.Connection(r.Name).Open(where)
		opened.Close()
		return opened != nil
	})
}

func TestAnswersAreBegunByTheirCommit(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		r.Store = w.of
		r.Start()
		r.Until("the channel is held", func() bool { return r.Held() })
		for i, text := range []string{"one", "two", "three"} {
			r.Platform.Say("c1", "ada", text)
			if sent := r.Await(i + 1); sent[i].Text != "re: "+text {
				t.Fatalf("sent %q", routertest.Texts(sent))
			}
			r.Until("it is settled", func() bool { return len(r.Deliveries("sent")) == i+1 })
			r.rests("c1")
		}
		r.End()
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
				r.Script.Finder = finder
				w := newWitness()
				died := make(chan struct{})
				w.after = func(outbox.Lease, *outbox.Delivery) error {
					close(died)
					return routertest.ErrDead
				}
				r.Store = w.of
				r.Start()
				r.Until("the channel is held", func() bool { return r.Held() })
				r.Platform.Say("c1", "ada", "hello")
				select {
				case <-died:
				case <-time.After(time.Minute):
					t.Fatal("no commit began a part")
				}
				r.End()
				if n := len(r.Platform.Tries()); n != 0 {
					t.Fatalf("the dead sent %d parts", n)
				}
				r.Store = nil
				r.Start()
				want := map[bool]string{true: "re: hello", false: "(repeated) re: hello"}[finder]
				r.Until("it is settled", func() bool { return len(r.Deliveries("sent")) == 1 })
				r.Same("the conversation reads", routertest.Texts(r.Platform.Sent()), []string{want})
			})
		})
	}
}

// Between the commit and the send it shows that another engine may have taken over:
// nothing is sent, and the part is as good as never begun.
func TestUnsafeBetweenCommitAndSendSendsNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var doubt atomic.Bool
		r.Safe = func() bool { return !doubt.Load() }
		w := newWitness()
		w.after = func(outbox.Lease, *outbox.Delivery) error {
			doubt.Store(true)
			return nil
		}
		r.Store = w.of
		r.Start()
		r.Until("the channel is held", func() bool { return r.Held() })
		r.Platform.Say("c1", "ada", "hello")
		r.Until("it was begun and taken back", func() bool { return w.opened.Load() == 1 && len(r.Deliveries("pending")) == 1 })
		if d := r.Deliveries("pending")[0]; d.Tries != 0 || len(r.Platform.Tries()) != 0 {
			t.Errorf("%+v, %d sends", d, len(r.Platform.Tries()))
		}
		doubt.Store(false)
		r.Shows(1, "re: hello")
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
				r.Platform.Say("c2", "bob", "/help")
				r.Until("the sender heard that its lease is gone", fenced.told.Load)
				time.Sleep(20 * time.Millisecond)
			})
			return nil
		}
		r.Store = fenced.of
		r.Start()
		r.Until("the channel is held", func() bool { return r.Held() })
		r.Platform.Say("c1", "ada", "hello")
		r.Until("both are sent", func() bool { return len(r.Deliveries("sent")) == 2 })
		for _, d := range r.Deliveries("sent") {
			if d.Repeated || d.Tries != 1 {
				t.Errorf("%+v", d)
			}
		}
		if n := len(r.Platform.Tries()); n != 2 {
			t.Errorf("%d sends: %q", n, routertest.Texts(r.Platform.Sent()))
		}
	})
}

// fencing is a database that says once, when it is on, that the channel's lease is gone.
type fencing struct {
	*witness
	on, told atomic.Bool
}

func (f *fencing) of(l router.Store) router.Store {
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
		r.Channel.Rate = "6/m" // one in ten seconds
		w := newWitness()
		asked := make(chan struct{}, 10)
		w.before = func(says []outbox.Reply) {
			if len(says) > 0 && says[0].Open != nil {
				says[0].Open = nil
				asked <- struct{}{}
			}
		}
		r.Store = w.of
		r.Start()
		r.Until("the channel is held", func() bool { return r.Held() })
		r.Platform.Say("c1", "ada", "hello")
		began := time.Now()
		r.Await(1)
		testkit.Within(t, time.Since(began), 8*time.Second) // a second place comes after ten
		if len(asked) != 1 {
			t.Errorf("%d commits were asked to begin it", len(asked))
		}
		r.Platform.Say("c2", "ada", "hello")
		r.Until("it waits", func() bool { return len(r.Deliveries("pending")) == 1 })
		if len(asked) != 1 {
			t.Error("a commit was asked to begin a part that the limiter does not let through")
		}
	})
}

// A head waits for its time: what is said meanwhile is not begun before it.
func TestNothingIsBegunBesideAnOpenHead(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		w := newWitness()
		r.Store = w.of
		r.Start()
		r.Until("the channel is held", func() bool { return r.Held() })
		r.Platform.Next(channelstest.Fault{RateLimited: true, RetryAfter: 5 * time.Second})
		r.Platform.Say("c1", "ada", "/help")
		r.Until("the head waits", func() bool { return len(r.Platform.Tries()) == 1 && len(r.Deliveries("pending")) == 1 })
		r.Platform.Say("c1", "ada", "hello")
		r.Until("the answer is there", func() bool { return len(r.Deliveries("pending")) == 2 })
		sent := r.Await(2)
		if sent[1].Text != "re: hello" || w.opened.Load() != 0 {
			t.Errorf("sent %q, %d begun by a commit", routertest.Texts(sent), w.opened.Load())
		}
	})
}

// A ledger whose first offers fail so, with nothing written.
type failingOffers struct {
	router.Store
	mu    sync.Mutex
	fails []error
}

func (l *failingOffers) Offer(ctx context.Context, ref core.TurnRef, merge []int64, step agent.Step, say outbox.Reply) (*core.Claimed, error) {
	l.mu.Lock()
	var err error
	if len(l.fails) > 0 {
		err, l.fails = l.fails[0], l.fails[1:]
	}
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l.Store.Offer(ctx, ref, merge, step, say)
}

// A commit that failed leaves no doubt behind once a later one began the part: when the
// platform's answer to that is lost, it may have arrived, and its repeat says so.
func TestRepeatAfterAFailedCommitIsMarkedOnceBegun(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string][]error{
		"contradicted":            {core.ErrConflict},
		"unheard":                 {routertest.ErrAnswerLost},
		"unheard, contradicted":   {routertest.ErrAnswerLost, core.ErrConflict},
		"contradicted for a time": {core.ErrConflict, core.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *rig) {
				l := &failingOffers{fails: fails}
				r.Store = func(of router.Store) router.Store { l.Store = of; return l }
				r.Script.Finder = false
				r.Platform.Next(channelstest.Fault{LoseAnswer: true}) // it arrives, and nobody is told
				r.Platform.Write(routertest.OldMessage("c1", "ada", "first", 3*time.Hour))
				r.Start()
				r.Settled(1)
				if sent := routertest.Texts(r.Platform.Sent()); len(sent) != 2 || !strings.HasPrefix(sent[1], "(repeated) ") || len(l.fails) > 0 {
					t.Errorf("sent %q, %d failures are left", sent, len(l.fails))
				}
			})
		})
	}
}
