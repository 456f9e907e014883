// Package tokens has the API tokens: those of the settings and those made by command, what each may do, and who may speak
// through them.
package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/internal/secrets"
)

// A Token lets a program call the HTTP API. Its secret is not in it: only a hash of that is kept.
type Token struct {
	Name string `json:"name"` // unique, also among revoked ones; logs and the audit log call it so
	// Scopes are the kinds of calls it may make. It may make no others.
	Scopes []string `json:"scopes"`
	// People are the names of the persons it may speak for; empty: anybody of role user.
	People    []string  `json:"people"`
	Source    string    `json:"source"`              // FromSettings or Made
	CreatedAt time.Time `json:"created_at,omitzero"` // zero: it is of the settings
	ExpiresAt time.Time `json:"expires_at,omitzero"` // from then on it opens nothing; zero: never
	LastUsed  time.Time `json:"last_used,omitzero"`  // to a minute; zero: never, or it is of the settings, where nothing is noted
	RevokedAt time.Time `json:"revoked_at,omitzero"` // zero: it is not revoked
	// Overridden: the settings have another token of its name, and this one opens nothing.
	Overridden bool `json:"overridden,omitempty"`
}

// Where tokens come from.
const (
	FromSettings = "settings" // an entry of [[server.tokens]]
	Made         = "made"     // by command
)

// Scopes. Each call of the API needs one of them, and none contains another.
const (
	ScopeMessages = "messages" // to write, and all that changes a session
	ScopeRead     = "read"     // to read
	ScopeSend     = "send"     // to send to a conversation of any channel
	ScopeAdmin    = "admin"    // to administer
)

// Scopes are all scopes.
var Scopes = []string{ScopeMessages, ScopeRead, ScopeSend, ScopeAdmin}

// Fault says why the token opens nothing at that time: ErrRevoked or ErrExpired. ErrUnknown: the settings have another of
// its name. Nil: it is good.
func (t *Token) Fault(at time.Time) error {
	switch {
	case !t.RevokedAt.IsZero():
		return ErrRevoked
	case t.Overridden:
		return ErrUnknown
	case !t.ExpiresAt.IsZero() && !at.Before(t.ExpiresAt):
		return ErrExpired
	}
	return nil
}

// Why a token opens nothing, as Find returns it.
var (
	ErrUnknown = errors.New("there is no such token")
	ErrExpired = errors.New("the token has expired")
	ErrRevoked = errors.New("the token was revoked")
)

// NotGood says that an error of Find is one of these.
func NotGood(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrExpired) || errors.Is(err, ErrRevoked)
}

// checkScopes says which of the scopes there is not. At least one is needed.
func checkScopes(scopes []string) error {
	if len(scopes) == 0 {
		return fmt.Errorf("a token needs a scope: %s", strings.Join(Scopes, ", "))
	}
	for _, scope := range scopes {
		if !slices.Contains(Scopes, scope) {
			return fmt.Errorf("there is no scope %q, only %s", scope, strings.Join(Scopes, ", "))
		}
	}
	return nil
}

// Prefix begins every secret that we make, so that people and scanners of repositories know what it is.
const Prefix = "sb_"

// newSecret makes the secret of a token: 52 letters and digits of 5 random bits each behind the prefix.
func newSecret() secrets.Secret {
	return secrets.Secret(Prefix + strings.ToLower(rand.Text()+rand.Text()))
}

// Hash is what is kept of a secret. The secret has more than 256 random bits, so nobody can find it by trying: a fast
// hash without salt is enough, by which the token is found.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
