package store

// Config is the table [store].
type Config struct {
	URL Secret `toml:"url"` // empty: SQLite in data_dir; "sqlite:PATH"; "postgres://…"
}

// Secret is a setting that may hold a password; printing it yields a placeholder.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Reveal is the setting itself.
func (s Secret) Reveal() string { return string(s) }
