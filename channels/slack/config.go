package slack

import (
	_ "embed"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const kind = "slack"

// Kind is how the program knows the platform.
//
// Source: https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests.
var Kind = channels.Kind{
	Name: kind, Title: "Slack", LocalIDs: true,
	Config: func() any { cfg := DefaultConfig(); return &cfg },
	New:    func(name string, cfg any, log *slog.Logger) channels.Channel { return New(name, *cfg.(*Config), log) },
	Steps: []string{
		"At https://api.slack.com/apps: Create New App, From a manifest, and paste what \"switchboard init slack\" prints.",
		"Install App, Install to your workspace: the bot token, xoxb-…",
		"Basic Information, App-Level Tokens, Generate with the scope connections:write: the app-level token, xapp-…",
	},
	Asks: []channels.Ask{
		{Key: "bot_token", Title: "Bot token, xoxb-…", Variable: "SLACK_BOT_TOKEN", Alone: map[string]string{"mode": ModeEvents, "signing_secret": "none"}},
		{Key: "app_token", Title: "App-level token, xapp-…", Variable: "SLACK_APP_TOKEN"},
	},
	Manifest:      channels.Manifest{Text: Manifest, Use: manifestUse},
	AgentManifest: channels.Manifest{Text: AgentManifest, Use: agentManifestUse},
}

// The modes of a channel.
const (
	ModeSocket = "socket"
	ModeEvents = "events"
)

// Where a mention in a channel is answered.
const (
	ReplyInThread  = "thread"
	ReplyInChannel = "channel"
)

// Config is the adapter's part of a table [channels.NAME] of kind "slack".
type Config struct {
	// BotToken is the app's bot token, xoxb-…. Without it the channel waits.
	BotToken channels.Credential `toml:"bot_token"`
	// AppToken is the app-level token with the scope connections:write, xapp-…, which mode
	// socket needs.
	AppToken channels.Credential `toml:"app_token"`
	// SigningSecret is what the platform signs its calls with in mode events.
	SigningSecret secrets.Secret `toml:"signing_secret"`
	// Mode says how events come: socket (the bot connects) | events (the platform calls), which
	// is not available yet: nothing of the program is reached from outside. Default socket.
	Mode string `toml:"mode"`
	// APIURL is where the Web API is; empty: the platform's own.
	APIURL string `toml:"api_url"`
	// PingInterval is how long the socket may be silent before it is taken for dead; we ask
	// for a sign of life three times as often. At most 45s. Default 30s.
	PingInterval time.Duration `toml:"ping_interval"`
	// Command is the app's slash command. Default /switchboard.
	Command string `toml:"command"`
	// ReplyIn says where a mention in a channel is answered: thread | channel. Default
	// thread.
	ReplyIn string `toml:"reply_in"`
}

const (
	defaultPing = 30 * time.Second
	mostPing    = 45 * time.Second
)

// DefaultConfig is the table with nothing set.
func DefaultConfig() Config {
	return Config{Mode: ModeSocket, PingInterval: defaultPing, Command: "/switchboard", ReplyIn: ReplyInThread}
}

// CheckCredential says what is wrong with the shape of the credential that key names, for
// settings that hold it literally. The text does not repeat it.
func (c Config) CheckCredential(key string, s secrets.Secret) error { return tokens.Check(key, s) }

// IDs says what the IDs of people and of places look like.
//
// Source: https://docs.slack.dev/reference/methods/migration.exchange ("W or U"),
// https://docs.slack.dev/reference/objects/conversation-object.
func (Config) IDs() (person, place channels.IDShape) {
	return channels.IDShape{Pattern: `([TE][A-Z0-9]+/)?[UW][A-Z0-9]+`, Like: "U012ABCDEF (the person's profile, the three dots, Copy member ID)"},
		channels.IDShape{Pattern: `[CGD][A-Z0-9]+`, Like: "C012ABCDEF (the channel's name at the top, About, at the bottom)"}
}

var commandShape = regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`)

// Validate returns all that is wrong, joined; each error begins with the key below
// [channels.NAME] it speaks of and a colon.
func (c Config) Validate() error {
	return errors.Join(
		wire.Require(c.Mode == ModeSocket || c.Mode == ModeEvents, "mode: %q is not one of socket, events", c.Mode),
		wire.Require(c.Mode != ModeEvents || c.SigningSecret.Reveal() != "", `signing_secret: is needed with mode = "events"; it stands under Basic Information of the app`),
		wire.RequireAddress(c.APIURL, "http://127.0.0.1:8082/api/"),
		wire.Require(c.PingInterval >= 100*time.Millisecond && c.PingInterval <= mostPing, "ping_interval: is not between 100ms and %s", mostPing),
		wire.Require(commandShape.MatchString(c.Command), "command: %q is no slash command such as /switchboard", c.Command),
		wire.Require(c.ReplyIn == ReplyInThread || c.ReplyIn == ReplyInChannel, "reply_in: %q is not one of thread, channel", c.ReplyIn),
	)
}

// Manifest makes the app that an adapter in mode socket needs: "From a manifest" at
// api.slack.com/apps takes it as it is.
//
// Source: https://docs.slack.dev/reference/app-manifest.
//
//go:embed manifest.json
var Manifest string

// AgentManifest makes the same app an agent: by agent_view, which wants the scope assistant:write and
// app_home_opened as well. An app stays one, and agents need a paid plan.
//
// Source: https://docs.slack.dev/ai/migrating-to-agent-messaging/, https://docs.slack.dev/ai/.
var AgentManifest = strings.NewReplacer(
	"\n    ]\n  },\n  \"oauth_config\"", "\n    ],\n    \"agent_view\": {\"agent_description\": \"An assistant of your own\"}\n  },\n  \"oauth_config\"",
	`"app_mentions:read",`, `"app_mentions:read", "assistant:write",`,
	`"app_mention",`, `"agent_session_stopped", "app_home_opened", "app_mention",`,
).Replace(Manifest)

// agentManifestUse says it of AgentManifest.
const agentManifestUse = "Slack does not let an app take the agent view back, and agents need a paid plan; without --agent the app works on every plan.\n" + manifestUse

// manifestUse says what to do with Manifest.
const manifestUse = "At https://api.slack.com/apps: Create New App, From a manifest, your workspace, and paste this under JSON.\n" +
	"Then Install App shows the bot token; Basic Information, App-Level Tokens makes the other one, with the scope connections:write."
