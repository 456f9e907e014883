// Package secrets has the type of every credential in the settings, and what takes secrets
// out of texts: known ones (Masker), and what looks like one (Hide). It imports nothing
// of ours, so that every package may use it.
package secrets

import (
	"errors"
	"fmt"
	"io"
)

// Secret is a credential; printing, logging or encoding it yields a placeholder. The zero
// value is none.
type Secret string

// ErrUnknown says that there is no secret of a name.
var ErrUnknown = errors.New("there is no such secret")

// names are those of secrets in the encrypted store.
var names = once(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidName says that a secret can have that name.
func ValidName(name string) bool { return names().MatchString(name) }

// Placeholder stands where a secret stood.
const Placeholder = "[redacted]"

// Format writes the placeholder for every verb, %d and %x too.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Placeholder) }

func (Secret) String() string               { return Placeholder }
func (Secret) GoString() string             { return Placeholder }
func (Secret) MarshalText() ([]byte, error) { return []byte(Placeholder), nil }

// Reveal is the credential itself, for the request that needs it.
func (s Secret) Reveal() string { return string(s) }
