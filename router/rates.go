package router

import (
	"fmt"
	"sync"
	"time"

	"switchboard/router/outbox/delivery"
)

// A bucket lets through so many a second, with a burst.
type bucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
}

func newBucket(perSecond float64, burst int, now time.Time) bucket {
	return bucket{rate: perSecond, burst: float64(max(burst, 1)), tokens: float64(max(burst, 1)), last: now}
}

// wait is how long until one may pass; zero: now.
func (b *bucket) wait(now time.Time) time.Duration {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	if b.tokens >= 1 {
		return 0
	}
	return time.Duration((1-b.tokens)/b.rate*float64(time.Second)) + time.Microsecond
}

// tooFastQuiet is for how long a person who was notified of being too fast is not
// notified again.
const tooFastQuiet = time.Minute

// personRates holds how fast each person may write.
type personRates struct {
	mu      sync.Mutex
	rate    float64
	burst   int
	buckets map[string]*personBucket
}

type personBucket struct {
	bucket
	notified time.Time // when the person was notified of being too fast; zero: never
}

func newPersonRates(setting string) (*personRates, error) {
	p := &personRates{}
	return p, p.set(setting)
}

// set begins again with another rate: nobody has written yet.
func (p *personRates) set(setting string) error {
	rate, burst, err := delivery.ParseRate(setting)
	if err != nil {
		return fmt.Errorf("router.rate_person: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rate > 0 { // else nobody asks any more
		p.rate, p.burst, p.buckets = rate, burst, map[string]*personBucket{}
	}
	return nil
}

// A charge is what one event counts for in a person's rate.
type charge struct {
	bucket   string // its name; empty: the event is not counted
	at       time.Time
	weight   float64 // 0: the event was too fast
	notified bool    // it was, and the person is notified, who is not notified of each
}

// judge says what an event would count for. One that is older than the newest counted
// counts as if it had happened then.
func (b personBucket) judge(name string, at time.Time, weight float64) charge {
	if at.Before(b.last) {
		at = b.last
	}
	if b.wait(at) == 0 {
		return charge{bucket: name, at: at, weight: weight}
	}
	return charge{bucket: name, at: at, notified: b.notified.IsZero() || at.Sub(b.notified) >= tooFastQuiet}
}

// count does what was judged.
func (b *personBucket) count(c charge) {
	switch {
	case c.weight > 0:
		if c.at.After(b.last) {
			b.wait(c.at)
		}
		b.tokens -= c.weight
	case c.notified:
		b.notified = c.at
	}
}

// bucket is a copy of the bucket of that name, which is full at that time if there is
// none.
func (p *personRates) bucket(name string, at time.Time) personBucket {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[name]; b != nil {
		return *b
	}
	return personBucket{bucket: newBucket(p.rate, p.burst, at)}
}

// count counts an event that is committed.
func (p *personRates) count(c charge) {
	if c.bucket == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets[c.bucket]
	if b == nil {
		p.forgetIdle(time.Now())
		b = &personBucket{bucket: newBucket(p.rate, p.burst, c.at)}
		p.buckets[c.bucket] = b
	}
	b.count(c)
}

// forgetIdle drops full buckets of people whom a notice of now would reach, so that the map holds only who
// wrote lately.
func (p *personRates) forgetIdle(now time.Time) {
	for name, b := range p.buckets {
		if full := *b; full.wait(now) == 0 && full.tokens >= full.burst && now.Sub(full.notified) >= tooFastQuiet {
			delete(p.buckets, name)
		}
	}
}
