package outbox

import (
	"slices"
	"time"

	"switchboard/channels"
)

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

// ahead is how many are before conv; those that did not come back are not counted.
func (t *turnQueue) ahead(conv channels.ConversationID, now time.Time) int {
	*t = slices.DeleteFunc(*t, func(w waiter) bool { return w.conv != conv && now.Sub(w.due) > awaited })
	for i, w := range *t {
		if w.conv == conv {
			return i
		}
	}
	return len(*t)
}

// stay keeps conv where it is, or puts it at the end, until it is back at due.
func (t *turnQueue) stay(conv channels.ConversationID, due time.Time) {
	for i := range *t {
		if (*t)[i].conv == conv {
			(*t)[i].due = due
			return
		}
	}
	*t = append(*t, waiter{conv, due})
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
