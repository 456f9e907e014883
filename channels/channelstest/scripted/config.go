package scripted

import (
	"errors"
	"strings"
	"time"
)

// Config is the adapter's part of a table [channels.NAME] of kind "scripted".
type Config struct {
	// Addr is where the platform listens: a path (with a slash) is a unix socket,
	// anything else host:port.
	Addr string `toml:"addr"`
	// Finder and Deduper say which ability the adapter shows (see channels).
	Finder  bool `toml:"finder"`
	Deduper bool `toml:"deduper"`
	// Window is how long the platform drops a repeated nonce; default 2m.
	Window time.Duration `toml:"window"`
	// MaxText is the longest text of one part in runes; 0: no limit.
	MaxText int `toml:"max_text"`
}

// DefaultConfig is the table with nothing set.
func DefaultConfig() Config { return Config{Window: 2 * time.Minute} }

// Validate returns all that is wrong, joined.
func (c Config) Validate() error {
	var errs []error
	if c.Addr == "" {
		errs = append(errs, errors.New("addr: name the platform's socket, a path or host:port"))
	}
	if c.Window <= 0 {
		errs = append(errs, errors.New("window: must be more than 0"))
	}
	if c.MaxText < 0 {
		errs = append(errs, errors.New("max_text: must not be negative"))
	}
	return errors.Join(errs...)
}

// network splits Addr for net.Dial.
func (c Config) network() (network, address string) {
	if strings.Contains(c.Addr, "/") {
		return "unix", c.Addr
	}
	return "tcp", c.Addr
}
