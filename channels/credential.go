package channels

import (
	"fmt"
	"io"

	"switchboard/internal/secrets"
)

// A Credential is a Secret that is looked up each time it is needed, because the
// file or variable it stands in may change while the program runs. Printing it
// yields a placeholder. The zero Credential is none.
type Credential struct {
	read func() (secrets.Secret, error)
}

// NewCredential makes a Credential of read, which must be safe for use by several
// goroutines at once.
func NewCredential(read func() (secrets.Secret, error)) Credential { return Credential{read} }

// Read returns the credential as it is now; ErrNoCredentials where there is none,
// wrapped with the reason.
func (c Credential) Read() (secrets.Secret, error) {
	if c.read == nil {
		return "", ErrNoCredentials
	}
	s, err := c.read()
	if err == nil && s == "" {
		err = ErrNoCredentials
	}
	return s, err
}

// Format writes the placeholder for every verb.
func (Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

func (Credential) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }
