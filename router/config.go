package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/router/outbox/delivery"
)

// Config is the table [router].
type Config struct {
	// Workers is how many turns run at once in this engine, at least 1; one person
	// holds at most a quarter of them. Default 64.
	Workers int `toml:"workers"`
	// QueuePerSession is how many turns wait in one session before a new message is
	// answered with a polite refusal, at least 1. Default 50.
	QueuePerSession int `toml:"queue_per_session"`
	// IdleTimeout is how long a session with nothing to do keeps what it holds in
	// memory. Default 5m.
	IdleTimeout time.Duration `toml:"idle_timeout"`
	// Busy says what becomes of a message that arrives while a turn runs:
	// queue | steer | interrupt | collect. Default queue.
	Busy string `toml:"busy"`
	// CollectWindow is how long collect waits for more; 0 waits for nothing.
	// Default 800ms.
	CollectWindow time.Duration `toml:"collect_window"`
	// StopWords stop the running turn when one of them is the whole message.
	StopWords []string `toml:"stop_words"`
	// DefaultMode is a new session's mode: ask (nothing is changed unasked) | act.
	// Default act.
	DefaultMode string `toml:"default_mode"`
	// OnEdit says what an edited message does to its turn: steer | restart | ignore.
	// Default steer.
	OnEdit string `toml:"on_edit"`
	// StaleAfter is the age from which a backlog becomes one turn that offers to go
	// on, and for how long a turn waits for a model that is away. Default 15m.
	StaleAfter time.Duration `toml:"stale_after"`
	// RatePerson bounds one person's messages: "N/s", "N/m", "N/h"; "off". Default
	// 20/m.
	RatePerson string `toml:"rate_person"`
	// MessageLimit is the longest message taken, in bytes. Default 64KB.
	MessageLimit int64 `toml:"message_limit" unit:"size"`
	// MaxParts is how many messages one answer may become. A longer one goes as its
	// first part and the whole as a file, where files can be sent; 0: no limit.
	// Default 10.
	MaxParts int `toml:"max_parts"`
	// AwayLimit is how many parts of messages wait for a channel that is away; of more, and of those
	// that are a week old, the oldest are dropped. 0: no limit of their number. Default 1000.
	AwayLimit int `toml:"away_limit"`
}

// DefaultConfig is [router] with nothing set.
func DefaultConfig() Config {
	return Config{
		Workers: 64, QueuePerSession: 50, IdleTimeout: 5 * time.Minute,
		Busy: "queue", CollectWindow: 800 * time.Millisecond,
		StopWords:   []string{"stop", "cancel", "halt", "stopp", "basta", "para", "arrête", "стоп"},
		DefaultMode: "act", OnEdit: "steer", StaleAfter: 15 * time.Minute,
		RatePerson: "20/m", MessageLimit: 64 << 10, MaxParts: 10, AwayLimit: 1000,
	}
}

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [router] it speaks of and a colon.
func (c Config) Validate() error {
	var errs []error
	fault := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(c.Workers < 1, "workers: %d is too few; at least 1 is needed", c.Workers)
	fault(c.QueuePerSession < 1, "queue_per_session: %d is too few; at least 1 is needed", c.QueuePerSession)
	fault(c.IdleTimeout <= 0, "idle_timeout: must be longer than 0, e.g. \"5m\"")
	fault(c.CollectWindow < 0, "collect_window: must not be negative")
	fault(c.StaleAfter <= 0, "stale_after: must be longer than 0, e.g. \"15m\"")
	fault(c.MessageLimit < 1, "message_limit: must be at least 1 byte, e.g. \"64KB\"")
	fault(c.MaxParts < 0, "max_parts: must not be negative; 0 sends every part")
	fault(c.AwayLimit < 0, "away_limit: must not be negative; 0 keeps any number for a week")
	for i, word := range c.StopWords {
		fault(blank(word), "stop_words[%d]: is empty; every blank message would stop the turn", i)
	}
	errs = append(errs,
		oneOf("busy", c.Busy, "queue", "steer", "interrupt", "collect"),
		oneOf("default_mode", c.DefaultMode, "ask", "act"),
		oneOf("on_edit", c.OnEdit, "steer", "restart", "ignore"),
		checkRate("rate_person", c.RatePerson, "20/m", "off"))
	return errors.Join(errs...)
}

// ChannelConfig is the router's part of a table [channels.NAME]; the adapter owns
// the rest.
type ChannelConfig struct {
	// Kind is the platform; it decides which other keys the table may have.
	Kind string `toml:"kind"`
	// Enabled false keeps the table and does not connect. Default true.
	Enabled bool `toml:"enabled"`
	// DM says who may write to the bot directly: allowlist (people) | pairing |
	// open (everybody becomes a person, role user) | disabled. Default allowlist.
	DM string `toml:"dm"`
	// Groups says in which groups it answers: allowlist (AllowConversations) | open
	// | disabled. Who may speak there is decided as everywhere. Default allowlist.
	Groups string `toml:"groups"`
	// AllowConversations are the platform's IDs of groups; empty: none.
	AllowConversations []string `toml:"allow_conversations"`
	// RequireMention makes the bot answer in groups only when named. Default true.
	RequireMention bool `toml:"require_mention"`
	// StrangerContext tells the planner, in a model's words, what people who are not served said in groups. Default false.
	StrangerContext bool `toml:"stranger_context"`
	// ToolsAllow and ToolsDeny are patterns of tool names, deny first. Defaults
	// ["*"] and ["exec"].
	ToolsAllow []string `toml:"tools_allow"`
	ToolsDeny  []string `toml:"tools_deny"`
	// Rate bounds what is sent, over the whole channel: "default" (the platform's
	// own limits), "N/s", "off" (tests). Default "default".
	Rate string `toml:"rate"`
}

// DefaultChannelConfig is a chat platform's table with nothing set.
func DefaultChannelConfig() ChannelConfig {
	return ChannelConfig{
		Enabled: true, DM: "allowlist", Groups: "allowlist", RequireMention: true,
		ToolsAllow: []string{"*"}, ToolsDeny: []string{"exec"}, Rate: "default",
	}
}

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [channels.NAME] it speaks of and a colon.
func (c ChannelConfig) Validate() error {
	return errors.Join(
		oneOf("dm", c.DM, "allowlist", "pairing", "open", "disabled"),
		oneOf("groups", c.Groups, "allowlist", "open", "disabled"),
		checkRate("rate", c.Rate, "30/s", "default", "off"))
}

// oneOf returns an error unless value is one of the words.
func oneOf(key, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not one of %s", key, value, strings.Join(words, ", "))
}

// checkRate returns an error unless value is a rate such as the example, or one of the
// words.
func checkRate(key, value, example string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	if _, _, err := delivery.ParseRate(value); err != nil || value == "off" {
		return fmt.Errorf("%s: %q is not a rate; write e.g. %q, or \"%s\"", key, value, example, strings.Join(words, `" or "`))
	}
	return nil
}
