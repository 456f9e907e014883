package outbox

import (
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// trialAtMost is how long an ill channel waits for the end of one send before
// it tries another.
const trialAtMost = 5 * time.Second

// illness is what failures say of a whole channel. Each pauses it, longer every time,
// and after the pause one send at a time is tried until the platform answers one: what
// has not been tried is not uncertain either.
type illness struct {
	pauses int       // in a row
	since  time.Time // when the latest of them began
	trial  time.Time // until when the end of one send is awaited; zero: none is under way
}

func (i *illness) wait(now time.Time) time.Duration {
	if i.pauses == 0 {
		return 0
	}
	return max(i.trial.Sub(now), 0)
}

func (i *illness) take(now time.Time) {
	if i.pauses > 0 {
		i.trial = now.Add(trialAtMost)
	}
}

// over notes that the trial is over, if there is one.
func (i *illness) over() (was bool) {
	was = !i.trial.IsZero()
	i.trial = time.Time{}
	return was
}

// failed notes that a send which began then failed for the whole channel, and pauses
// it until then. A send that began before the latest pause failed of the same cause,
// and is no news.
func (l *limits) failed(began, now time.Time) (until time.Time, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !began.After(l.ill.since) {
		return l.whole.until, false
	}
	until = now.Add(retry.Pause(l.ill.pauses, retryMin, retryMax))
	l.ill = illness{pauses: l.ill.pauses + 1, since: now}
	l.whole.pause(until)
	return until, true
}

// answered notes that the platform answered a send which began then; news says that it
// did not before.
func (l *limits) answered(began time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ill.pauses == 0 || !began.After(l.ill.since) {
		return false
	}
	l.ill = illness{since: l.ill.since}
	return true
}

// illSince is when a send last failed for the whole channel; zero: none did.
func (l *limits) illSince() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ill.since
}

// noAnswer notes that the end of a send says nothing of the channel; news says that
// others wait for it.
func (l *limits) noAnswer() (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ill.over()
}

// ownAfter is how many failures of one head, with others answered in between, make all
// that follow its own.
const ownAfter = 3

// A stuckHead is the head of a conversation whose latest send failed.
type stuckHead struct {
	delivery  int64
	at        time.Time // its latest failure
	times     int
	alone     int  // failures before which others were answered
	uncertain bool // nobody knows whether it arrived
	// decided, with uncertain: it is sent once more, as soon as the platform takes messages.
	decided bool
	silent  time.Time // since when the platform does not say whether it arrived, though it is there; zero: it may be away
}

// noteAnswer notes that the platform answered a send of d which began then. What
// waits for that goes on.
func (s *sender) noteAnswer(d *Delivery, began time.Time) {
	conv := d.Conversation.ID
	s.mu.Lock()
	s.of(conv).failing = nil
	s.latestIll = 0
	if began.After(s.answered) {
		s.answered = began
	}
	s.mu.Unlock()
	if s.line.limits.answered(began) {
		s.wakeOthers(conv)
	}
}

// pauseChannel notes that a send of d which began then failed for the whole channel,
// and says when d may be tried again. That is after everybody else: if d alone is at
// fault, the others show it.
func (s *sender) pauseChannel(d *Delivery, began, now time.Time) time.Time {
	until, news := s.line.limits.failed(began, now)
	if news {
		s.wakeOthers(d.Conversation.ID)
	}
	return until.Add(max(until.Sub(now), 0) / 4)
}

// A fault is whose it is that the platform could not take a part.
type fault int

const (
	faultChannel fault = iota // the whole channel's: another part failed as well, and none was answered since
	faultLikely               // likely the part's: nothing else fails
	faultOwn                  // the part's: others were answered since it failed before
)

// blame notes that the platform could not take d and says whose fault it is, and how
// long d alone should wait.
func (s *sender) blame(d *Delivery, now time.Time) (whose fault, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of(d.Conversation.ID)
	if c.failing == nil || c.failing.delivery != d.ID {
		c.failing = &stuckHead{delivery: d.ID, at: now}
	}
	f := c.failing
	others := s.answered.After(f.at)
	if others {
		f.alone++
	}
	f.at = now
	pause = retry.Pause(f.times, retryMin, retryMax)
	f.times++
	only := s.latestIll == 0 || s.latestIll == d.ID
	s.latestIll = d.ID
	switch {
	case others || f.alone >= ownAfter:
		return faultOwn, pause
	case f.alone > 0, only:
		return faultLikely, pause
	}
	return faultChannel, pause
}

// noteUncertain notes that nobody knows whether d arrived.
func (s *sender) noteUncertain(d *Delivery, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(d.Conversation.ID).failing = &stuckHead{delivery: d.ID, at: now, uncertain: true}
}

// decided notes that it is decided what to do about the uncertain head of conv: it is repeated,
// or something that needs no sign.
func (s *sender) decided(conv channels.ConversationID, repeats bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of(conv); repeats && c.failing != nil {
		c.failing.decided = true
	} else {
		c.failing = nil
	}
}

// waitsForTurn notes that conv may be waiting for the limiter, or for a sign that the
// platform takes messages.
func (s *sender) waitsForTurn(conv channels.ConversationID, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(conv).waits = waits
}

// wakeOthers makes the conversations that wait for their turn look anew when it is.
func (s *sender) wakeOthers(conv channels.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, c := range s.convs {
		if c.waits && other != conv {
			c.look()
		}
	}
}

// wakeNext makes the conversation look whose turn it is, after another did not use its
// own.
func (s *sender) wakeNext(conv channels.ConversationID) {
	next, ok := s.line.limits.next(time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.convs[next]; ok && next != conv && c != nil {
		c.look()
	}
}
