package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	// reconnectMin is the pause after a connection that failed; it doubles to reconnectMax
	// until the platform speaks again.
	reconnectMin = 500 * time.Millisecond
	reconnectMax = 15 * time.Second
	// standoffMin and standoffMax are the same for what time does not mend: another
	// program that has the connection, or credentials that are refused or missing.
	standoffMin   = 5 * time.Second
	standoffMax   = 5 * time.Minute
	standoffReset = time.Minute // a connection that spoke for so long was ours
	probeTimeout  = 10 * time.Second
)

// Statuses tells how each channel's connection is, in the order of their names.
func (ls *Connections) Statuses() []channels.Status {
	var list []channels.Status
	for _, l := range ls.all() {
		if l.Attached() {
			list = append(list, l.health.status(l))
		}
	}
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// health is what is known of a channel's connection.
type health struct {
	mu        sync.Mutex
	state     channels.State
	since     time.Time
	reason    string
	lastFrame time.Time
	lastEvent time.Time
	down      time.Time     // since when it is not connected; zero: it is
	acts      string        // what somebody must act on, as notices say it; empty: it may pass
	first     time.Time     // when the present connection first spoke; zero: it did not
	over      bool          // the present connection is being ended: what it still says is no sign of life
	next      time.Time     // when a new connection is made; zero: one is there, or none is to be
	up        chan struct{} // closed at the first frame of all
}

func newHealth() *health {
	return &health{state: channels.StateWaiting, since: time.Now(), down: time.Now(), up: make(chan struct{})}
}

func (h *health) status(l *Connection) channels.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	reason := h.reason
	if wait := time.Until(h.next); wait > 0 {
		reason += fmt.Sprintf("; next try in %s", max(wait.Round(time.Second), time.Second))
	}
	return channels.Status{
		Name: l.Name, Kind: l.Kind, State: h.state, Since: h.since, Reason: reason,
		LastFrame: h.lastFrame, LastEvent: h.lastEvent,
	}
}

// reset forgets the connections of a former adapter.
func (h *health) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.since, h.reason, h.up = channels.StateWaiting, time.Now(), "", make(chan struct{})
}

// set changes the state, and says whether that is news.
func (h *health) set(state channels.State, reason string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if news = h.state != state; news {
		h.state, h.since = state, time.Now()
		if h.down.IsZero() {
			h.down = h.since
		}
	}
	news = news || h.reason != reason
	h.reason = reason
	return news
}

// began notes that a new connection is made.
func (h *health) began() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first, h.over, h.next = time.Time{}, false, time.Time{}
}

// rests notes that the next connection is made after so long.
func (h *health) rests(wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = time.Now().Add(wait)
}

// ends notes that the present connection is being ended.
func (h *health) ends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// received notes that the platform spoke, on a connection that is good, and says whether the
// channel was not connected before.
func (h *health) received(event, good bool) (up bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.lastFrame = now
	if event {
		h.lastEvent = now
	}
	if !good {
		return false
	}
	if h.first.IsZero() && !h.over {
		h.first = now
		if h.state != channels.StateConnected {
			h.state, h.since, h.reason, up = channels.StateConnected, now, "", true
			h.down, h.acts = time.Time{}, ""
		}
	}
	select {
	case <-h.up:
	default:
		close(h.up)
	}
	return up
}

// responded says whether the platform spoke on the present connection.
func (h *health) responded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.first.IsZero()
}

// ended notes whether somebody must act on how the connection ended.
func (h *health) ended(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.acts = ""; {
	case errors.Is(err, channels.ErrUnauthorized):
		h.acts = "is not connected, its credentials are rejected"
	case errors.Is(err, channels.ErrStopped):
		h.acts = "is not connected, and is not tried again"
	}
}

// downSince is since when the channel is not connected, what somebody must act on, and why;
// zero: it is.
func (h *health) downSince() (since time.Time, acts, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down, h.acts, h.reason
}

// alive is how long the present connection has spoken.
func (h *health) alive() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first.IsZero() {
		return 0
	}
	return h.lastFrame.Sub(h.first)
}

// silentSince is when the platform last spoke on a connection made then.
func (h *health) silentSince(made time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lastFrame.After(made) {
		return h.lastFrame
	}
	return made
}

// trouble is a row of connections on which the platform never spoke.
type trouble struct {
	fault error // how the latest connection ended
	times int
	since time.Time
}

// note adds how a connection ended; spoke says that the platform had spoken on it.
func (t *trouble) note(fault error, spoke bool) {
	if t.fault = fault; spoke {
		t.times = 0
		return
	}
	if t.times == 0 {
		t.since = time.Now()
	}
	t.times++
}

// String says what the trouble is and how long it lasts; empty: there is none.
func (t *trouble) String() string {
	switch {
	case t.fault == nil:
		return ""
	case t.times > 1 && !needsCredentials(t.fault):
		return fmt.Sprintf("%v (%d times since %s)", t.fault, t.times, t.since.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return t.fault.Error()
}

// connect runs the channel, and again after a pause that grows while it fails.
func (l *Connection) connect(ctx context.Context) {
	var fails, standoffs int // in a row
	for ctx.Err() == nil {
		l.health.began()
		if !needsCredentials(l.trouble.fault) {
			l.health.set(channels.StateConnecting, l.trouble.String())
		}
		if l.reader() != nil {
			sink{l}.Received() // its clients are as near as this program
		}
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errEnded
		}
		if l.health.responded() {
			fails = 0
		}
		if l.health.alive() >= standoffReset {
			standoffs = 0
		}
		var wait time.Duration
		switch {
		case needsCredentials(err):
			wait, fails = standoffMin, 0 // Run asks nobody while the credential is the same
		case errors.Is(err, channels.ErrElsewhere):
			wait = jittered(retry.Pause(standoffs, standoffMin, standoffMax), standoffMax)
			standoffs++
			l.health.rests(wait)
		default:
			wait = jittered(retry.Pause(fails, reconnectMin, reconnectMax), reconnectMax)
			if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
				wait = max(wait, limited.RetryAfter)
			}
			fails++
			l.health.rests(wait)
		}
		l.judge(ctx, err)
		retry.Sleep(ctx, wait)
	}
}

// needsCredentials says that to connect again makes no sense before the settings change.
func needsCredentials(err error) bool {
	return errors.Is(err, channels.ErrUnauthorized) || errors.Is(err, channels.ErrNoCredentials) || errors.Is(err, channels.ErrStopped)
}

// jittered is pause, a fifth more or less but no more than most, so that what broke at
// once does not come back at once.
func jittered(pause, most time.Duration) time.Duration {
	return min(pause*4/5+rand.N(pause*2/5), most)
}

var (
	// errDeaf ends a connection on which nothing comes any more.
	errDeaf  = errors.New("nothing came on the connection")
	errEnded = errors.New("the connection ended")
)

// listen runs the channel once, and ends it when it is silent for longer than it
// can be while it is well.
func (l *Connection) listen(ctx context.Context) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watching sync.WaitGroup
	if pulse, ok := l.channel().(channels.Pulse); ok && pulse.Silence() > 0 {
		watching.Go(func() { l.watch(running, end, pulse.Silence()) })
	}
	err := l.channel().Run(running, sink{l})
	cause := context.Cause(running)
	end(nil)
	watching.Wait()
	if errors.Is(cause, errDeaf) {
		return cause
	}
	return err
}

// watch waits until the connection has been silent for too long, asks the platform
// whether it lives, for the record, and ends the connection whatever it says.
func (l *Connection) watch(ctx context.Context, end context.CancelCauseFunc, silence time.Duration) {
	made := time.Now()
	for ctx.Err() == nil {
		rest := time.Until(l.health.silentSince(made).Add(silence))
		if rest > 0 {
			retry.Sleep(ctx, rest)
			continue
		}
		state, reason := channels.StateDeaf, "nothing came for "+silence.String()
		if prober, ok := l.channel().(channels.Prober); ok {
			probing, cancel := context.WithTimeout(ctx, probeTimeout)
			err := prober.Probe(probing)
			cancel()
			if ctx.Err() != nil {
				return // it ended by itself
			}
			if err != nil {
				state, reason = channels.StateError, reason+", and the platform does not answer: "+err.Error()
			} else {
				reason += ", though the platform answers"
			}
		}
		l.health.ends()
		l.setState(ctx, state, reason+"; connecting anew")
		end(errDeaf)
		return
	}
}

// judge says what the end of a connection means for the channel's state.
func (l *Connection) judge(ctx context.Context, err error) {
	spoke := l.health.responded()
	l.trouble.note(err, spoke)
	reason := l.trouble.String()
	switch {
	case errors.Is(err, errDeaf): // watch said it
	case errors.Is(err, channels.ErrNoCredentials):
		l.setState(ctx, channels.StateWaiting, reason)
	case spoke && !needsCredentials(err) && !errors.Is(err, channels.ErrElsewhere):
		l.setState(ctx, channels.StateConnecting, "the connection was lost: "+reason)
	default:
		l.health.ended(err)
		l.setState(ctx, channels.StateError, reason)
	}
}

// setState changes the channel's state, and logs what is news.
func (l *Connection) setState(ctx context.Context, state channels.State, reason string) {
	if !l.health.set(state, reason) {
		return
	}
	log := l.lines.Log.With("channel", l.Name, "state", string(state))
	switch state {
	case channels.StateDeaf:
		log.WarnContext(ctx, "channel is deaf", "reason", reason)
	case channels.StateError:
		log.WarnContext(ctx, "channel is not connected", "reason", reason)
	case channels.StateWaiting:
		log.InfoContext(ctx, "channel waits", "reason", reason)
	default:
		log.WarnContext(ctx, "channel connects anew", "reason", reason)
	}
}

// A sink is what a line's channel hands its events to.
type sink struct{ line *Connection }

// Accept implements channels.Sink.
func (s sink) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	s.received(ctx, len(batch) > 0)
	return s.line.lines.Accept(ctx, batch)
}

// Marks implements channels.Sink.
func (s sink) Marks(ctx context.Context) ([]channels.Mark, error) {
	return s.line.lines.Marks(ctx, s.line.Name)
}

// Received implements channels.Sink.
func (s sink) Received() { s.received(context.Background(), false) }

func (s sink) received(ctx context.Context, event bool) {
	connector, ok := s.line.channel().(channels.Connector)
	if s.line.health.received(event, !ok || connector.Connected()) {
		s.line.lines.Log.InfoContext(ctx, "channel is connected", "channel", s.line.Name)
	}
}
