package delivery

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Up to ten polls fail within a minute, however they are spread and whatever was answered
// in between. Within 20 s of the last one the platform is asked again.
func TestFailedPollsAreTriedAgainSoon(t *testing.T) {
	t.Parallel()
	faults := []error{errors.New("getUpdates: the answer is 502"), channels.ErrNotConnected, errDeaf, nil}
	rapid.Check(t, func(rt *rapid.T) {
		type run struct {
			fault  error
			speaks bool
			lasts  time.Duration
		}
		// One that never speaks and fails at once has the longest pauses.
		mute, longest := rapid.Bool().Draw(rt, "mute"), 20_000
		if mute {
			longest = 100
		}
		runs := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) run {
			return run{
				fault: rapid.SampledFrom(faults).Draw(rt, "fault"), speaks: !mute && rapid.Bool().Draw(rt, "speaks"),
				lasts: time.Duration(rapid.IntRange(0, longest).Draw(rt, "ms")) * time.Millisecond,
			}
		}), 1, 10).Draw(rt, "runs")
		var took time.Duration
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ill, well := began, time.Time{}
			w := &wire{run: func(ctx context.Context, sink channels.Sink, n int) error {
				if n > len(runs) || time.Since(began) >= time.Minute {
					well = time.Now()
					return beats(ctx, sink, time.Second)
				}
				do := runs[n-1]
				if do.speaks {
					sink.Received()
				}
				retry.Sleep(ctx, min(do.lasts, time.Minute-time.Since(began)))
				ill = time.Now()
				return do.fault
			}}
			connected(t, w)
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			took = well.Sub(ill)
		})
		if took < 0 || took > 20*time.Second {
			rt.Fatalf("asked again %s after the last failure", took)
		}
	})
}

// Failures with answers between them cost half a second each; a row of them doubles that
// to 15 s, and any answer ends the row.
func TestReconnectPausesDoubleUntilAnAnswer(t *testing.T) {
	t.Parallel()
	cut := errors.New("the line is cut")
	synctest.Test(t, func(t *testing.T) {
		w := &wire{run: func(_ context.Context, sink channels.Sink, n int) error {
			if n > 10 {
				sink.Received()
			}
			return cut
		}}
		connected(t, w)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		for i, want := range []float64{0.5, 1, 2, 4, 8, 15, 15, 15, 15, 15, 0.5, 0.5, 0.5} {
			got := w.at[i+1].Sub(w.at[i])
			if got.Seconds() < want*0.79 || got.Seconds() > min(want*1.21, 15) {
				t.Errorf("pause %d is %s, want about %gs", i, got, want)
			}
		}
	})
}

// A platform that says how long to stay away is obeyed, by new connections too.
func TestReconnectKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{run: func(ctx context.Context, sink channels.Sink, n int) error {
			if n == 1 {
				return fmt.Errorf("getMe: %w", &channels.RateLimitError{Op: "getMe", RetryAfter: 20 * time.Minute, Err: errors.New("slow down")})
			}
			return beats(ctx, sink, time.Second)
		}}
		connected(t, w)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.at[1].Sub(w.at[0]); got < 20*time.Minute || got > 21*time.Minute {
			t.Errorf("asked again after %s", got)
		}
	})
}
