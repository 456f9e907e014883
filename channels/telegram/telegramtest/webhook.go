package telegramtest

import (
	"cmp"
	"net/url"

	"switchboard/channels/platformtest"
	"switchboard/internal/words"
)

const pageWebhook = "setwebhook"

var secretToken = words.Pattern(`^[A-Za-z0-9_-]{1,256}$`)

// A webhook is where updates would be delivered. Nothing is: there is only that nobody can poll.
type webhook struct {
	url         string
	connections int64
}

func (s *calls) setWebhook(b *Bot, p *params) any {
	target, secret, drop, most := p.values["url"], p.values["secret_token"], p.bool("drop_pending_updates"), p.int("max_connections")
	allowed, given := p.allowed()
	if target != "" {
		u, err := url.Parse(target)
		if !p.failIf(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "", pageWebhook, "bad webhook: invalid webhook URL specified") {
			p.failIf(!platformtest.Loopback(u.Hostname()), pageWebhook, "bad webhook: this platform reaches only 127.0.0.1, not %s", u.Hostname())
		}
		p.failIf(secret != "" && !secretToken().MatchString(secret), pageWebhook, "secret token contains unallowed characters")
		p.failIf(most < 0 || most > 100, pageWebhook, "max_connections must be between 1 and 100")
	}
	if p.wrong != nil {
		return nil
	}
	if given {
		b.allowed = allowed
	}
	s.unhook(b, drop)
	if target == "" {
		return true
	}
	b.hook = &webhook{url: target, connections: cmp.Or(most, 40)}
	return true
}

// unhook ends the webhook, if there is one.
func (s *calls) unhook(b *Bot, drop bool) {
	b.hook = nil
	if drop {
		b.queue = nil
	}
}

func (s *calls) deleteWebhook(b *Bot, p *params) any {
	if drop := p.bool("drop_pending_updates"); p.wrong == nil {
		s.unhook(b, drop)
	}
	return true
}

func (s *calls) getWebhookInfo(b *Bot, _ *params) any {
	info := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(b.queue)}
	if len(b.allowed) > 0 {
		info["allowed_updates"] = b.allowed
	}
	if b.hook != nil {
		info["url"], info["max_connections"] = b.hook.url, b.hook.connections
	}
	return info
}
