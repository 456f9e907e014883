package router

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"switchboard/router/outbox/delivery"
)

// tooFastQuiet is for how long a person who was notified of being too fast is not
// notified again.
const tooFastQuiet = time.Minute

// personRates holds how fast each person may write.
type personRates struct {
	mu      sync.Mutex
	rate    float64
	burst   float64
	buckets map[string]personBucket
}

// A personBucket lets through so many a second, with a burst.
type personBucket struct {
	rate, burst, tokens float64
	last                time.Time
	notified            time.Time // when the person was notified of being too fast; zero: never
}

// fill adds what may pass since the last time, and says whether one may.
func (b *personBucket) fill(now time.Time) bool {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	return b.tokens >= 1
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
		p.rate, p.burst, p.buckets = rate, float64(burst), map[string]personBucket{}
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
	if b.fill(at) {
		return charge{bucket: name, at: at, weight: weight}
	}
	return charge{bucket: name, at: at, notified: b.notified.IsZero() || at.Sub(b.notified) >= tooFastQuiet}
}

// count does what was judged.
func (b *personBucket) count(c charge) {
	switch {
	case c.weight > 0:
		if c.at.After(b.last) {
			b.fill(c.at)
		}
		b.tokens -= c.weight
	case c.notified:
		b.notified = c.at
	}
}

// bucket is the bucket of that name, which is full at that time if there is none.
func (p *personRates) bucket(name string, at time.Time) personBucket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of(name, at)
}

// of is bucket under the lock.
func (p *personRates) of(name string, at time.Time) personBucket {
	if b, known := p.buckets[name]; known {
		return b
	}
	return personBucket{rate: p.rate, burst: p.burst, tokens: p.burst, last: at}
}

// count counts an event that is committed. Full buckets of people whom a notice of now would reach are dropped, so that
// the map holds only who wrote lately.
func (p *personRates) count(c charge) {
	if c.bucket == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.buckets[c.bucket]; !known {
		now := time.Now()
		maps.DeleteFunc(p.buckets, func(_ string, b personBucket) bool {
			return b.fill(now) && b.tokens >= b.burst && now.Sub(b.notified) >= tooFastQuiet
		})
	}
	b := p.of(c.bucket, c.at)
	b.count(c)
	p.buckets[c.bucket] = b
}
