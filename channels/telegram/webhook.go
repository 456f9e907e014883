package telegram

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	// secretHeader holds what setWebhook gave as secret_token.
	//
	// Source: https://core.telegram.org/bots/api#setwebhook.
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate bounds what a caller may post, in bytes; updates are a few KB.
	maxUpdate = 1 << 20
)

// Handler takes the platform's calls in mode webhook. It answers 200 only when the
// update is committed; until Run runs it answers 503, and the platform calls again.
//
// The pictures of an album come by calls of their own, the next when the one before
// was answered: the first makes the message, the others are edits of it.
func (c *Client) Handler() http.Handler {
	want := sha256.Sum256([]byte(c.cfg.WebhookSecret.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
		if c.cfg.WebhookSecret.Reveal() == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			http.Error(w, "wrong secret", http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "updates are posted", http.StatusMethodNotAllowed)
			return
		}
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
		if err != nil {
			http.Error(w, "the update cannot be read", http.StatusBadRequest)
			return
		}
		if err := c.called(r.Context(), raw); err != nil {
			c.log.WarnContext(r.Context(), "an update was not accepted; the platform calls again", "error", err)
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	})
}

// called hands in one update.
func (c *Client) called(ctx context.Context, raw []byte) error {
	c.mu.Lock()
	s := c.running
	c.mu.Unlock()
	if s == nil {
		return channels.ErrNotConnected
	}
	s.sink.Received()
	u := c.decode(s.account.id, raw)
	if u.event == nil {
		return nil
	}
	accept := func(events []channels.Event) ([]channels.Receipt, error) { return s.sink.Accept(ctx, events) }
	if u = join([]update{u}); u.ofAlbum() != (albumKey{}) {
		return c.albums.take(u, nil, accept)
	}
	receipts, err := accept([]channels.Event{*u.event})
	if err != nil {
		return err
	}
	if u.query != "" && len(receipts) == 1 && !receipts[0].Silent {
		c.answer(context.WithoutCancel(ctx), s, u.query, receipts[0].Toast)
	}
	return nil
}

// webhookInfo is what the platform says of the webhook.
//
// Source: https://core.telegram.org/bots/api#webhookinfo.
type webhookInfo struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	LastError string `json:"last_error_message"`
	ErrorDate int64  `json:"last_error_date"`
}

// beCalled sets the webhook and sees that it stays, until ctx ends. What waited to be
// polled is told by calls then.
func (c *Client) beCalled(ctx context.Context, s *session) error {
	err := c.do(ctx, "setWebhook", 0, with((*bot.Bot).SetWebhook, &bot.SetWebhookParams{
		URL: c.cfg.WebhookURL, AllowedUpdates: allowedUpdates, SecretToken: c.cfg.WebhookSecret.Reveal(),
	}))
	if err != nil {
		return err
	}
	for {
		info, err := c.webhook(ctx)
		if err != nil {
			return err
		}
		if info.URL != c.cfg.WebhookURL {
			return fmt.Errorf("%w: its webhook is set to another address", channels.ErrElsewhere)
		}
		s.sink.Received()
		c.refused.Served(s.account.secret)
		if since := time.Since(instant(info.ErrorDate)); info.LastError != "" && since < 2*c.pace.check {
			c.log.WarnContext(ctx, "the platform cannot call", "error", c.scrub(info.LastError), "pending", info.Pending)
		}
		if !retry.Sleep(ctx, c.pace.check) {
			return ctx.Err()
		}
	}
}

func (c *Client) webhook(ctx context.Context) (webhookInfo, error) {
	return ask[webhookInfo](ctx, c, "getWebhookInfo", func(ctx context.Context, lib *bot.Bot) error {
		_, err := lib.GetWebhookInfo(ctx)
		return err
	})
}
