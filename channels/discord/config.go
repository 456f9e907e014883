package discord

import (
	"errors"
	"log/slog"
	"regexp"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const kind = "discord"

// Kind is how the program knows the platform.
//
// Source: https://docs.discord.com/developers/quick-start/getting-started.
var Kind = channels.Kind{
	Name: kind, Title: "Discord",
	Config: func() any { cfg := DefaultConfig(); return &cfg },
	New:    func(name string, cfg any, log *slog.Logger) channels.Channel { return New(name, *cfg.(*Config), log) },
	Steps: []string{
		"At https://discord.com/developers/applications: New Application, then Bot. Reset Token shows the token;",
		"further down switch on Message Content Intent, so that it can also read messages that do not mention it.",
	},
	Asks: []channels.Ask{{Key: "token", Title: "Token of the bot", Variable: "DISCORD_BOT_TOKEN"}},
	Hint: "# reply_in = \"thread\"   # mentions are answered in a thread\n",
}

// Where a mention in a guild's channel is answered.
const (
	InChannel = "channel"
	InThread  = "thread"
)

// Config is the adapter's part of a table [channels.NAME] of kind "discord".
type Config struct {
	// Token is the bot's, from the developer portal (Bot, Reset Token). Without it the channel
	// waits.
	Token channels.Credential `toml:"token"`
	// ApplicationID is the ID of the bot's application, for the invite link that doctor prints
	// before the bot was ever connected; empty: as the token says.
	ApplicationID string `toml:"application_id"`
	// Guilds are the IDs of the guilds (servers) whose messages are handed in; empty: all that
	// the bot is in.
	Guilds []string `toml:"guilds"`
	// ReplyIn says where a mention in a guild's channel is answered: channel | thread (one that
	// the bot starts at the message). Default channel.
	ReplyIn string `toml:"reply_in"`
	// APIURL is where the REST API is, with its version; empty: the platform's own.
	APIURL string `toml:"api_url"`
}

// DefaultConfig is the table with nothing set.
func DefaultConfig() Config { return Config{ReplyIn: InChannel} }

// tokens is what a bot's token looks like: three parts of base64 with dots between.
//
// Source: https://docs.discord.com/developers/reference#authentication.
var tokens = wire.Tokens{{
	Setting: "token", Shape: regexp.MustCompile(`^[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{10,}$`),
	Wrong: "it does not look like the token of a bot, as the developer portal gives it under Bot, Reset Token",
}}

// CheckCredential says what is wrong with the shape of the credential that key names, for
// settings that hold it literally. The text does not repeat it.
func (c Config) CheckCredential(key string, s secrets.Secret) error { return tokens.Check(key, s) }

// Validate returns all that is wrong, joined; each error begins with the key below
// [channels.NAME] it speaks of and a colon.
func (c Config) Validate() error {
	errs := []error{
		wire.Require(c.ReplyIn == InChannel || c.ReplyIn == InThread, "reply_in: %q is not one of channel, thread", c.ReplyIn),
		wire.Require(c.ApplicationID == "" || isID(c.ApplicationID), "application_id: %q is no ID; it has digits alone", c.ApplicationID),
	}
	for _, id := range c.Guilds {
		errs = append(errs, wire.Require(isID(id), "guilds: %q is no ID; it has digits alone", id))
	}
	return errors.Join(append(errs, wire.RequireAddress(c.APIURL, platformURL))...)
}

// IDs says what the IDs of people and of places look like.
//
// Source: https://docs.discord.com/developers/reference#snowflakes.
func (Config) IDs() (person, place channels.IDShape) {
	s := channels.IDShape{Pattern: "[1-9][0-9]{0,18}", Like: "80351110224678912 (User Settings, Advanced, Developer Mode; then a right click and Copy User ID, Copy Channel ID or Copy Server ID)"}
	return s, s
}

// isID says whether text is one of the platform's numbers.
func isID(text string) bool { return new(snowflake).UnmarshalText([]byte(text)) == nil }
