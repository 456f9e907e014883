package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// needed are the scopes that the bot's token has to have, with what is lost without.
//
// Source: https://docs.slack.dev/reference/scopes.
var needed = []struct{ scope, loses string }{
	{"chat:write", "nothing can be sent"},
	{"app_mentions:read", "the bot does not see mentions"},
	{"im:history", "direct messages are not told"},
	{"channels:history", "messages in public channels are not told"},
	{"groups:history", "messages in private channels are not told"},
	{"mpim:history", "messages in group messages are not told"},
	{"channels:read", "what channel a command came from is not known"},
	{"commands", "the slash command is not told"},
	{"files:read", "files cannot be read"},
	{"files:write", "files cannot be sent"},
	{"reactions:read", "reactions are not told"},
	{"reactions:write", "the bot cannot react"},
	{"users:read", "people are called by their IDs"},
}

// Examine implements channels.Examiner: are the tokens good, and may they do what is
// needed.
func (c *Client) Examine(ctx context.Context) []channels.Finding {
	me, err := c.meet(ctx)
	if err != nil {
		return []channels.Finding{wire.Unusable(err, "api.slack.com/apps gives one when the app is installed", "copy the bot token from OAuth & Permissions of the app at api.slack.com/apps, and set it")}
	}
	findings := []channels.Finding{{OK: true, Text: fmt.Sprintf("the bot token is good: @%s (%s) in %s (%s)", me.Name, me.User, me.Workspace, me.Team)}}
	findings = append(findings, scopesOf(me)...)
	if me.agent() {
		findings = append(findings, channels.Finding{OK: true, Text: "the app is declared an agent: threads show that it is at work, with a stop button"})
	}
	if c.findLimit(ctx, me) {
		findings = append(findings, channels.Finding{
			OK: true, Warn: true, Text: "history is limited to 15 messages a minute, as for apps that are distributed commercially without a listing: after a pause it takes long until all is read",
			Fix: "make the app in your own workspace, from the manifest of switchboard init slack",
		})
	}
	if c.cfg.Mode == ModeSocket {
		findings = append(findings, c.examineSocket(ctx))
	}
	return findings
}

// findLimit finds out whether history is limited: by how much of it comes at once, or by a second call
// in short. Where the bot is in no conversation, nobody knows.
//
// Source: https://docs.slack.dev/reference/methods/users.conversations.
func (c *Client) findLimit(ctx context.Context, me *self) bool {
	if c.paces.isLimited() {
		return true
	}
	var types []string
	for scope, kind := range map[string]string{"channels": "public_channel", "groups": "private_channel", "mpim": "mpim", "im": "im"} {
		if me.can(scope+":read") && me.can(scope+":history") {
			types = append(types, kind)
		}
	}
	type list struct {
		Channels []struct {
			ID string `json:"id"`
		} `json:"channels"`
	}
	here, _, err := ask[list](ctx, c.api, "users.conversations", wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.GetConversationsForUserContext(ctx, &slack.GetConversationsForUserParameters{Types: types, Limit: pageSize, ExcludeArchived: true}))
	})
	if err != nil || len(here.Channels) == 0 {
		return false
	}
	if _, err = c.askHistory(ctx, here.Channels[0].ID, "", "", ""); err != nil {
		return false // somebody else called it a moment ago
	}
	if !c.paces.isLimited() {
		_, err = c.askHistory(ctx, here.Channels[0].ID, "", "", "")
	}
	limited, refused := errors.AsType[*channels.RateLimitError](err)
	return c.paces.isLimited() || refused && limited.RetryAfter > limitedPace/2
}

func scopesOf(me *self) []channels.Finding {
	var missing, loses []string
	for _, n := range needed {
		if !me.can(n.scope) {
			missing, loses = append(missing, n.scope), append(loses, n.loses)
		}
	}
	if len(missing) == 0 {
		return []channels.Finding{{OK: true, Text: "the bot token has the scopes that are needed"}}
	}
	return []channels.Finding{{
		Text: "the bot token lacks the scopes " + strings.Join(missing, ", ") + ": " + strings.Join(loses, "; "),
		Fix:  "add them under OAuth & Permissions of the app, or all at once under App Manifest (switchboard init slack prints it), and install it again",
	}}
}

// examineSocket asks for an address of a socket, which shows that the app-level token is
// good and Socket Mode on. It opens none.
func (c *Client) examineSocket(ctx context.Context) channels.Finding {
	_, err := c.call(ctx, "apps.connections.open", wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error { return wire.Err(lib.StartSocketModeContext(ctx)) })
	if err != nil {
		return channels.Finding{
			Text: "app_token: " + err.Error(),
			Fix:  "make an app-level token with the scope connections:write under Basic Information of the app, and switch Socket Mode on",
		}
	}
	return channels.Finding{OK: true, Text: "the app-level token is good, and Socket Mode is on"}
}
