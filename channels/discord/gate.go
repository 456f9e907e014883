package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
	"switchboard/internal/secrets"
)

// A session is what outlives a connection: with its ID and the number of the last event that is
// committed it is resumed, and the platform tells again what came after.
//
// Source: https://docs.discord.com/developers/events/gateway#resuming.
type session struct {
	secret    secrets.Secret
	id        string
	url       string
	seq       atomic.Int64       // of the last event that is committed; all before are, too
	unreached int                // connections in a row on which nothing was told
	refused   int                // of these, those that the platform closed
	guilds    map[snowflake]bool // that it began with, or that let the bot in since
	untold    map[snowflake]bool // guilds that it began with, and that were not told yet
	gaps      *gaps              // whose history must be read still
}

// A gate knows how the next connection begins: which session is resumed, or when another one may
// begin.
type gate struct {
	api    *api
	starts starts
	lost   wire.Memory[string, bool] // the IDs of sessions that cannot be resumed

	mu             sync.Mutex
	session        *session // that may be resumed; nil: none
	up             bool     // the present connection is good
	shaky          bool     // the last session that was told anything did not hold
	withoutContent bool     // the platform does not let us have the message content
}

// resumeWithin is how old a session may be that another process left. The platform keeps one for
// some minutes; of an older one it would say the same.
const resumeWithin = 5 * time.Minute

// sessionOf is the session to resume with its address, or a new one.
func (g *gate) sessionOf(ctx context.Context, secret secrets.Secret, sink channels.Sink) (*session, string, error) {
	g.mu.Lock()
	s := g.session
	g.mu.Unlock()
	if s != nil && s.secret == secret {
		return s, g.addressOf(ctx, s), nil
	}
	marks, err := sink.Marks(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("read the marks: %w", err)
	}
	if s, err = g.left(ctx, secret, marks); err != nil {
		return nil, "", err
	}
	if s != nil {
		return s, s.url, nil
	}
	address, err := g.mayBegin(ctx)
	if err != nil {
		return nil, "", err
	}
	return &session{secret: secret, gaps: begun(marks, time.Now())}, address, nil
}

// addressOf is where a session is resumed: at its own address, or where sessions begin when it was
// not reached there.
func (g *gate) addressOf(ctx context.Context, s *session) string {
	if s.unreached > 0 {
		if now, err := g.api.gateway(ctx); err == nil {
			return now.URL
		}
	}
	return s.url
}

// left is the session that a former process of the same bot left, as the newest mark says; nil:
// none that is worth trying.
func (g *gate) left(ctx context.Context, secret secrets.Secret, marks []channels.Mark) (*session, error) {
	if len(marks) == 0 || time.Since(marks[0].At) > resumeWithin {
		return nil, nil
	}
	at, err := parseMark(marks[0])
	if err != nil || at.seq <= 0 || at.url == "-" {
		return nil, nil
	}
	if _, lost := g.lost.Get(at.session); lost {
		return nil, nil
	}
	if _, err := g.api.meet(ctx); err != nil {
		return nil, err
	}
	s := &session{secret: secret, id: at.session, url: at.url, gaps: resumes(marks, at), guilds: map[snowflake]bool{}}
	s.seq.Store(at.seq)
	g.mu.Lock()
	g.session = s
	g.mu.Unlock()
	return s, nil
}

// mayBegin waits until another session may begin, and says where. A longer wait is the caller's,
// as a RateLimitError says.
func (g *gate) mayBegin(ctx context.Context) (address string, err error) {
	g.mu.Lock()
	wait, why := g.starts.wait(g.api.pace, time.Now())
	g.mu.Unlock()
	if wait > g.api.pace.start {
		return "", g.later(wait, why)
	}
	if !retry.Sleep(ctx, wait) {
		return "", ctx.Err()
	}
	now, err := g.api.gateway(ctx)
	if err != nil {
		return "", err
	}
	if now.Shards > 1 {
		return "", errSharded
	}
	g.mu.Lock()
	wait = g.starts.spare(g.api.pace, &now, time.Now())
	g.mu.Unlock()
	if wait > 0 {
		return "", g.later(wait, now.left())
	}
	return now.URL, nil
}

func (g *gate) later(wait time.Duration, why string) error {
	return &later{
		why:   fmt.Sprintf("%s; the next session begins at %s", why, time.Now().Add(wait).UTC().Format("15:04:05 UTC")),
		limit: channels.RateLimitError{Op: "identify", RetryAfter: min(wait, g.api.pace.startMost), Channel: true},
	}
}

// A later error says why no session begins yet.
type later struct {
	why   string
	limit channels.RateLimitError
}

func (e *later) Error() string { return e.why }
func (e *later) Unwrap() error { return &e.limit }

var errSharded = errors.New("the platform wants this bot split into shards, because it is in very many guilds; that is not supported: take it out of some, or use a bot of its own")

// invalid forgets the session, and lets none begin for a while.
func (g *gate) invalid(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session == s || s.id == "" {
		g.lose(s)
		g.starts.not = time.Now().Add(g.api.pace.invalid + time.Duration(rand.Float64()*4*float64(g.api.pace.invalid)))
	}
}

// lose forgets a session that cannot be resumed. It is called under the lock.
func (g *gate) lose(s *session) {
	if g.session == s {
		g.session = nil
	}
	if s.id != "" {
		g.lost.Put(s.id, true)
	}
}

// Connected says whether the connection is good.
func (g *gate) Connected() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.up
}

// settled notes that a session began or was resumed. One after another that did not hold is good
// when it has held.
func (g *gate) settled() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.up = !g.shaky
}

// held notes that the connection has held for long enough.
func (g *gate) held() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starts.times, g.starts.fault = 0, nil
	g.up, g.shaky = true, false
}

// few says that no more than a fifth of the day's starts is left: those are for somebody who
// restarts the program. Who uses up all has the token reset by the platform.
func (g *gateway) few() bool { return g.Starts.Remaining <= g.Starts.Total/5 }

// reset is when the platform gives new starts.
func (g *gateway) reset() time.Duration {
	return min(max(time.Duration(g.Starts.ResetAfter)*time.Millisecond, 0), 24*time.Hour)
}

// left is how many starts are left, in words.
func (g *gateway) left() string {
	return fmt.Sprintf("%d of the day's %d session starts are left; the platform gives new ones at %s",
		g.Starts.Remaining, g.Starts.Total, time.Now().Add(g.reset()).UTC().Format("2006-01-02 15:04 UTC"))
}

// starts paces the beginning of sessions, of which the platform allows about a thousand a day.
// Resuming one is not counted. Its gate's lock guards it.
type starts struct {
	last  time.Time // when the latest session was begun; zero: none was
	times int       // sessions begun since one held
	not   time.Time // none begins before
	fault error     // what the latest connection ended with that did not hold
	few   time.Time // since when a process that began none waits, as few are left
}

// wait is how long to wait before the next session, and why.
func (s *starts) wait(p pace, now time.Time) (time.Duration, string) {
	next := s.not
	if !s.last.IsZero() {
		if paced := s.last.Add(retry.Pause(max(s.times-1, 0), p.start, p.startMost)); paced.After(next) {
			next = paced
		}
	}
	return next.Sub(now), fmt.Sprintf("%d sessions in a row did not hold for %s (the latest: %v)", s.times, p.holds, s.fault)
}

// spare is how long to wait because few starts are left: until there are new ones, but a process
// that began no session yet, as after a restart by hand, soon begins one.
func (s *starts) spare(p pace, g *gateway, now time.Time) time.Duration {
	switch {
	case !g.few():
		s.few = time.Time{}
		return 0
	case g.Starts.Remaining <= 0 || !s.last.IsZero():
		return max(g.reset(), p.start)
	case s.few.IsZero():
		s.few = now
	}
	return s.few.Add(p.restart).Sub(now)
}
