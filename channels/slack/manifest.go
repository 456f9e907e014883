package slack

import _ "embed"

// Manifest makes the app that an adapter in mode socket needs: "From a manifest" at
// api.slack.com/apps takes it as it is. An app is an agent by agent_view, which wants the
// scope assistant:write and app_home_opened beside it.
//
// Source: https://docs.slack.dev/reference/app-manifest,
// https://docs.slack.dev/ai/migrating-to-agent-messaging/.
//
//go:embed manifest.json
var Manifest string

// ManifestUse says what to do with it.
const ManifestUse = "At https://api.slack.com/apps: Create New App, From a manifest, your workspace, and paste this under JSON.\n" +
	"Then Install App shows the bot token; Basic Information, App-Level Tokens makes the other one, with the scope connections:write."
