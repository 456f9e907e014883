package telegram

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/go-telegram/bot"
	"golang.org/x/sync/errgroup"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

// Client is one bot account.
type Client struct {
	*api
	cfg  Config
	pace pace
	// maxPoll bounds what the platform may answer to a poll, in bytes.
	maxPoll int64

	running atomic.Pointer[session] // nil while nothing runs
	albums  albums
	// foreign: the last Run ended because somebody else polls, and no long poll has
	// been well since.
	foreign atomic.Bool
}

var _ interface {
	channels.Channel
	channels.Prober
	channels.Pulse
	channels.Editor
	channels.Drafter
	channels.Deleter
	channels.Reactor
	channels.Unbuttoner
	channels.Fetcher
	channels.Commander
	channels.Typer
	channels.Examiner
	channels.Linker
} = (*Client)(nil)

// session is one Run: where events go, and the answers to buttons that are under way.
type session struct {
	sink    channels.Sink
	secret  secrets.Secret
	presses errgroup.Group
}

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	c := &Client{cfg: cfg, pace: defaultPace, maxPoll: wire.MaxAnswer}
	c.api = newAPI(name, cfg.APIURL, log, &c.cfg.Token)
	c.moved = c.tellMoved
	return c
}

// Link implements channels.Linker.
//
// Source: https://core.telegram.org/bots/features#deep-linking.
func (c *Client) Link() string {
	name := c.me().username
	if name == "" {
		return ""
	}
	return "https://t.me/" + name + "?start="
}

// Run connects, and hands in what the platform tells.
func (c *Client) Run(ctx context.Context, sink channels.Sink) error {
	return c.api.Run(ctx, func(login wire.Login[*bot.Bot]) error {
		if c.cfg.Mode == ModeWebhook {
			return errors.New(`mode = "webhook" is not available in this build: nothing serves the address that the platform would call; set mode = "polling"`)
		}
		if _, err := c.meet(ctx); err != nil {
			return err
		}
		c.Refused.Greeted(login.All)
		s := &session{sink: sink, secret: login.All}
		s.presses.SetLimit(pressesAtOnce)
		defer s.presses.Wait()
		c.running.Store(s)
		defer c.Wire.Close()
		defer c.running.Store(nil)
		return c.poll(ctx, s)
	})
}

// Probe asks the platform who the bot is.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.meet(ctx)
	return err
}

// tellMoved hands in that a chat has a new number, which the answer to a call said. The
// update that says it too has the same key.
func (c *Client) tellMoved(ctx context.Context, from, to int64) {
	s := c.running.Load()
	if s == nil {
		return
	}
	event := c.reader().moved("", from, to, 0)
	if _, err := s.sink.Accept(ctx, []channels.Event{*event}); err != nil {
		c.Log.WarnContext(ctx, "a conversation moved, and that was not taken", "conversation_id", string(event.Former), "error", err)
	}
}
