package scheduler

import "time"

// A Spec says when a job is due: one of At, Every and Cron, in Zone.
type Spec struct {
	// At is one local time in Zone, as 2006-01-02T15:04:05.
	At string `json:"at,omitempty"`
	// Every is the time between slots, counted from Anchor in elapsed time: no drift.
	Every  time.Duration `json:"every,omitempty"`
	Anchor time.Time     `json:"anchor,omitzero"`
	// Cron has five fields, or six with seconds first, or is a descriptor such as @daily.
	Cron string `json:"cron,omitempty"`
	// Zone is an IANA name; never empty.
	Zone string `json:"zone"`
	// From and Until bound the slots; zero: they do not.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Hours are those in which slots count, as HH:MM-HH:MM in Zone; 22:00-06:00 wraps over midnight.
	// Empty: all.
	Hours string `json:"hours,omitempty"`
	// Jitter delays each slot by less than that, each slot by its own amount.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Most is how many slots run in all; 0: no limit.
	Most int `json:"most,omitempty"`
}
