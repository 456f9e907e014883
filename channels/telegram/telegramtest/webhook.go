package telegramtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/internal/retry"
	"switchboard/internal/words"
)

const pageWebhook = "setwebhook"

// Pauses between tries of a delivery that failed. The platform says only that it gives
// up after a reasonable amount of attempts; here tests wait.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

var secretToken = words.Pattern(`^[A-Za-z0-9_-]{1,256}$`)

// A webhook is where updates are delivered.
type webhook struct {
	url, secret string
	connections int64
	failedAt    time.Time
	failure     string
	stop        context.CancelFunc
}

func (s *Server) setWebhook(b *Bot, p *params) any {
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
	ctx, stop := context.WithCancel(s.Context())
	hook := &webhook{url: target, secret: secret, connections: cmp.Or(most, 40), stop: stop}
	b.hook = hook
	s.Go(func() { s.deliverHook(ctx, b, hook) })
	return true
}

// unhook ends the webhook, if there is one.
func (s *Server) unhook(b *Bot, drop bool) {
	if b.hook != nil {
		b.hook.stop()
		b.hook = nil
	}
	if drop {
		b.queue = nil
	}
}

func (s *Server) deleteWebhook(b *Bot, p *params) any {
	if drop := p.bool("drop_pending_updates"); p.wrong == nil {
		s.unhook(b, drop)
	}
	return true
}

func (s *Server) getWebhookInfo(b *Bot, _ *params) any {
	info := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(b.queue)}
	if len(b.allowed) > 0 {
		info["allowed_updates"] = b.allowed
	}
	if b.hook != nil {
		info["url"], info["max_connections"] = b.hook.url, b.hook.connections
		if b.hook.failure != "" {
			info["last_error_date"], info["last_error_message"] = b.hook.failedAt.Unix(), b.hook.failure
		}
	}
	return info
}

// deliverHook posts updates one after another, again after a pause when that fails.
func (s *Server) deliverHook(ctx context.Context, b *Bot, hook *webhook) {
	client := &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{},
	}
	defer client.CloseIdleConnections()
	failed := 0
	for {
		next, changed := s.nextForHook(b, hook)
		if next.id == 0 {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				continue
			}
		}
		err := hook.post(ctx, client, next.raw)
		s.Change(func() {
			if err == nil {
				b.confirm(next.id+1, s.Now())
				failed = 0
				return
			}
			hook.failedAt, hook.failure = s.Now(), err.Error()
		})
		if err != nil {
			if !retry.Sleep(ctx, retry.Pause(failed, retryFirst, retryMost)) {
				return
			}
			failed++
		}
	}
}

// nextForHook is the oldest update; id 0: there is none, wait for changed.
func (s *Server) nextForHook(b *Bot, hook *webhook) (next update, changed <-chan struct{}) {
	s.Lock()
	defer s.Unlock()
	b.confirm(0, s.Now())
	if b.hook == hook && !s.IsDeaf() && len(b.queue) > 0 {
		next = b.queue[0]
	}
	return next, s.Changed()
}

// post delivers one update; anything but a 2xx is a failure.
func (hook *webhook) post(ctx context.Context, client *http.Client, raw []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if hook.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return errors.New("Connection refused") //nolint:staticcheck // the platform's words
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("Wrong response from the webhook: %s", resp.Status) //nolint:staticcheck // the platform's words
	}
	return nil
}
