package router

import "time"

// An EngineView is an engine for people to read.
type EngineView struct {
	ID        int64     `json:"id,string"`
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	// State is alive; late: not renewed in time, so that its leases may be taken; dead:
	// found dead by others, or voided by the next start; or ended: it was stopped.
	State string `json:"state"`
	// Renewed is how long ago its row was renewed, by the database's clock; negative: it
	// does not have to be (SQLite).
	Renewed time.Duration `json:"renewed_ago"`
	// Steady is how long its renewals have come in time; negative as Renewed.
	Steady time.Duration `json:"steady_for"`
	// Locked says that somebody holds the lock that goes with it.
	Locked   bool       `json:"locked"`
	EndedAt  *time.Time `json:"ended_at"`
	Sessions int        `json:"sessions"` // whose lease it has
	Channels []string   `json:"channels"` // whose lease it has
}
