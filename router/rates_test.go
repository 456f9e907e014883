package router_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/intake"
	"switchboard/router/routertest"
	"switchboard/store/database"
)

// A ledger whose database is away for so many commits of what comes in.
type awayFor struct {
	router.Store
	commits atomic.Int32
}

func (l *awayFor) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	if l.commits.Add(-1) >= 0 {
		return nil, fmt.Errorf("accept: %w", database.ErrUnavailable)
	}
	return l.Store.Accept(ctx, owner, entries)
}

// limited is a rig with the default rate of a person.
func limited(r *rig) *awayFor {
	r.Config.RatePerson = router.DefaultConfig().RatePerson
	l := &awayFor{}
	r.Store = func(of router.Store) router.Store { l.Store = of; return l }
	r.Start()
	return l
}

// written are events of a person, numbered from first, one after the other.
func written(first, n int, since, apart time.Duration) (batch []channels.Event) {
	for i := range n {
		e := routertest.Event(first+i, "c1", "ada", fmt.Sprint("message ", first+i))
		e.At = time.Now().Add(-since + time.Duration(i)*apart)
		batch = append(batch, e)
	}
	return batch
}

// said counts the notices of being too fast.
func (r *rig) saidTooFast() (n int) {
	for _, d := range r.Deliveries("") {
		if strings.Contains(d.Text, "too fast: I read ") {
			n++
		}
	}
	return n
}

// What was written over ten minutes is not too fast because it is handed in at once, nor
// because the database was away meanwhile.
func TestOldMessagesHandedInAtOnceAreNotTooFast(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := limited(r)
		l.commits.Store(5)
		if n := r.HandIn(written(1, 25, 10*time.Minute, 24*time.Second)); n != 25 {
			t.Errorf("%d of 25 messages became turns", n)
		}
		if n := r.saidTooFast(); n != 0 {
			t.Errorf("%d notices", n)
		}
	})
}

// A commit that failed takes nothing of the rate, and neither does what is known already,
// alone or among others.
func TestRateCountsWhatIsCommitted(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := limited(r)
		first := written(1, 15, 0, 0)
		l.commits.Store(5)
		if n := r.HandIn(first); n != 15 {
			t.Errorf("%d of 15 messages became turns", n)
		}
		r.HandIn(first)
		if n := r.HandIn(append(first, written(16, 5, 0, 0)...)); n != 5 {
			t.Errorf("%d of 5 messages behind known ones became turns", n)
		}
		if n := r.HandIn(written(21, 1, 0, 0)); n != 0 {
			t.Error("20 a minute are 21")
		}
	})
}

// The bucket is asked as the earlier events of the batch leave it, and who is too fast is
// told once: not of a commit that failed.
func TestRateHoldsWithinABatch(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := limited(r)
		l.commits.Store(3)
		if n := r.HandIn(written(1, 25, 0, 0)); n != 20 {
			t.Errorf("%d of 25 messages at once became turns, want 20", n)
		}
		r.HandIn(written(26, 5, 0, 0))
		if n := r.saidTooFast(); n != 1 {
			t.Errorf("%d notices", n)
		}
	})
}

// Older than the newest that counted counts as that one, later than now as now, and
// without a time as it comes. The terminal is not counted.
func TestRateTakesOddTimesForTheNearestPossible(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		limited(r)
		if n := r.HandIn(written(1, 20, 0, 0)); n != 20 {
			t.Fatalf("%d of 20 became turns", n)
		}
		for what, e := range map[string]channels.Event{
			"old": written(21, 1, time.Hour, 0)[0], "of the future": written(22, 1, -time.Hour, 0)[0], "of no time": routertest.Event(23, "c1", "ada", "now"),
		} {
			if what == "of no time" {
				e.At = time.Time{}
			}
			if n := r.HandIn([]channels.Event{e}); n != 0 {
				t.Errorf("a message %s is free", what)
			}
		}
		e := routertest.Event(24, "c1", "ada", "in the terminal")
		e.Sender.Person = "ada"
		if n := r.HandIn([]channels.Event{e}); n != 1 {
			t.Error("the terminal is counted")
		}
	})
}

// That a group moved holds for the rest of the batch, and beyond it only once it is
// committed.
func TestMoveHoldsBeyondItsBatchOnceCommitted(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := &awayFor{}
		r.Store = func(of router.Store) router.Store { l.Store = of; return l }
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		in := func(n int) channels.Event {
			e := routertest.Event(n, "g2", "ada", "in the new place")
			e.Conversation.Kind, e.Message.Mentioned = channels.Group, true
			return e
		}
		move := in(1)
		move.Kind, move.Former, move.Message = channels.EventMoved, "g1", channels.Message{}
		l.commits.Store(1)
		if _, err := r.Router.Accept(t.Context(), []channels.Event{move, in(2)}); err == nil {
			t.Fatal("the database is away")
		}
		if n := r.HandIn([]channels.Event{in(3)}); n != 0 {
			t.Error("a move holds that was not committed")
		}
		if n := r.HandIn([]channels.Event{move, in(4)}); n != 1 {
			t.Error("a move does not hold for the rest of its batch")
		}
		if n := r.HandIn([]channels.Event{in(5)}); n != 1 {
			t.Error("a move was forgotten")
		}
	})
}
