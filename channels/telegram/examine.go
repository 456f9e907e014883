package telegram

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// Examine implements channels.Examiner: is the token good, what does the bot see in
// groups, and does nothing else receive its updates.
func (c *Client) Examine(ctx context.Context) []channels.Finding {
	me, err := c.meet(ctx)
	if err != nil {
		return []channels.Finding{wire.Unusable(err, "@BotFather gives one with /newbot", "ask @BotFather for the token with /token, and set it")}
	}
	findings := []channels.Finding{
		{OK: true, Text: fmt.Sprintf("the token is good: @%s (%d)", me.Username, me.ID)}, groupsOf(me),
	}
	findings = append(findings, c.examineWebhook(ctx)...)
	if plainHTTP(c.API) {
		findings = append(findings, channels.Finding{
			OK: true, Warn: true, Text: "api_url has no TLS and leaves this machine: anybody who listens on the way learns the token",
		})
	}
	return findings
}

// groupsOf says what the bot is told in groups.
//
// Source: https://core.telegram.org/bots/features#privacy-mode.
func groupsOf(me wireUser) channels.Finding {
	switch {
	case !me.CanJoinGroups:
		return channels.Finding{OK: true, Text: "it cannot be added to groups (@BotFather, /setjoingroups)"}
	case me.CanReadAllGroupMessages:
		return channels.Finding{OK: true, Text: "privacy mode is off: in groups it is told every message"}
	}
	return channels.Finding{
		OK:   true,
		Text: "privacy mode is on: in groups it is told only commands, replies to it and messages that name it. For require_mention = false, switch it off with @BotFather, /setprivacy, and add the bot to the group again",
	}
}

// webhookInfo is what the platform says of the webhook.
//
// Source: https://core.telegram.org/bots/api#webhookinfo.
type webhookInfo struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	LastError string `json:"last_error_message"`
}

func (c *Client) examineWebhook(ctx context.Context) []channels.Finding {
	info, err := ask[webhookInfo](ctx, c.api, "getWebhookInfo", func(ctx context.Context, lib *bot.Bot) error { return wire.Err(lib.GetWebhookInfo(ctx)) })
	switch {
	case err != nil:
		return []channels.Finding{{Text: err.Error(), Fix: "try again; see whether this machine reaches the platform"}}
	case c.cfg.Mode == ModePolling && info.URL != "":
		return []channels.Finding{{
			OK: true, Warn: true,
			Text: fmt.Sprintf("a webhook is set (%s), and the channel polls: it is deleted when the channel connects; if another program set it, give that one a bot of its own", host(info.URL)),
		}}
	case c.cfg.Mode == ModeWebhook && info.LastError != "":
		return []channels.Finding{{
			Text: "the platform could not call lately: " + c.scrub(info.LastError),
			Fix:  "see whether server.public_url is reached from outside, with a certificate that is good",
		}}
	}
	if info.Pending > 0 {
		return []channels.Finding{{OK: true, Text: fmt.Sprintf("%d updates wait at the platform", info.Pending)}}
	}
	return nil
}

// host is what may be shown of an address: its path may hold a secret.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address"
	}
	return u.Host
}

// plainHTTP says whether address has no TLS and is not of this machine or network.
func plainHTTP(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback() && !ip.IsPrivate()
}
