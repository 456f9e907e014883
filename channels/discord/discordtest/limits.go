package discordtest

import (
	"hash/crc32"
	"net/http"
	"strconv"
	"time"

	"switchboard/channels/platformtest"
)

// Rates are the platform's limits. The real ones are told by headers alone and change; these
// are what people measured.
type Rates struct {
	Calls  int // within Window, for each route and channel; 0: no limit
	Window time.Duration
	Global int // calls a second over everything; 0: no limit
}

// DefaultRates are what the platform is like.
//
// Source: https://docs.discord.com/developers/topics/rate-limits#global-rate-limit.
var DefaultRates = Rates{Calls: 5, Window: 5 * time.Second, Global: 50}

// limits are the buckets by route and channel.
type limits struct {
	rates   Rates
	buckets map[string]*bucket
	global  platformtest.Window
	refused int
	invalid int
}

type bucket struct {
	used  int
	reset time.Time
}

// Limit makes the server refuse with 429 what goes beyond r. At first those are DefaultRates.
func (s *calls) Limit(r Rates) {
	s.Change(func() { s.limits = newLimits(r) })
}

func newLimits(r Rates) limits {
	return limits{rates: r, buckets: map[string]*bucket{}, global: platformtest.Window{Span: time.Second, Most: r.Global}}
}

// Refused counts the calls that were refused by Limit.
func (s *calls) Refused() int {
	s.Lock()
	defer s.Unlock()
	return s.limits.refused
}

// Invalid counts the calls that the platform counts against the limit of invalid requests.
//
// Source: https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
func (s *calls) Invalid() int {
	s.Lock()
	defer s.Unlock()
	return s.limits.invalid
}

// limit counts a call of a route about a channel, says so in the header, and refuses it where
// it is one too many. It is called under the lock.
func (s *calls) limit(header http.Header, route, major string) *Rejection {
	l, now := &s.limits, s.Now()
	if wait := l.global.Wait(now, 1); wait > 0 {
		l.refused++
		return TooMany(wait, true)
	}
	l.global.Add(now, 1)
	if l.rates.Calls == 0 {
		return nil
	}
	b := l.buckets[route+" "+major]
	if b == nil || !now.Before(b.reset) {
		b = &bucket{reset: now.Add(l.rates.Window)}
		l.buckets[route+" "+major] = b
	}
	left := b.reset.Sub(now)
	b.used++
	header.Set("X-RateLimit-Bucket", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(route))), 16))
	header.Set("X-RateLimit-Limit", strconv.Itoa(l.rates.Calls))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(max(l.rates.Calls-b.used, 0)))
	header.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(b.reset.UnixMilli())/1000, 'f', 3, 64))
	header.Set("X-RateLimit-Reset-After", strconv.FormatFloat(left.Seconds(), 'f', 3, 64))
	if b.used > l.rates.Calls {
		l.refused++
		return TooMany(left, false)
	}
	return nil
}
