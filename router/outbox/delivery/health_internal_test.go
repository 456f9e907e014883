package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// A wire is a channel whose connection does what the test says.
type wire struct {
	channels.Channel
	run     func(ctx context.Context, sink channels.Sink, n int) error
	silence time.Duration
	probe   func(context.Context) error

	runs atomic.Int64
	open atomic.Int64 // connections at once
	most atomic.Int64
	mu   sync.Mutex
	at   []time.Time // when each connection was made
}

func (w *wire) Name() string           { return "wire" }
func (w *wire) Kind() string           { return "wire" }
func (w *wire) Silence() time.Duration { return w.silence }

func (w *wire) Probe(ctx context.Context) error { return w.probe(ctx) }

func (w *wire) Run(ctx context.Context, sink channels.Sink) error {
	w.mu.Lock()
	w.at = append(w.at, time.Now())
	w.mu.Unlock()
	w.most.Store(max(w.most.Load(), w.open.Add(1)))
	defer w.open.Add(-1)
	return w.run(ctx, sink, int(w.runs.Add(1)))
}

// connected runs w's supervisor until the test ends.
func connected(t *testing.T, w channels.Channel) *Connections {
	t.Helper()
	ls := New(t.Context(), Deps{Log: slog.New(slog.DiscardHandler)})
	l, err := ls.Attach(Rated{Channel: w})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.supervisor.connect(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return ls
}

func until(ctx context.Context) error { <-ctx.Done(); return nil }

// beats speaks every so often until ctx ends.
func beats(ctx context.Context, sink channels.Sink, every time.Duration) error {
	for ctx.Err() == nil {
		sink.Received()
		retry.Sleep(ctx, every)
	}
	return nil
}

func TestConnectBacksOffUntilAGoodConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("the line is cut")
		w := &wire{run: func(ctx context.Context, sink channels.Sink, n int) error {
			switch {
			case n <= 12:
				return lost
			case n == 13: // a good connection
				good, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				_ = beats(good, sink, time.Second)
				return lost
			case n == 14: // one that hangs, silent, for long, is no good one
				retry.Sleep(ctx, time.Hour)
				return lost
			}
			return lost
		}}
		r := connected(t, w)
		time.Sleep(24 * time.Hour)
		w.mu.Lock()
		defer w.mu.Unlock()
		pauses := make([]time.Duration, 0, len(w.at))
		for i := range w.at[:14] {
			pauses = append(pauses, w.at[i+1].Sub(w.at[i]))
		}
		want := reconnectMin
		for i, got := range pauses[:11] {
			if got < want*4/5 || got > min(want*6/5, reconnectMax) {
				t.Errorf("pause %d is %s, want about %s", i, got, want)
			}
			want = min(2*want, reconnectMax)
		}
		if got := pauses[12] - time.Minute; got > 2*reconnectMin {
			t.Errorf("after a good connection the pause is %s", got)
		}
		if got := pauses[13] - time.Hour; got < 2*reconnectMin*4/5 {
			t.Errorf("a connection that never spoke reset the pause: %s", got)
		}
		s := r.Statuses()[0]
		if s.State != channels.StateError || s.LastFrame.IsZero() {
			t.Errorf("%+v", s)
		}
		_, wait, found := strings.Cut(s.Reason, "the line is cut (")
		_, wait, _ = strings.Cut(wait, "; next try in ")
		rest, err := time.ParseDuration(wait)
		if !found || err != nil || rest <= 0 {
			t.Errorf("%q, %v", s.Reason, err)
		}
		made := len(w.at)
		w.mu.Unlock()
		time.Sleep(rest + time.Second)
		w.mu.Lock()
		if len(w.at) != made+1 {
			t.Errorf("%d connections when the next was to be made", len(w.at)-made)
		}
	})
}

// What only a change of the settings helps is no hot loop, and keeps its state.
func TestConnectionsWithoutGoodCredentialsAreTriedGently(t *testing.T) {
	t.Parallel()
	for fault, want := range map[error]channels.State{
		channels.ErrUnauthorized: channels.StateError, channels.ErrNoCredentials: channels.StateWaiting,
	} {
		t.Run(fault.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				w := &wire{run: func(ctx context.Context, sink channels.Sink, _ int) error {
					if mended.Load() {
						return beats(ctx, sink, time.Second)
					}
					return fmt.Errorf("getMe: %w", fault)
				}}
				r := connected(t, w)
				time.Sleep(time.Second)
				began := r.Statuses()[0]
				time.Sleep(time.Hour)
				s := r.Statuses()[0]
				if s.State != want || s.Reason != "getMe: "+fault.Error() || !s.Since.Equal(began.Since) { // nobody is asked again
					t.Errorf("%+v, and at first %+v", s, began)
				}
				if n := w.runs.Load(); n > 721 {
					t.Errorf("tried %d times in an hour", n)
				}
				mended.Store(true)
				time.Sleep(10 * time.Second)
				if s := r.Statuses()[0]; s.State != channels.StateConnected || s.Reason != "" {
					t.Errorf("mended: %+v", s)
				}
			})
		})
	}
}

func TestAnotherPollerIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{run: func(_ context.Context, sink channels.Sink, _ int) error {
			sink.Received() // it answers, and refuses
			return fmt.Errorf("getUpdates: %w", channels.ErrElsewhere)
		}}
		r := connected(t, w)
		time.Sleep(time.Hour)
		if s := r.Statuses()[0]; s.State != channels.StateError || !strings.HasPrefix(s.Reason, "getUpdates: "+channels.ErrElsewhere.Error()+"; next try in ") {
			t.Errorf("%+v", s)
		}
		if n := w.runs.Load(); n > 20 {
			t.Errorf("tried %d times in an hour", n)
		}
	})
}

func TestSilentConnectionIsDeafOrInError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		probe func(context.Context) error
		want  channels.State
	}{
		{"the platform answers", func(context.Context) error { return nil }, channels.StateDeaf},
		{"the platform refuses", func(context.Context) error { return errors.New("no") }, channels.StateError},
		{"the probe hangs", hangs, channels.StateError},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &wire{silence: 40 * time.Second, probe: c.probe}
				w.run = func(ctx context.Context, sink channels.Sink, n int) error {
					if n > 1 {
						return beats(ctx, sink, 30*time.Second)
					}
					well, cancel := context.WithTimeout(ctx, 290*time.Second)
					defer cancel()
					_ = beats(well, sink, 30*time.Second)
					<-ctx.Done()    // the socket is open, and nothing comes
					sink.Received() // too late
					return nil
				}
				r := connected(t, w)
				time.Sleep(5*time.Minute - time.Second)
				if s := r.Statuses()[0]; s.State != channels.StateConnected || w.runs.Load() != 1 {
					t.Fatalf("while it is well: %+v, %d connections", s, w.runs.Load())
				}
				last := r.Statuses()[0].LastFrame
				var found channels.Status
				for found = r.Statuses()[0]; found.State == channels.StateConnected; found = r.Statuses()[0] {
					time.Sleep(100 * time.Millisecond)
				}
				if found.State != c.want || found.Reason == "" || found.Since.Sub(last) > time.Minute {
					t.Errorf("%s after the last frame: %+v", found.Since.Sub(last), found)
				}
				time.Sleep(10 * time.Second)
				if s := r.Statuses()[0]; s.State != channels.StateConnected {
					t.Errorf("connected again: %+v", s)
				}
				if w.runs.Load() != 2 || w.most.Load() != 1 {
					t.Errorf("%d connections, %d at once", w.runs.Load(), w.most.Load())
				}
			})
		})
	}
}

func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// A connection that never spoke is deaf as well.
func TestConnectionThatNeverSpokeIsDeaf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{silence: 40 * time.Second, probe: func(context.Context) error { return nil }}
		w.run = func(ctx context.Context, _ channels.Sink, _ int) error { return until(ctx) }
		r := connected(t, w)
		time.Sleep(40*time.Second + 200*time.Millisecond)
		if s := r.Statuses()[0]; s.State != channels.StateDeaf {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Hour)
		if n := w.runs.Load(); n < 60 || n > 70 {
			t.Errorf("%d connections in an hour", n)
		}
	})
}

// A linked is a wire that knows itself whether it is good.
type linked struct {
	*wire
	good atomic.Bool
}

func (l *linked) Connected() bool { return l.good.Load() }

// A connection on which the platform speaks is not called connected while the channel says that it is not good; what
// only a person can change is not tried again, and somebody must act on it.
func TestConnectionsAreGoodWhenTheChannelSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("the platform does not know our intents")
		l := &linked{wire: &wire{silence: 10 * time.Second, probe: func(context.Context) error { return nil }}}
		l.run = func(ctx context.Context, sink channels.Sink, n int) error {
			if n > 1 {
				return fmt.Errorf("%w: %w", channels.ErrStopped, stop)
			}
			for ctx.Err() == nil && !l.good.Load() {
				sink.Received()
				retry.Sleep(ctx, time.Second)
			}
			sink.Received()
			retry.Sleep(ctx, 5*time.Second)
			return errors.New("lost")
		}
		ls := connected(t, l)
		time.Sleep(time.Minute)
		if s := ls.Statuses()[0]; s.State != channels.StateConnecting || l.runs.Load() != 1 || time.Since(s.LastFrame) > 2*time.Second {
			t.Errorf("%+v, %d connections", s, l.runs.Load())
		}
		l.good.Store(true)
		time.Sleep(2 * time.Second)
		if s := ls.Statuses()[0]; s.State != channels.StateConnected {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
		s := ls.Statuses()[0]
		if acts := ls.all()[0].supervisor.now().acts; s.State != channels.StateError || !strings.Contains(s.Reason, stop.Error()) || !strings.Contains(acts, "not tried again") {
			t.Errorf("%+v, somebody must act on %q", s, acts)
		}
	})
}
