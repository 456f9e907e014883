package turns

import (
	"context"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// idleSessions are the sessions whose turns this engine ran lately. What it keeps of
// one in memory is little: its place here, and what its conversation used of the
// channel's limits. All of it goes when nothing happened there for idle_timeout; the
// lease was released with the last turn already.
type idleSessions struct {
	mu   sync.Mutex
	list map[int64]idleSession
}

// An idleSession is looked at again at due.
type idleSession struct {
	conv channels.Conversation
	due  time.Time
}

// worked notes that something was done in a session, which is looked at again then.
func (i *idleSessions) worked(session int64, conv channels.Conversation, due time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list[session] = idleSession{conv, due}
}

// take removes those that are due.
func (i *idleSessions) take(now time.Time) map[int64]idleSession {
	i.mu.Lock()
	defer i.mu.Unlock()
	due := map[int64]idleSession{}
	for session, s := range i.list {
		if !s.due.After(now) {
			due[session] = s
			delete(i.list, session)
		}
	}
	return due
}

// KeepIdle drops what is kept of sessions that have nothing to do, until ctx ends.
func (r *Runner) KeepIdle(ctx context.Context) {
	every := func() time.Duration {
		return min(max(r.Settings().IdleTimeout/4, 50*time.Millisecond), 15*time.Second)
	}
	for retry.Sleep(ctx, every()) {
		now, busy := time.Now(), r.running.sessions()
		for session, s := range r.idle.take(now) {
			if _, runs := busy[session]; !runs { // else it is noted again at the turn's end
				r.rest(ctx, session, s, now)
			}
		}
	}
}

// rest notes that a session is idle, unless something happened there meanwhile.
func (r *Runner) rest(ctx context.Context, session int64, s idleSession, now time.Time) {
	again, err := r.Store.Idle(ctx, session, r.Settings().IdleTimeout)
	if err != nil {
		again = now.Add(pollIdle)
		r.Log.DebugContext(ctx, "an idle session could not be noted", "session_id", session, "error", err)
	}
	if !again.IsZero() {
		r.idle.worked(session, s.conv, again)
		return
	}
	if l := r.Connections.Connection(s.conv.Channel); l != nil {
		l.Rest(s.conv, now)
	}
	if r.Rested != nil {
		r.Rested()
	}
}
