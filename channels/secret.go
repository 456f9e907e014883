package channels

import (
	"fmt"
	"io"
)

// Secret is a credential; printing, logging or encoding it yields a placeholder.
type Secret string

// Format writes the placeholder for every verb, %d and %x too.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Reveal is the credential itself, for the request that needs it.
func (s Secret) Reveal() string { return string(s) }
