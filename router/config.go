package router

import "time"

// Config is the table [router].
type Config struct {
	Workers         int           `toml:"workers"` // turns running at once in this engine; one person holds at most a quarter
	QueuePerSession int           `toml:"queue_per_session"`
	IdleTimeout     time.Duration `toml:"idle_timeout"`
	Busy            string        `toml:"busy"` // queue | steer | interrupt | collect
	CollectWindow   time.Duration `toml:"collect_window"`
	StopWords       []string      `toml:"stop_words"`
	DefaultMode     string        `toml:"default_mode"` // ask | act
	OnEdit          string        `toml:"on_edit"`      // steer | restart | ignore
	StaleAfter      time.Duration `toml:"stale_after"`
	RatePerson      string        `toml:"rate_person"`               // "20/m"; "off"
	MessageLimit    int64         `toml:"message_limit" unit:"size"` // bytes
}

// DefaultConfig is [router] with nothing set.
func DefaultConfig() Config {
	return Config{
		Workers: 64, QueuePerSession: 50, IdleTimeout: 5 * time.Minute,
		Busy: "queue", CollectWindow: 800 * time.Millisecond,
		StopWords:   []string{"stop", "cancel", "halt", "stopp", "basta", "para", "arrête", "стоп"},
		DefaultMode: "act", OnEdit: "steer", StaleAfter: 15 * time.Minute,
		RatePerson: "20/m", MessageLimit: 64 << 10,
	}
}

// ChannelConfig is the router's part of a table [channels.NAME]; the adapter owns
// the rest.
type ChannelConfig struct {
	Kind               string   `toml:"kind"`
	Enabled            bool     `toml:"enabled"`
	DM                 string   `toml:"dm"`                  // allowlist | pairing | open | disabled
	Groups             string   `toml:"groups"`              // allowlist | open | disabled
	AllowConversations []string `toml:"allow_conversations"` // platform IDs of groups; empty: none
	RequireMention     bool     `toml:"require_mention"`     // in groups
	ToolsAllow         []string `toml:"tools_allow"`
	ToolsDeny          []string `toml:"tools_deny"`
	Rate               string   `toml:"rate"` // "default", "30/s", "off"
}

// DefaultChannelConfig is a chat platform's table with nothing set.
func DefaultChannelConfig() ChannelConfig {
	return ChannelConfig{
		Enabled: true, DM: "allowlist", Groups: "allowlist", RequireMention: true,
		ToolsAllow: []string{"*"}, ToolsDeny: []string{"exec"}, Rate: "default",
	}
}
