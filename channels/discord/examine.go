package discord

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

// permissions are what the bot needs in a guild: see channels, send, in threads too, begin
// threads, attach files, read history, react.
//
// Source: https://docs.discord.com/developers/topics/permissions.
const permissions = 1<<6 | 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<35 | 1<<38

// The flags of an application that say that the message content intent is on.
//
// Source: https://docs.discord.com/developers/resources/application#application-object-application-flags.
const flagsContent = 1<<18 | 1<<19

// Examine implements channels.Examiner. It begins no session: those are limited.
func (c *Client) Examine(ctx context.Context) []channels.Finding {
	app, err := c.application(ctx)
	if err != nil {
		return []channels.Finding{c.failure(err)}
	}
	found := []channels.Finding{{OK: true, Text: fmt.Sprintf("the token is good: application %s (%s)", app.Name, app.ID)}}
	content := channels.Finding{OK: true, Text: "the message content intent is on: the bot sees what is written on servers, too"}
	if app.Flags&flagsContent == 0 {
		content = channels.Finding{
			OK: true, Warn: true,
			Text: "the message content intent is off: the bot sees direct chats, and on servers only messages that mention it",
			Fix:  "for the rest switch on Message Content Intent at https://discord.com/developers/applications/" + app.ID.String() + "/bot and restart",
		}
	}
	found = append(found, content)
	switch g, err := c.gateway(ctx); {
	case err != nil:
		found = append(found, channels.Finding{Text: err.Error(), Fix: "wait, and look again"})
	case g.Shards > 1:
		found = append(found, channels.Finding{Text: errSharded.Error(), Fix: "then restart"})
	case g.few():
		found = append(found, channels.Finding{OK: g.Starts.Remaining > 0, Warn: true, Text: g.left(), Fix: "look for what connects so often; a restart begins one session of those that are left"})
	}
	return append(found, channels.Finding{OK: true, Text: "to add it to a server, open " + invite(app.ID.String())})
}

// invite is where an admin of a guild lets the bot in, with what it needs and nothing else.
//
// Source: https://docs.discord.com/developers/topics/oauth2#bot-authorization-flow.
func invite(application string) string {
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", application, uint64(permissions))
}

// failure is what is found when the bot cannot be asked about.
func (c *Client) failure(err error) channels.Finding {
	renew := "make a new token in the developer portal (Bot, Reset Token), and set it"
	if secret, err := c.cfg.Token.Read(); err == nil {
		if id := cmp.Or(c.cfg.ApplicationID, ownerOf(secret)); id != "" {
			renew = "make a new token at https://discord.com/developers/applications/" + id + "/bot (Reset Token), and set it"
		}
	}
	return wire.Unusable(err, "The developer portal gives one: https://discord.com/developers/applications, your application, Bot, Reset Token", renew)
}

// ownerOf is the bot's own number, which its token begins with; empty: it does not.
func ownerOf(secret secrets.Secret) string {
	head, _, _ := strings.Cut(secret.Reveal(), ".")
	id, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || !isID(string(id)) {
		return ""
	}
	return string(id)
}
