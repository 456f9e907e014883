package telegram

import (
	"errors"
	"log/slog"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
)

const kind = "telegram"

// Kind is how the program knows the platform.
//
// Source: https://core.telegram.org/bots/features#creating-a-new-bot.
var Kind = channels.Kind{
	Name: kind, Title: "Telegram",
	Config: func() any { cfg := DefaultConfig(); return &cfg },
	New:    func(name string, cfg any, log *slog.Logger) channels.Channel { return New(name, *cfg.(*Config), log) },
	Steps: []string{
		"Write /newbot to @BotFather (https://t.me/BotFather), a name, and a user name that ends in \"bot\":",
		"it answers with the token.",
	},
	Asks: []channels.Ask{{Key: "token", Title: "Token of the bot", Variable: "TELEGRAM_BOT_TOKEN"}},
}

// The modes of a channel.
const (
	ModePolling = "polling"
	ModeWebhook = "webhook"
)

// Config is the adapter's part of a table [channels.NAME] of kind "telegram".
type Config struct {
	// Token is what @BotFather gave for the bot. Without it the channel waits.
	Token channels.Credential `toml:"token"`
	// Mode says how updates come: polling (the bot asks) | webhook (the platform
	// calls), which is not available yet: nothing of the program is reached from outside.
	// Default polling.
	Mode string `toml:"mode"`
	// WebhookSecret is what the platform sends along with each call in mode webhook,
	// 1 to 256 letters, digits, "_" and "-".
	WebhookSecret secrets.Secret `toml:"webhook_secret"`
	// APIURL is where the Bot API is; empty: the platform's own. A Bot API server of
	// one's own may be reached without TLS; the token is in every request.
	APIURL string `toml:"api_url"`
}

// DefaultConfig is the table with nothing set.
func DefaultConfig() Config { return Config{Mode: ModePolling} }

// CheckCredential says what is wrong with the shape of the credential that key names,
// for settings that hold it literally. The text does not repeat it.
func (c Config) CheckCredential(key string, s secrets.Secret) error { return tokens.Check(key, s) }

// IDs says what the IDs of people and of places look like.
//
// Source: https://core.telegram.org/api/bots/ids.
func (Config) IDs() (person, place channels.IDShape) {
	return channels.IDShape{Pattern: "[1-9][0-9]{0,15}", Like: "12345 (the log names whoever writes to the bot and is not served)"},
		channels.IDShape{Pattern: "-[1-9][0-9]{0,15}", Like: "-1001234567890 (the log names the group when the bot is named in it)"}
}

// Source: https://core.telegram.org/bots/api#setwebhook "secret_token".
var secretShape = words.Pattern(`^[A-Za-z0-9_-]{1,256}$`)

// Validate returns all that is wrong, joined; each error begins with the key below
// [channels.NAME] it speaks of and a colon.
func (c Config) Validate() error {
	secret := c.WebhookSecret.Reveal()
	return errors.Join(
		wire.Require(c.Mode == ModePolling || c.Mode == ModeWebhook, "mode: %q is not one of polling, webhook", c.Mode),
		wire.Require(c.Mode != ModeWebhook || secret != "", `webhook_secret: is needed with mode = "webhook"; make one up, e.g. with: openssl rand -hex 32`),
		wire.Require(secret == "" || secretShape().MatchString(secret), `webhook_secret: has 1 to 256 letters, digits, "_" and "-"`),
		wire.RequireAddress(c.APIURL, "http://127.0.0.1:8081"),
	)
}
