package store

import (
	"errors"
	"strings"

	"switchboard/secrets"
)

// Config is the table [store].
type Config struct {
	// URL says where the database is. Empty: SQLite in data_dir; "sqlite:PATH";
	// "postgres://…". It may hold a password.
	URL secrets.Secret `toml:"url"`
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
