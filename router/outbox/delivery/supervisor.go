package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
)

const (
	// reconnectMin is the pause after a connection that failed; it doubles to reconnectMax
	// until the platform speaks again.
	reconnectMin = 500 * time.Millisecond
	reconnectMax = 15 * time.Second
	// standoffMin and standoffMax are the same for what time does not fix: another
	// program that has the connection, or credentials that are refused or missing.
	standoffMin   = 5 * time.Second
	standoffMax   = 5 * time.Minute
	standoffReset = time.Minute // a connection that spoke for so long was ours
	probeTimeout  = 10 * time.Second
	// downAfter is for how long a channel may be away before that is no passing trouble.
	downAfter = 5 * time.Minute
	downPoll  = 20 * time.Second
)

// A supervisor keeps a channel connected, and is the sink of its events.
type supervisor struct {
	*adapter
	*health
	trouble trouble // connect's alone
	name    string
	accept  func(context.Context, []channels.Event) ([]channels.Receipt, error)
	marks   func(ctx context.Context, channel string) ([]channels.Mark, error)
	active  func() // the state is another one
	log     *slog.Logger
}

// forget forgets the connections of a former adapter.
func (s *supervisor) forget() {
	s.trouble = trouble{}
	s.note(func(c *condition) {
		c.state, c.since, c.reason, c.up = channels.StateWaiting, time.Now(), "", make(chan struct{})
	})
}

// connect runs the channel, and again after a pause that grows while it fails.
func (s *supervisor) connect(ctx context.Context) {
	defer s.note(func(c *condition) { c.next = time.Time{} })
	var fails, standoffs int // in a row
	for ctx.Err() == nil {
		s.note(func(c *condition) { c.first, c.over, c.next = time.Time{}, false, time.Time{} })
		if !needsCredentials(s.trouble.fault) {
			if s.set(channels.StateConnecting, s.trouble.String()) {
				s.active()
			}
		}
		if s.reader() != nil {
			s.Received() // its clients are as near as this program
		}
		err := s.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errEnded
		}
		was := s.now()
		spoke := !was.first.IsZero()
		if spoke {
			fails = 0
		}
		if spoke && was.lastFrame.Sub(was.first) >= standoffReset {
			standoffs = 0
		}
		var wait time.Duration
		switch {
		case needsCredentials(err):
			wait, fails = standoffMin, 0 // Run asks nobody while the credential is the same
		case errors.Is(err, channels.ErrElsewhere):
			wait = jittered(retry.Pause(standoffs, standoffMin, standoffMax), standoffMax)
			standoffs++
		default:
			wait = jittered(retry.Pause(fails, reconnectMin, reconnectMax), reconnectMax)
			if limited, ok := errors.AsType[*channels.RateLimitError](err); ok {
				wait = max(wait, limited.RetryAfter)
			}
			fails++
		}
		if !needsCredentials(err) {
			s.note(func(c *condition) { c.next = time.Now().Add(wait) })
		}
		s.judge(ctx, err, spoke)
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
func (s *supervisor) listen(ctx context.Context) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watching sync.WaitGroup
	if pulse, ok := s.channel().(channels.Pulse); ok && pulse.Silence() > 0 {
		watching.Go(func() { s.watch(running, end, pulse.Silence()) })
	}
	err := s.channel().Run(running, s)
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
func (s *supervisor) watch(ctx context.Context, end context.CancelCauseFunc, silence time.Duration) {
	made := time.Now()
	for rest := silence; rest > 0; {
		if !retry.Sleep(ctx, rest) {
			return
		}
		latest := s.now().lastFrame
		if latest.Before(made) {
			latest = made
		}
		rest = time.Until(latest.Add(silence))
	}
	state, reason := channels.StateDeaf, "nothing came for "+silence.String()
	if prober, ok := s.channel().(channels.Prober); ok {
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
	s.note(func(c *condition) { c.over = true })
	s.setState(ctx, state, reason+"; connecting again")
	end(errDeaf)
}

// judge says what the end of a connection means for the channel's state; spoke says that the platform
// had spoken on it.
func (s *supervisor) judge(ctx context.Context, err error, spoke bool) {
	s.trouble.note(err, spoke)
	reason := s.trouble.String()
	switch {
	case errors.Is(err, errDeaf): // watch said it
	case errors.Is(err, channels.ErrNoCredentials):
		s.setState(ctx, channels.StateWaiting, reason)
	case spoke && !needsCredentials(err) && !errors.Is(err, channels.ErrElsewhere):
		s.setState(ctx, channels.StateConnecting, "the connection was lost: "+reason)
	default:
		acts := ""
		switch {
		case errors.Is(err, channels.ErrUnauthorized):
			acts = "is not connected, its credentials are rejected"
		case errors.Is(err, channels.ErrStopped):
			acts = "is not connected, and is not tried again"
		}
		s.note(func(c *condition) { c.acts = acts })
		s.setState(ctx, channels.StateError, reason)
	}
}

// setState changes the channel's state, and logs what is news.
func (s *supervisor) setState(ctx context.Context, state channels.State, reason string) {
	if !s.set(state, reason) {
		return
	}
	s.active()
	level, said := slog.LevelWarn, "channel connects again"
	switch state {
	case channels.StateDeaf:
		said = "channel is deaf"
	case channels.StateError:
		said = "channel is not connected"
	case channels.StateWaiting:
		level, said = slog.LevelInfo, "channel waits"
	}
	s.log.Log(ctx, level, said, "state", string(state), "reason", reason)
}

// Accept takes in what comes from the channel.
func (s *supervisor) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	s.spoke(ctx, len(batch) > 0)
	return s.accept(ctx, batch)
}

// Marks are those that the channel's events brought.
func (s *supervisor) Marks(ctx context.Context) ([]channels.Mark, error) {
	return s.marks(ctx, s.name)
}

// Received notes that the platform spoke.
func (s *supervisor) Received() { s.spoke(context.Background(), false) }

func (s *supervisor) spoke(ctx context.Context, event bool) {
	connector, ok := s.channel().(channels.Connector)
	if s.received(event, !ok || connector.Connected()) {
		s.active()
		s.log.InfoContext(ctx, "channel is connected")
	}
}

// watchDown notifies once of each time that the channel is away for long, until ctx ends.
func (s *supervisor) watchDown(ctx context.Context, notify func(text string)) {
	var told time.Time
	began := time.Now() // before that it was another engine's, or nobody's
	for retry.Sleep(ctx, downPoll) {
		now := s.now()
		since := now.down
		if since.Before(began) && !since.IsZero() {
			since = began
		}
		if since.IsZero() || since.Equal(told) || now.acts == "" && time.Since(since) < downAfter {
			continue
		}
		told = since
		text := "The channel " + render.Escape(s.name) + " " + cmp.Or(now.acts, "has been away since "+since.UTC().Format("15:04 UTC"))
		if now.reason != "" {
			text += ": " + render.Escape(words.OneLine(now.reason, 300))
		}
		notify(text + ".")
	}
}
