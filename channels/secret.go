package channels

// Secret is a credential; printing, logging or encoding it yields a placeholder.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Reveal is the credential itself, for the request that needs it.
func (s Secret) Reveal() string { return string(s) }
