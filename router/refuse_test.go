package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/routertest"
	"switchboard/router/turns"
	"switchboard/store/database"
)

// picky is a database whose database does not take certain events, or is away.
type picky struct {
	router.Store
}

var errAway = fmt.Errorf("the database is away: %w", database.ErrUnavailable)

func isRejected(e intake.Entry) bool {
	audit, ok := e.Intent.(*intake.AuditIntent)
	return ok && audit.Why == intake.AuditRejected
}

func (p picky) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	for _, e := range entries {
		if !isRejected(e) && strings.HasPrefix(e.Event.Message.Text, "poison") {
			return nil, fmt.Errorf("accept: %w", core.ErrRefused)
		}
		if e.Event.Message.Text == "away" {
			return nil, errAway
		}
	}
	return p.Store.Accept(ctx, owner, entries)
}

// One event that the database refuses does not make its channel deaf.
func TestRefusedEventIsKeptAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 4 // one for each person
		r.Store = func(l router.Store) router.Store { return picky{l} }
		r.Start()
		batch := []channels.Event{
			routertest.Event(1, "c1", "ada", "first"), routertest.Event(2, "c2", "bob", "poison"), routertest.Event(3, "c3", "ada", "last"),
		}
		for range 2 { // told again, it is known
			receipts := r.Accept(batch...)
			if !strings.Contains(receipts[1].Rejected, "database") && !receipts[1].Duplicate || receipts[0].Rejected+receipts[2].Rejected != "" {
				t.Errorf("%+v", receipts)
			}
			batch[1].Message.Text = "poison again"
		}
		r.Await(2)
		list, err := r.DB.Router().Rejected(t.Context(), 5)
		if err != nil || len(list) != 1 || list[0].Raw != "poison" {
			t.Errorf("rejected: %+v, %v", list, err)
		}
		r.HasTurns(2)
		if _, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(4, "c1", "ada", "away")}); !errors.Is(err, errAway) {
			t.Errorf("a database that is away refuses nothing: %v", err)
		}
		// No worker leaked: bob's is there.
		r.Platform.Say("c2", "bob", "and now")
		r.Await(3)
	})
}

// An event of a channel that is not there fails alone, and so leaks no worker.
func TestEventOfNoChannelFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 1
		r.Start()
		nowhere := routertest.Event(1, "c9", "ada", "x")
		nowhere.Conversation.Channel = "nowhere"
		receipts, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(20, "c1", "ada", "y"), nowhere})
		if err != nil || receipts[0].TurnID == 0 || receipts[1].Rejected == "" {
			t.Errorf("%+v, %v", receipts, err)
		}
		r.Await(1)
		r.Platform.Say("c1", "ada", "still there?")
		r.Await(2)
	})
}

// An engine whose leases may be gone starts no send, and the agent does nothing
// more after a commit.
func TestUnsafeEngineDoesNothingOutside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var safe atomic.Bool
		safe.Store(true)
		r.Safe = safe.Load
		stepped := make(chan error, 10)
		r.Brain.Step = func(j agent.Journal) error {
			safe.Store(false)
			err := j.Commit(t.Context(), agent.Step{Calls: []agent.Call{{Step: "plan"}}})
			stepped <- err
			return err
		}
		r.Start()
		r.Platform.Say("c2", "bob", "do something outside")
		if err := <-stepped; !errors.Is(err, agent.ErrReleased) {
			t.Errorf("the agent may go on: %v", err)
		}
		r.Until("the step is there", func() bool { return r.Turns()[0].Calls == 1 })
		r.Platform.Say("c1", "ada", "/help")
		r.Until("the reply is committed", func() bool { return len(r.Deliveries("pending")) == 1 })
		r.Platform.Say("c3", "ada", "begin nothing")
		r.Until("it is queued", func() bool { return len(r.Turns()) == 2 })
		r.End() // flushes what may be sent
		if tries := r.Platform.Tries(); len(tries) != 0 {
			t.Errorf("sent %+v", tries)
		}
		if r.Brain.Ran("begin nothing") > 0 || r.Brain.Ran("do something outside") != 1 {
			t.Error("a turn was begun")
		}
	})
}

// A lateClaim is a database whose claims take so long that the engine is not safe behind them.
type lateClaim struct {
	router.Store
	claimed func()
}

func (l lateClaim) Claim(ctx context.Context, owner int64, of, except []string, limit int) ([]core.Claimed, error) {
	list, err := l.Store.Claim(ctx, owner, of, except, limit)
	if len(list) > 0 {
		l.claimed()
	}
	return list, err
}

func TestEngineThatBecomesUnsafeInAClaimBeginsNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var safe, claimed atomic.Bool
		r.Safe = safe.Load
		r.Start()
		r.Platform.Say("c1", "ada", "begin nothing")
		r.Until("it is queued", func() bool { return len(r.Turns()) == 1 })
		r.End()
		safe.Store(true)
		r.Store = func(l router.Store) router.Store {
			return lateClaim{l, func() {
				safe.Store(false)
				claimed.Store(true)
			}}
		}
		r.Start()
		r.Until("it is claimed", claimed.Load)
		r.End()
		if r.Brain.Ran("begin nothing") > 0 {
			t.Error("a turn was begun")
		}
	})
}

// A blind ledger cannot read for answers. fails is what its reads say.
type blind struct {
	router.Store
	fails error
}

func (b blind) Current(context.Context, string) (*turns.Turn, error) { return nil, b.fails }

func (b blind) Waiting(context.Context, string) (int, error) { return 0, b.fails }

func (b blind) TurnOf(context.Context, channels.Conversation, channels.MessageID) (int64, error) {
	return 0, b.fails
}

func (b blind) Shown(context.Context, channels.Conversation, channels.MessageID, string) (string, tools.Taint, error) {
	return "", "", b.fails
}

// One event for which something cannot be read fails alone: its sender is told, and the
// rest of the batch is taken. Where that is the fault of no event, all are held back.
func TestEventThatCannotBeSortedFailsAlone(t *testing.T) {
	t.Parallel()
	var batch []channels.Event
	for i, text := range []string{"/status", "/plan", "/why", "stop", "hello"} {
		batch = append(batch, routertest.Event(i, "c1", "ada", text))
	}
	edit, reaction := routertest.Event(10, "c1", "ada", "changed"), routertest.Event(11, "c1", "ada", "")
	edit.Kind, reaction.Kind, reaction.Reaction = channels.EventEdited, channels.EventReaction, channels.Reaction{MessageID: "m1", Added: []string{"+1"}}
	batch = append(batch, edit, reaction, routertest.Event(12, "c2", "bob", "hello too"))
	t.Run("alone", func(t *testing.T) {
		each(t, func(t *testing.T, r *rig) {
			r.Store = func(l router.Store) router.Store { return blind{l, errors.New("the row is odd")} }
			r.Start()
			receipts := r.Accept(batch...)
			for i, receipt := range receipts {
				if turn := i == 4 || i == 7; turn != (receipt.TurnID != 0) || (i == 6) != (receipt.Rejected != "") {
					t.Errorf("event %d: %+v", i, receipt)
				}
			}
			said := map[string]int{}
			for _, s := range routertest.Texts(r.Await(7)) {
				said[s]++
			}
			if said["I could not look that up just now; please try again."] != 3 || said["There is nothing of yours to cancel here."] != 1 ||
				said["I could not find the message that you changed. Please write it again."] != 1 || said["re: hello"] != 1 || said["re: hello too"] != 1 {
				t.Errorf("sent %v", said)
			}
		})
	})
	t.Run("nobody's fault", func(t *testing.T) {
		each(t, func(t *testing.T, r *rig) {
			r.Store = func(l router.Store) router.Store { return blind{l, fmt.Errorf("read: %w", database.ErrUnavailable)} }
			r.Start()
			if _, err := r.Router.Accept(t.Context(), batch); !errors.Is(err, database.ErrUnavailable) {
				t.Errorf("the database is away: %v", err)
			}
			r.HasTurns(0)
		})
	})
}

// An event over which sorting panics is rejected, and does not end the program.
func TestEventThatPanicsFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Usable = func(tools.Question) []string { panic("nothing is there") }
		r.Start()
		receipts, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(1, "c1", "ada", "/whoami"), routertest.Event(2, "c1", "ada", "hello")})
		if err != nil || receipts[0].Rejected == "" || receipts[1].TurnID == 0 {
			t.Fatalf("%+v, %v", receipts, err)
		}
		r.Shows(1, "re: hello")
	})
}

// A ledger that fails for certain texts, for a reason that may be anybody's.
type failing struct {
	router.Store
	err   error
	tries map[string]int // how often each text fails yet
	alone map[string]int // how often each was tried alone
}

func (f *failing) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	for _, e := range entries {
		text := e.Event.Message.Text
		if isRejected(e) || f.tries[text] == 0 {
			continue
		}
		if len(entries) == 1 {
			f.alone[text]++
			f.tries[text]--
		}
		return nil, fmt.Errorf("accept: %w", f.err)
	}
	return f.Store.Accept(ctx, owner, entries)
}

// An event that fails for a reason that nobody knows is rejected when it failed three
// times alone while another was committed, and not before: it may be nobody's fault.
func TestEventThatFailsAloneThreeTimesIsRejected(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"a constraint": core.ErrConflict, "unknown": errors.New("something internal")} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				f := &failing{err: err, tries: map[string]int{}, alone: map[string]int{}}
				r.Store = func(l router.Store) router.Store { f.Store = l; return f }
				r.Start()
				f.tries["odd"], f.tries["odd too"], f.tries["odd twice"] = 1000, 1000, 2
				odd, too := routertest.Event(1, "c1", "ada", "odd"), routertest.Event(2, "c2", "bob", "odd too")
				for range 2 { // for all that is known, nothing can be committed
					if _, err := r.Router.Accept(t.Context(), []channels.Event{odd, too}); err == nil {
						t.Fatal("taken, though nothing was")
					}
				}
				receipts := r.Accept(odd, routertest.Event(3, "c1", "ada", "odd twice"), routertest.Event(4, "c1", "ada", "last"))
				if receipts[0].Rejected == "" || receipts[1].TurnID == 0 || receipts[2].TurnID == 0 {
					t.Errorf("%+v", receipts)
				}
				if f.alone["odd"] != 9 || f.alone["odd twice"] != 2 {
					t.Errorf("tried alone %v", f.alone)
				}
				if receipts, err := r.Router.Accept(t.Context(), []channels.Event{too}); err != nil || receipts[0].Rejected == "" {
					t.Errorf("another was committed since it failed: %+v, %v", receipts, err)
				}
				if sent := r.Await(2); sent[0].Text != "re: odd twice" || sent[1].Text != "re: last" {
					t.Errorf("sent %q", routertest.Texts(sent))
				}
				if list, err := r.DB.Router().Rejected(t.Context(), 5); err != nil || len(list) != 2 {
					t.Errorf("rejected: %+v, %v", list, err)
				}
			})
		})
	}
}
