package discordtest

import "time"

// A Storm is what becomes of every session, as when something is wrong at the platform.
type Storm struct {
	Code  int           // the connection is closed with it; 0: the session is not valid (op 9)
	After time.Duration // so long after READY or RESUMED; 0: instead of them
}

// Storm begins a storm; nil ends it.
func (s *sockets) Storm(storm *Storm) { s.Change(func() { s.gateway.storm = storm }) }

// meets says whether a session that is to begin or to go on meets a storm instead. It is called
// under the lock.
func (s *sockets) meets(c *conn) bool {
	storm := s.gateway.storm
	if storm == nil || storm.After > 0 {
		return false
	}
	s.blow(c, storm)
	return true
}

// brews ends a session that began or went on, later. It is called under the lock.
func (s *sockets) brews(c *conn) {
	storm := s.gateway.storm
	if storm == nil || storm.After <= 0 {
		return
	}
	s.Go(func() {
		timer := time.NewTimer(storm.After)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.Change(func() { s.blow(c, storm) })
		case <-c.done:
		case <-s.Context().Done():
		}
	})
}

func (s *sockets) blow(c *conn, storm *Storm) {
	if storm.Code != 0 {
		c.code = storm.Code
		return
	}
	if c.session != nil {
		delete(s.gateway.sessions, c.session.id)
		c.session = nil
	}
	c.say(opInvalid, false)
}
