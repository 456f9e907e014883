package router

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ParseRate reads "20/m", "30/s", "5/h" as events a second with the number as
// burst. "off" is no limit: zero, zero.
func ParseRate(s string) (perSecond float64, burst int, err error) {
	if s == "off" {
		return 0, 0, nil
	}
	number, unit, ok := strings.Cut(s, "/")
	n, err := strconv.Atoi(number)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if !ok || err != nil || n <= 0 || per == 0 {
		return 0, 0, fmt.Errorf("rate %q: want a number and s, m or h, such as \"20/m\", or \"off\"", s)
	}
	return float64(n) / per.Seconds(), n, nil
}

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

func (b *bucket) take() { b.tokens-- }

// tooFastQuiet is for how long a person who was told of being too fast is not told
// again, unless a message was taken meanwhile.
const tooFastQuiet = time.Minute

// personRates holds how fast each person may write.
type personRates struct {
	rate  float64
	burst int

	mu      sync.Mutex
	buckets map[string]*personBucket
}

type personBucket struct {
	bucket
	told time.Time // when the person was told of being too fast; zero: not since the last message that was taken
}

func newPersonRates(setting string) (*personRates, error) {
	rate, burst, err := ParseRate(setting)
	if err != nil {
		return nil, fmt.Errorf("router.rate_person: %w", err)
	}
	return &personRates{rate: rate, burst: burst, buckets: map[string]*personBucket{}}, nil
}

// allow counts one message of person and says whether it is within the rate, and
// where it is not, whether to tell the person, who is not told of each.
func (p *personRates) allow(person string, now time.Time) (ok, tell bool) {
	if p.rate == 0 {
		return true, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets[person]
	if b == nil {
		p.forgetIdle(now)
		b = &personBucket{bucket: newBucket(p.rate, p.burst, now)}
		p.buckets[person] = b
	}
	if b.wait(now) == 0 {
		b.take()
		b.told = time.Time{}
		return true, false
	}
	if !b.told.IsZero() && now.Sub(b.told) < tooFastQuiet {
		return false, false
	}
	b.told = now
	return false, true
}

// more counts what was allowed once more: it weighs more than a message.
func (p *personRates) more(person string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[person]; b != nil {
		b.take()
	}
}

// untold takes back that person was told: it could not be committed.
func (p *personRates) untold(person string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[person]; b != nil {
		b.told = time.Time{}
	}
}

// forgetIdle drops full buckets, so that the map holds only who wrote lately.
func (p *personRates) forgetIdle(now time.Time) {
	for person, b := range p.buckets {
		if b.wait(now); b.tokens >= b.burst {
			delete(p.buckets, person)
		}
	}
}
