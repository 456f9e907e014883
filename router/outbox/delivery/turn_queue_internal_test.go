package delivery

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
)

// A crowd takes rights as senders do and notes in which order.
type crowd struct {
	limits *limits
	rates  channels.Rates
	mu     sync.Mutex
	order  []string
	at     map[string]time.Duration // when the latest part of each went
	began  time.Time
	sends  sync.WaitGroup
}

func newCrowd(rates channels.Rates) *crowd {
	l := newLimits()
	return &crowd{limits: l, rates: rates, at: map[string]time.Duration{}, began: time.Now()}
}

func (c *crowd) send(conv string, parts int) {
	c.sends.Go(func() {
		for parts > 0 {
			wait := c.limits.take(channels.ConversationID(conv), c.rates, time.Now())
			if wait > 0 {
				time.Sleep(wait)
				continue
			}
			parts--
			c.mu.Lock()
			c.order = append(c.order, conv)
			c.at[conv] = time.Since(c.began)
			c.mu.Unlock()
			time.Sleep(time.Millisecond) // the send
		}
	})
	synctest.Wait()
}

// Whoever came first goes first, and after each part to the end of the line.
func TestFirstComeGoesFirstUnderOneLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(channels.Rates{PerSecond: 1})
		c.send("long", 50)
		time.Sleep(100 * time.Millisecond)
		var want []string
		for i := range 5 {
			conv := fmt.Sprint("short ", i)
			want = append(want, conv)
			c.send(conv, 1)
		}
		time.Sleep(7 * time.Second)
		c.mu.Lock()
		got := slices.Clone(c.order)
		c.mu.Unlock()
		if want = append([]string{"long", "long"}, want...); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		c.sends.Wait()
		if took := time.Since(c.began); took > 60*time.Second {
			t.Errorf("55 parts took %s", took)
		}
	})
}

// A hundred conversations of ten parts each get the channel's whole budget, and end
// about together.
func TestTurnsUseTheWholeBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(channels.Rates{PerSecond: 30, PerConversationSecond: 1})
		for i := range 100 {
			c.send(fmt.Sprint(i), 10)
		}
		c.sends.Wait()
		first, last := time.Hour, time.Duration(0)
		for _, at := range c.at {
			first, last = min(first, at), max(last, at)
		}
		if last > 37*time.Second || last-first > 10*time.Second {
			t.Errorf("the first is done after %s, the last after %s", first, last)
		}
	})
}

// One that its own limit holds back, for an hour or for a second, holds up nobody.
func TestOwnLimitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(channels.Rates{PerSecond: 5, PerConversationSecond: 1})
		c.send("slow", 1)
		c.limits.pause("slow", &channels.RateLimitError{RetryAfter: time.Hour}, 0, time.Now())
		c.send("slow", 1)
		for i := range 5 {
			c.send(fmt.Sprint(i), 30)
		}
		time.Sleep(34 * time.Second)
		c.mu.Lock()
		sent := len(c.order)
		c.mu.Unlock()
		if sent != 151 {
			t.Errorf("%d parts went meanwhile", sent)
		}
		c.sends.Wait()
		if at := c.at["slow"]; at < time.Hour || at > time.Hour+2*time.Second {
			t.Errorf("the slow one went after %s", at)
		}
	})
}

// One that waits and never comes back is not waited for.
func TestOneThatLeftTheLineIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		rates := channels.Rates{PerSecond: 1}
		l.take("first", rates, time.Now())
		time.Sleep(l.take("gone", rates, time.Now()))
		if wait := l.take("other", rates, time.Now()); wait == 0 || wait > 2*time.Second {
			t.Errorf("it overtakes, or waits %s", wait)
		}
		if next, ok := l.next(time.Now()); !ok || next != "gone" {
			t.Errorf("it is the turn of %q, %t", next, ok)
		}
		time.Sleep(awaited + 100*time.Millisecond)
		if wait := l.take("other", rates, time.Now()); wait != 0 {
			t.Errorf("it waits another %s", wait)
		}
	})
}
