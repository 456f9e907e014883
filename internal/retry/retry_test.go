package retry_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/internal/retry"
)

func TestDoublingPausesLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		began, last := time.Now(), time.Time{}
		want := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second, 3 * time.Second}
		n := 0
		for try := range retry.Doubling(ctx, time.Second, 5*time.Second) {
			if now := time.Now(); try != n || try > 0 && now.Sub(last) != want[try] {
				t.Errorf("try %d, the %d.: after %s, want %s", try, n, now.Sub(last), want[try])
			}
			last, n = time.Now(), n+1
		}
		if n != len(want) || time.Since(began) != 20*time.Second {
			t.Errorf("%d tries in %s", n, time.Since(began))
		}
	})
}

func TestDoublingTriesOnceWhenItIsOver(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	n := 0
	for range retry.Doubling(ctx, time.Hour, time.Hour) {
		n++
	}
	if n != 1 {
		t.Errorf("%d tries", n)
	}
}

// What ends while a try is made is seen by the body of one more.
func TestDoublingTriesOnceMoreAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n := 0
	for range retry.Doubling(ctx, time.Hour, time.Hour) {
		stop()
		n++
	}
	if n != 2 {
		t.Errorf("%d tries", n)
	}
}

func TestPauseOfManyTriesIsTheLongest(t *testing.T) {
	t.Parallel()
	for _, try := range []int{20, 100, 1 << 40} {
		if got := retry.Pause(try, time.Second, time.Minute); got != time.Minute {
			t.Errorf("try %d: %s", try, got)
		}
	}
}

// What fails is done again until it does not, and then at the next signal alone.
func TestWheneverDoesItAgainWhileItFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		soon, done, failures := make(chan struct{}, 1), 0, 0
		var ended sync.WaitGroup
		ended.Go(func() {
			retry.Whenever(ctx, soon, func(context.Context) error {
				if done++; done < 3 {
					return context.DeadlineExceeded
				}
				return nil
			}, func(error) { failures++ })
		})
		for _, want := range []int{3, 4} {
			retry.Signal(soon)
			time.Sleep(time.Minute)
			synctest.Wait()
			if done != want || failures != 2 {
				t.Errorf("done %d times, want %d; %d failures", done, want, failures)
			}
		}
		stop()
		ended.Wait()
	})
}
