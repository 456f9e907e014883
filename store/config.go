package store

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Config is the table [store].
type Config struct {
	// URL says where the database is. Empty: SQLite in data_dir; "sqlite:PATH";
	// "postgres://…". It may hold a password.
	URL Secret `toml:"url"`
}

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [store] it speaks of and a colon. The URL itself is never repeated.
func (c Config) Validate() error {
	url := c.URL.Reveal()
	path, file := strings.CutPrefix(url, "sqlite:")
	switch {
	case url == "", file && path != "", strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		return nil
	case file:
		return errors.New("url: \"sqlite:\" needs a path, e.g. \"sqlite:/var/lib/switchboard/switchboard.db\"")
	}
	return errors.New("url: is none of \"\" (SQLite in data_dir), \"sqlite:PATH\" and \"postgres://USER@HOST/NAME\"")
}

// Secret is a setting that may hold a password; printing it yields a placeholder.
type Secret string

// String is the placeholder.
func (Secret) String() string { return "[redacted]" }

// GoString is the placeholder.
func (Secret) GoString() string { return "[redacted]" }

// MarshalText is the placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Format is the placeholder, also for the verbs that pass String by, such as %d.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// Reveal is the setting itself.
func (s Secret) Reveal() string { return string(s) }
