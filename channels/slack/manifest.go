package slack

import (
	_ "embed"
	"strings"
)

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
