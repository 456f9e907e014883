package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// gateway is what the platform says of beginning sessions.
//
// Source: https://docs.discord.com/developers/events/gateway#get-gateway-bot.
type gateway struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Starts struct {
		Total      int   `json:"total"`
		Remaining  int   `json:"remaining"`
		ResetAfter int64 `json:"reset_after"` // in ms
	} `json:"session_start_limit"`
}

func (c *Client) gateway(ctx context.Context) (gateway, error) {
	return ask[gateway](ctx, c, route{op: opGateway, method: http.MethodGet, path: "/gateway/bot"}, nil)
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
// Resuming one is not counted. Its methods may be called from several goroutines at once.
type starts struct {
	mu    sync.Mutex
	last  time.Time // when the latest session was begun; zero: none was
	times int       // sessions begun since one held
	not   time.Time // none begins before
	fault error     // what the latest connection ended with that did not hold
	few   time.Time // since when a process that began none waits, as few are left
}

// began notes that a session begins.
func (s *starts) began(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.times = now, s.times+1
}

// held notes that a session holds.
func (s *starts) held() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times, s.fault = 0, nil
}

func (s *starts) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
}

// rest lets no session begin before then.
func (s *starts) rest(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.not = until
}

// wait is how long to wait before the next session, and why.
func (s *starts) wait(p pace, now time.Time) (time.Duration, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
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

// mayBegin waits until another session may begin, and says where. A longer wait is the caller's,
// as a RateLimitError says.
func (c *Client) mayBegin(ctx context.Context) (address string, err error) {
	wait, why := c.starts.wait(c.pace, time.Now())
	if wait > c.pace.start {
		return "", c.later(wait, why)
	}
	if !retry.Sleep(ctx, wait) {
		return "", ctx.Err()
	}
	g, err := c.gateway(ctx)
	if err != nil {
		return "", err
	}
	if g.Shards > 1 {
		return "", errSharded
	}
	if wait := c.starts.spare(c.pace, &g, time.Now()); wait > 0 {
		return "", c.later(wait, g.left())
	}
	return g.URL, nil
}

func (c *Client) later(wait time.Duration, why string) error {
	return &later{
		why:   fmt.Sprintf("%s; the next session begins at %s", why, time.Now().Add(wait).UTC().Format("15:04:05 UTC")),
		limit: channels.RateLimitError{Op: "identify", RetryAfter: min(wait, c.pace.startMost), Channel: true},
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

// settle notes that a session began or was resumed. One after another that did not hold is good
// when it has held.
func (l *link) settle() {
	l.since.CompareAndSwap(0, time.Now().UnixNano())
	c := l.c
	c.refused.Served(l.session.secret)
	c.mu.Lock()
	c.up = !c.shaky
	c.mu.Unlock()
	l.sink.Received()
}

// hold notes when the connection has held for long enough.
func (l *link) hold() {
	since := l.since.Load()
	if since == 0 || l.held.Load() || time.Since(time.Unix(0, since)) < l.c.pace.holds {
		return
	}
	l.held.Store(true)
	l.c.starts.held()
	l.c.mu.Lock()
	l.c.up, l.c.shaky = true, false
	l.c.mu.Unlock()
	l.sink.Received()
}

// Connected implements channels.Connector.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}
