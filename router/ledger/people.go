package ledger

import "time"

// A Person is somebody the bot knows.
type Person struct {
	Name       string   `json:"name"`
	Role       string   `json:"role"` // admin | user
	Identities []string `json:"identities"`
	Tools      []string `json:"tools"` // patterns; ["*"] is everything; empty is nothing
	TimeZone   string   `json:"timezone"`
	Source     string   `json:"source"` // config | open | local
	// Seen (Source open) is when the person was last seen, to a day; else zero.
	Seen time.Time `json:"-"`
}

// Roles of persons.
const (
	RoleAdmin = "admin"
	RoleUser  = "user"
)
