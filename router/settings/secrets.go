package settings

import "time"

// A Secret is one of the encrypted store.
type Secret struct {
	Name       string    `json:"name"`
	Ciphertext []byte    `json:"-"`
	Tools      []string  `json:"tools"`  // patterns of the tools that may have it; empty: the settings alone use it
	Person     string    `json:"person"` // who set it last
	Version    int64     `json:"version"`
	At         time.Time `json:"at"` // when it was set last
}

// A SecretChange sets a secret, or takes it away. ErrNotFound: there is none of that name.
// Its value comes no further than to whoever makes the change of it.
type SecretChange struct {
	Kind       SecretChangeKind
	Name       string
	Ciphertext []byte   // SetSecret
	Tools      []string // SetSecret; nil: as they were
	// Within (SetSecret) is for how long it counts unless it is confirmed, as a version of the settings, from
	// Conversation, a session's key; then the former value counts again. 0: it needs no confirmation.
	Within       time.Duration
	Conversation string
	Version      *Version // filled in, with Within
}

// A SecretChangeKind is what a SecretChange does.
type SecretChangeKind string

const (
	SetSecret    SecretChangeKind = "set"
	RemoveSecret SecretChangeKind = "remove"
)

// Names implements Change.
func (c *SecretChange) Names() (action, target string) {
	return "secret." + string(c.Kind), "secret " + c.Name
}
