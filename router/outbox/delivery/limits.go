package delivery

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
)

// limits is the one limiter of a channel: of sends, edits and drafts alike, over the
// whole channel and for each conversation, fed by Features.Rates and by what the
// platform refuses.
//
// What only shows that something is being done (drafts) takes spare budget alone: it
// leaves half of what a window lets through to the parts, waits where a part waits,
// and what it takes of a conversation's second is lent: a part that comes meanwhile goes
// as well.
type limits struct {
	mu sync.Mutex
	// adapted are a conversation's rates as the settings want them. Refusals count in any
	// case.
	adapted func(channels.Rates) channels.Rates
	whole   window
	breaker breaker
	turns   turnQueue
	convs   map[channels.ConversationID]*convLimits
	swept   time.Time // when idle conversations were last forgotten
}

// convLimits is one conversation's share of the limiter.
type convLimits struct {
	second, minute window
	draft          time.Time // when the latest draft went
	waits          bool      // a part waits for its turn
}

func newLimits() *limits {
	return &limits{adapted: func(r channels.Rates) channels.Rates { return r }, convs: map[channels.ConversationID]*convLimits{}}
}

// setRate goes by a rate of the settings from now on.
func (l *limits) setRate(setting string) error {
	adapted := func(r channels.Rates) channels.Rates { return r }
	switch setting {
	case "", "default":
	case "off":
		adapted = func(channels.Rates) channels.Rates { return channels.Rates{} }
	default:
		rate, _, err := ParseRate(setting)
		if err != nil {
			return err
		}
		adapted = func(r channels.Rates) channels.Rates { r.PerSecond = rate; return r }
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adapted = adapted
	return nil
}

// forgive forgets the failures of a whole channel: it is connected in another way.
func (l *limits) forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.breaker.opened > 0 {
		l.breaker, l.whole.until = breaker{}, time.Time{}
	}
}

// take takes the right to send or edit one part in conv. When there is none yet it
// takes nothing and says how long to wait; conv keeps its turn if it is back by then.
func (l *limits) take(conv channels.ConversationID, rates channels.Rates, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, turn := l.waits(conv, rates, now)
	switch {
	case own > 0:
		l.turns.leave(conv)
		return own
	case turn > 0:
		l.turns.stay(conv, now.Add(turn))
	}
	return turn
}

// try is take for one that does not wait: it gets the right now, and before nobody
// else, or not at all.
func (l *limits) try(conv channels.ConversationID, rates channels.Rates, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, turn := l.waits(conv, rates, now)
	return own == 0 && turn == 0
}

// waits says how long conv waits for its own limits, and for its turn under the
// channel's. If for neither, the right is taken. Called under the lock.
func (l *limits) waits(conv channels.ConversationID, rates channels.Rates, now time.Time) (own, turn time.Duration) {
	c := l.of(conv, rates, now)
	own = c.second.wait(now)
	if c.draft.After(now.Add(-c.second.per)) {
		own = c.second.waitBehind(-1, now)
	}
	own = max(own, c.minute.wait(now))
	turn = l.turn(l.turns.ahead(conv, now), now)
	c.waits = own > 0 || turn > 0
	if !c.waits {
		l.turns.leave(conv)
		l.breaker.take(now)
		l.whole.take(now)
		c.second.take(now)
		c.minute.take(now)
	}
	return own, turn
}

// spare takes the right to show one draft in conv, or takes nothing and says that
// there is no budget to spare.
func (l *limits) spare(conv channels.ConversationID, rates channels.Rates, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of(conv, rates, now)
	if c.waits || l.breaker.opened > 0 || !l.whole.half(now) || !c.minute.half(now) || c.second.used(now) > 0 || c.second.wait(now) > 0 {
		return false
	}
	l.whole.take(now)
	c.second.take(now)
	c.minute.take(now)
	c.draft = now
	return true
}

// spareOf is spare for what counts over the whole channel alone (typing).
func (l *limits) spareOf(rates channels.Rates, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole.set(l.adapted(rates).PerSecond, time.Second)
	if l.breaker.opened > 0 || !l.whole.half(now) {
		return false
	}
	l.whole.take(now)
	return true
}

// forgetEvery is how often the limits of idle conversations are forgotten.
const forgetEvery = time.Minute

// of is the conversation's limits with the rates as they are now.
func (l *limits) of(conv channels.ConversationID, rates channels.Rates, now time.Time) *convLimits {
	rates = l.adapted(rates)
	l.whole.set(rates.PerSecond, time.Second)
	c := l.convs[conv]
	if c == nil {
		if now.Sub(l.swept) >= forgetEvery {
			l.swept = now
			maps.DeleteFunc(l.convs, func(_ channels.ConversationID, c *convLimits) bool { return c.idle(now) })
		}
		c = &convLimits{}
		l.convs[conv] = c
	}
	c.second.set(rates.PerConversationSecond, time.Second)
	c.minute.set(rates.PerConversationMinute, time.Minute)
	return c
}

// release returns what the latest take took and nobody used; news says that others
// wait for its end. What becomes of a draft says nothing of the one send by which a channel is tried.
func (l *limits) release(conv channels.ConversationID, draft bool) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole.release()
	if c := l.convs[conv]; c != nil {
		c.second.release()
		c.minute.release()
	}
	return !draft && l.breaker.probed()
}

// pause stops what the platform limits, the whole channel or one conversation, for as long as it says, or
// else for so long; it returns until when.
func (l *limits) pause(conv channels.ConversationID, limited *channels.RateLimitError, pause time.Duration, now time.Time) (until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaker.probed()
	until = now.Add(cmp.Or(limited.RetryAfter, pause))
	if limited.Channel {
		l.whole.pause(until)
	} else if c := l.convs[conv]; c != nil {
		c.second.pause(until)
	}
	return until
}

// forget drops what is known of a conversation that has been idle; what its limits
// still count goes later.
func (l *limits) forget(conv channels.ConversationID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns.leave(conv)
	if c := l.convs[conv]; c != nil {
		if c.waits = false; c.idle(now) {
			delete(l.convs, conv)
		}
	}
}

// idle says that nothing would be lost with c.
func (c *convLimits) idle(now time.Time) bool {
	return !c.waits && c.second.idle(now) && c.minute.idle(now)
}

// leeway is added to a window, because what was sent evenly does not arrive evenly.
const leeway = 50 * time.Millisecond

// A window lets most things through in any span of per; the zero window lets
// everything through. Unlike a bucket with a burst it never lets through more, as
// platforms count. What was taken and not used can be released.
type window struct {
	most  int // 0: no limit
	per   time.Duration
	taken []time.Time // within per, oldest first
	until time.Time   // paused
}

// set makes the window one of rate things in unit; less than one is one in a longer
// time.
func (w *window) set(rate float64, unit time.Duration) {
	w.most, w.per = 0, 0
	if rate > 0 {
		w.most = max(1, int(rate))
		w.per = time.Duration(math.Ceil(float64(w.most)/rate*float64(unit))) + leeway
	}
}

// used counts what was taken within per.
func (w *window) used(now time.Time) int {
	n := 0
	for n < len(w.taken) && !w.taken[n].After(now.Add(-w.per)) {
		n++
	}
	w.taken = w.taken[n:]
	return len(w.taken)
}

// wait is how long until one more may pass; zero: now.
func (w *window) wait(now time.Time) time.Duration { return w.waitBehind(0, now) }

// half says whether one more leaves half of the window free.
func (w *window) half(now time.Time) bool {
	return w.until.Sub(now) <= 0 && (w.most == 0 || 2*(w.used(now)+1) <= w.most)
}

func (w *window) take(now time.Time) {
	if w.most > 0 {
		w.taken = append(w.taken, now)
	}
}

func (w *window) release() {
	if n := len(w.taken); n > 0 {
		w.taken = w.taken[:n-1]
	}
}

func (w *window) pause(until time.Time) {
	if until.After(w.until) {
		w.until = until
	}
}

func (w *window) idle(now time.Time) bool { return w.used(now) == 0 && !w.until.After(now) }

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

// RateWords says a rate that ParseRate takes, and that is not "off", for people.
func RateWords(s string) string {
	number, unit, _ := strings.Cut(s, "/")
	n, _ := strconv.Atoi(number)
	return words.Count(n, "message") + map[string]string{"s": " a second", "m": " a minute", "h": " an hour"}[unit]
}

// awaited is how late a conversation may come back for its turn without losing it: the
// others must not wait for one that has nothing to send any more.
const awaited = time.Second

// A turnQueue is the conversations that wait for what the whole channel lets
// through, in the order in which they came to wait. One goes to the end with each part,
// and one that has to wait for its own limit is not in it, so that it holds up nobody.
type turnQueue []waiter

// A waiter will be back at due.
type waiter struct {
	conv channels.ConversationID
	due  time.Time
}

func (t *turnQueue) index(conv channels.ConversationID) int {
	return slices.IndexFunc(*t, func(w waiter) bool { return w.conv == conv })
}

// ahead is how many are before conv; those that did not come back are not counted.
func (t *turnQueue) ahead(conv channels.ConversationID, now time.Time) int {
	*t = slices.DeleteFunc(*t, func(w waiter) bool { return w.conv != conv && now.Sub(w.due) > awaited })
	if i := t.index(conv); i >= 0 {
		return i
	}
	return len(*t)
}

// stay keeps conv where it is, or puts it at the end, until it is back at due.
func (t *turnQueue) stay(conv channels.ConversationID, due time.Time) {
	if i := t.index(conv); i >= 0 {
		(*t)[i].due = due
	} else {
		*t = append(*t, waiter{conv, due})
	}
}

func (t *turnQueue) leave(conv channels.ConversationID) {
	*t = slices.DeleteFunc(*t, func(w waiter) bool { return w.conv == conv })
}

// turn is how long until the whole channel lets through one more behind so many others.
func (l *limits) turn(others int, now time.Time) time.Duration {
	wait := max(l.whole.waitBehind(others, now), l.breaker.wait(now))
	if l.breaker.opened > 0 && others > 0 { // one send is tried, and who waits is woken when it ended
		return max(wait, probeAtMost)
	}
	return wait
}

// next is the conversation whose turn it is, if it could go now.
func (l *limits) next(now time.Time) (conv channels.ConversationID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.turns) == 0 || l.turn(0, now) > 0 {
		return "", false
	}
	return l.turns[0].conv, true
}

// waitBehind is how long until one more may pass behind so many others that go as soon
// as they can; zero: now. It is never later than that. Behind -1 one more passes than may.
func (w *window) waitBehind(others int, now time.Time) time.Duration {
	pause := max(w.until.Sub(now), 0)
	if w.most == 0 {
		return pause
	}
	i := w.used(now) - w.most + others
	switch {
	case i < 0:
		return pause
	case i < len(w.taken):
		return max(pause, w.taken[i].Add(w.per).Sub(now))
	}
	return max(pause, w.per*time.Duration(1+(i-len(w.taken))/w.most))
}
