package delivery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
)

// busiest is the most of times that lie in any span of per.
func busiest(times []time.Time, per time.Duration) int {
	most := 0
	for i, from := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(from) < per {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// sendAll takes n rights in conv as fast as the limiter lets it.
func sendAll(l *limits, conv channels.ConversationID, rates channels.Rates, n int) []time.Time {
	var times []time.Time
	for len(times) < n {
		wait := l.take(conv, rates, time.Now())
		if wait == 0 {
			times = append(times, time.Now())
		}
		time.Sleep(wait)
	}
	return times
}

func TestLimitsHoldInEverySpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		setting string
		rates   channels.Rates
		n       int
		per     time.Duration
		most    int
		atMost  time.Duration
	}{
		{"30/s over the channel", "default", channels.Rates{PerSecond: 30}, 150, time.Second, 30, 5 * time.Second},
		{"1/s in a conversation", "default", channels.Rates{PerSecond: 30, PerConversationSecond: 1}, 10, time.Second, 1, 10 * time.Second},
		{"20/min in a group", "default", channels.Rates{PerConversationSecond: 1, PerConversationMinute: 20}, 60, time.Minute, 20, 3 * time.Minute},
		{"one in two seconds", "default", channels.Rates{PerSecond: 0.5}, 5, 2 * time.Second, 1, 10 * time.Second},
		{"the settings' own", "10/s", channels.Rates{PerSecond: 30}, 40, time.Second, 10, 4 * time.Second},
		{"off", "off", channels.Rates{PerSecond: 1, PerConversationSecond: 1, PerConversationMinute: 1}, 100, time.Second, 100, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLimits()
				if err := l.setRate(c.setting); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				times := sendAll(l, "c", c.rates, c.n)
				if got := busiest(times, c.per); got > c.most {
					t.Errorf("%d within %s, want %d at most", got, c.per, c.most)
				}
				if d := time.Since(began); d > c.atMost {
					t.Errorf("%d took %s, want %s at most", c.n, d, c.atMost)
				}
			})
		})
	}
}

func TestLimitsGiveBackAndForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		rates := channels.Rates{PerSecond: 1, PerConversationSecond: 1, PerConversationMinute: 1}
		for range 3 {
			if wait := l.take("c", rates, time.Now()); wait != 0 {
				t.Fatalf("what was given back is not there: wait %s", wait)
			}
			l.release("c", false)
		}
		l.take("c", rates, time.Now())
		l.forget("c", time.Now())
		if len(l.convs) != 1 {
			t.Error("forgotten while its minute runs")
		}
		time.Sleep(2 * time.Minute)
		l.forget("c", time.Now())
		if len(l.convs) != 0 {
			t.Error("an idle conversation is kept")
		}
	})
}

// What was forgotten too early goes later, though nobody comes back to it.
func TestLimitsOfIdleConversationsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		rates := channels.Rates{PerConversationSecond: 1, PerConversationMinute: 20}
		for i := range 100 {
			conv := channels.ConversationID(fmt.Sprintf("c%d", i))
			l.take(conv, rates, time.Now())
			time.Sleep(2 * time.Second) // as long as its sender waits for more
			l.forget(conv, time.Now())
			l.spare(conv+" shown", rates, time.Now())
		}
		if n := len(l.convs); n > 2*60 {
			t.Errorf("%d conversations are kept", n)
		}
	})
}

// A draft that did not go says nothing of the one send by which an ill channel is
// tried.
func TestDraftEndsNoTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		rates := channels.Rates{PerSecond: 30, PerConversationSecond: 1}
		if !l.spare("shown", rates, time.Now()) {
			t.Fatal("no draft")
		}
		time.Sleep(time.Second)
		l.failed(time.Now(), time.Now())
		time.Sleep(2 * time.Second)
		if wait := l.take("a", rates, time.Now()); wait != 0 {
			t.Fatalf("the trial waits %s", wait)
		}
		l.release("shown", true)
		if wait := l.take("b", rates, time.Now()); wait == 0 {
			t.Error("two are tried at once")
		}
	})
}

func TestPauseHoldsUntilTheLatestTimeAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		_ = l.setRate("off") // what the platform refuses counts all the same
		now := time.Now()
		l.take("c", channels.Rates{}, now)
		l.pause("c", &channels.RateLimitError{RetryAfter: 7 * time.Second}, time.Minute, now)
		l.pause("c", &channels.RateLimitError{}, time.Second, now)
		if wait := l.take("c", channels.Rates{}, now); wait != 7*time.Second {
			t.Errorf("the conversation waits %s", wait)
		}
		if wait := l.take("d", channels.Rates{}, now); wait != 0 {
			t.Errorf("another conversation waits %s", wait)
		}
		l.pause("c", &channels.RateLimitError{RetryAfter: 3 * time.Second, Channel: true}, time.Minute, now)
		if wait := l.take("d", channels.Rates{}, now); wait != 3*time.Second {
			t.Errorf("the channel waits %s", wait)
		}
		if l.spare("d", channels.Rates{}, now) || l.spareOf(channels.Rates{}, now) {
			t.Error("a draft goes while the channel is paused")
		}
	})
}

func TestDraftsTakeSpareBudgetOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		rates := channels.Rates{PerSecond: 30, PerConversationSecond: 1, PerConversationMinute: 20}
		drafts := func(conv channels.ConversationID, n int) (went int) {
			for range n {
				if l.spare(conv, rates, time.Now()) {
					went++
				}
			}
			return went
		}
		if n := drafts("c", 5); n != 1 {
			t.Errorf("%d drafts at once in one conversation", n)
		}
		if wait := l.take("c", rates, time.Now()); wait != 0 {
			t.Errorf("a part waits %s for a draft", wait)
		}
		if wait := l.take("c", rates, time.Now()); wait < time.Second {
			t.Errorf("a second part waits %s; one place was lent, not two", wait)
		}
		time.Sleep(1500 * time.Millisecond)
		if n := drafts("c", 5); n != 0 {
			t.Errorf("%d drafts went before a part that waits", n)
		}
		time.Sleep(2 * time.Minute)

		// Half of the group's minute stays for parts.
		went := 0
		for range 58 {
			went += drafts("g", 1)
			time.Sleep(time.Second)
		}
		if went != 10 {
			t.Errorf("%d drafts in the group's minute, want 10", went)
		}
		time.Sleep(2 * time.Minute)

		// Half of the channel's second stays for parts.
		went = 0
		for i := range 40 {
			went += drafts(channels.ConversationID(rune('a'+i)), 1)
		}
		for l.spareOf(rates, time.Now()) {
			went++
		}
		if went != 15 {
			t.Errorf("%d drafts in the channel's second, want 15", went)
		}
		for i := range 15 {
			if wait := l.take(channels.ConversationID(rune('A'+i)), rates, time.Now()); wait != 0 {
				t.Fatalf("part %d waits %s for drafts", i, wait)
			}
		}
	})
}
