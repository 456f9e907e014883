package main

import (
	"switchboard/channels/discord"
	"switchboard/channels/slack"
	"switchboard/channels/telegram"
)

// asks say what init asks for so that a channel of a kind can be, and where people get it.
type asks struct {
	title string // what people call the platform
	steps []string
	keys  []wanted // of the table [channels.NAME]
}

// A wanted is one credential.
type wanted struct {
	key, title string
	// alone are the keys with which the platform can be asked about it before the next is
	// known; nil: none are needed.
	alone map[string]string
}

// An askedKind is a row of askedKinds.
type askedKind struct {
	kind string
	asks
}

// askedKinds are the kinds that init asks about, in order.
//
// Source: https://core.telegram.org/bots/features#creating-a-new-bot,
// https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests,
// https://docs.discord.com/developers/quick-start/getting-started.
var askedKinds = []askedKind{
	{telegram.Kind, asks{
		"Telegram",
		[]string{
			"Write /newbot to @BotFather (https://t.me/BotFather), a name, and a user name that ends in \"bot\":",
			"it answers with the token.",
		},
		[]wanted{{key: "token", title: "Token of the bot"}},
	}},
	{slack.Kind, asks{
		"Slack",
		[]string{
			"At https://api.slack.com/apps: Create New App, From a manifest, and paste what \"switchboard init slack\" prints.",
			"Install App, Install to your workspace: the bot token, xoxb-…",
			"Basic Information, App-Level Tokens, Generate with the scope connections:write: the app-level token, xapp-…",
		},
		[]wanted{
			{"bot_token", "Bot token, xoxb-…", map[string]string{"mode": slack.ModeEvents, "signing_secret": "none"}},
			{key: "app_token", title: "App-level token, xapp-…"},
		},
	}},
	{discord.Kind, asks{
		"Discord",
		[]string{
			"At https://discord.com/developers/applications: New Application, then Bot. Reset Token shows the token;",
			"further down switch on Message Content Intent, so that it can also read messages that do not mention it.",
		},
		[]wanted{{key: "token", title: "Token of the bot"}},
	}},
}
