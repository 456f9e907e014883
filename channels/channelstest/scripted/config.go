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
	// Buttons says that choices can be buttons.
	Buttons bool `toml:"buttons"`
	// Files is how many files one part may have; 0: none can be sent.
	Files int `toml:"files"`
	// Rich adds editing, drafts, deleting, typing, a menu and a pulse.
	Rich bool `toml:"rich"`
	// Removes is that of channels.Features, in direct chats.
	Removes bool `toml:"removes"`
	// Silence, with Rich, is how long a connection that is well may be silent; 0: for
	// ever.
	Silence time.Duration `toml:"silence"`
	// Command, TypingFor and DraftEvery are those of channels.Features.
	Command    string        `toml:"command"`
	TypingFor  time.Duration `toml:"typing_for"`
	DraftEvery time.Duration `toml:"draft_every"`
	// The platform's sending limits, as in channels.Rates; it does not watch over them.
	PerSecond             float64 `toml:"per_second"`
	PerConversationSecond float64 `toml:"per_conversation_second"`
	PerConversationMinute float64 `toml:"per_conversation_minute"`
	// PerGroupMinute is PerConversationMinute where several people are, and nowhere else.
	PerGroupMinute float64 `toml:"per_group_minute"`
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
