package router

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// Settings are what a router goes by that may change while it runs; see Router.Apply.
type Settings struct {
	Config Config
	// FileLimits bound the attachments of a message that comes in.
	FileLimits FileLimits
	Model      string // the planner's model, for /status
	// Models are those that a session may have in its place.
	Models []string
	// TimeZone is that of whoever named none, an IANA name.
	TimeZone string
	// ApprovalDeadline is how long a question for permission waits, and then counts as
	// denied; 0: ten minutes.
	ApprovalDeadline time.Duration
	Budget           money.Budget
}

// settings are those that count now. What reads them twice reads them once and keeps
// them: an event and a turn go by one set.
func (r *Router) settings() *Settings { return r.now.Load() }

func (r *Router) set(s Settings) {
	if s.ApprovalDeadline == 0 {
		s.ApprovalDeadline = 10 * time.Minute
	}
	r.now.Store(&s)
}

// Apply has what comes from now on go by s. An error leaves everything as it was.
func (r *Router) Apply(s Settings) error {
	was := r.settings()
	if s.Config.RatePerson != was.Config.RatePerson {
		if err := r.rates.set(s.Config.RatePerson); err != nil {
			return err
		}
	}
	r.set(s)
	r.turns.SetWorkers(s.Config.Workers)
	return nil
}

// ofTurns are those that turns go by.
func (s *Settings) ofTurns() turns.Settings {
	c := &s.Config
	return turns.Settings{
		Workers: c.Workers, CollectWindow: c.CollectWindow, StaleAfter: c.StaleAfter, IdleTimeout: c.IdleTimeout, DefaultMode: c.DefaultMode,
		TimeZone: s.zone("", ""), ApprovalDeadline: s.ApprovalDeadline, Budget: s.Budget,
	}
}

// ofSessions are those that count where a session has nothing else.
func (s *Settings) ofSessions() sessions.Defaults {
	return sessions.Defaults{Mode: s.Config.DefaultMode, Model: s.Model, Models: s.Models, TimeZone: s.TimeZone}
}

// zone is the time zone that somebody reads times in.
func (s *Settings) zone(session, person string) string {
	return s.ofSessions().Zone(session, person)
}

// zoneIn is TimeZone by a name, which may be nobody's.
func (r *Router) zoneIn(ctx context.Context, conv channels.Conversation, name string) *time.Location {
	person := r.Roster.Named(name)
	if person == nil {
		person = &core.Person{}
	}
	named, err := r.TimeZone(ctx, conv, person)
	if err != nil {
		r.Log.WarnContext(ctx, "cannot read the session's time zone", "channel", conv.Channel, "error", err)
	}
	if zone, err := time.LoadLocation(named); err == nil {
		return zone
	}
	return time.UTC
}

// TimeZone is the zone that a person reads times in where they speak with us.
func (r *Router) TimeZone(ctx context.Context, conv channels.Conversation, person *core.Person) (string, error) {
	own, err := r.Store.Session(ctx, conv)
	return r.settings().zone(own.TimeZone, person.TimeZone), err
}
