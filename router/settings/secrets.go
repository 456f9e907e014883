package settings

import (
	"fmt"
	"strings"
	"time"

	"switchboard/internal/secrets"
	"switchboard/router/core"
)

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

// CheckSecretName says why no secret can have that name.
func CheckSecretName(name string) error {
	if !secrets.ValidName(name) {
		return fmt.Errorf("%q is no name of a secret: it has 1 to 64 letters, digits, '.', '_' and '-'", name)
	}
	return nil
}

// SecretRemoval is the change that takes a secret away. *core.StateError: settings use it, and the next start would find none.
func SecretRemoval(name string, by []string) (*SecretChange, error) {
	if len(by) > 0 {
		return nil, &core.StateError{Sentence: fmt.Sprintf("%s is used by %s; change that first", name, strings.Join(by, ", "))}
	}
	return &SecretChange{Kind: RemoveSecret, Name: name}, nil
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
