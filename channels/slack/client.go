package slack

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// Client is one app in one workspace.
type Client struct {
	*api
	cfg     Config
	reacted wire.Memory[messageRef, string]
	threads wire.Memory[messageRef, string] // that messages are in
	growing growing
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
	channels.TurnShower
	channels.Finder
	channels.Examiner
} = (*Client)(nil)

// pace is how long the client waits where it waits by itself.
type pace struct {
	firstRetry, mostRetry time.Duration // before events that were not accepted are handed in again
	interaction           time.Duration // until whoever pressed a button is told that it is not confirmed
	mostWait              time.Duration // until what comes waits no longer for what was missed
	twin                  time.Duration // until a mention waits no longer for what else is told of it
	shares                time.Duration // between two looks for the message that files are in
}

// Interactions are to be acknowledged in 3 s.
//
// Source: https://docs.slack.dev/interactivity/handling-user-interaction.
var defaultPace = pace{
	firstRetry: 50 * time.Millisecond, mostRetry: 5 * time.Second,
	interaction: 2 * time.Second, mostWait: time.Minute, twin: 300 * time.Millisecond, shares: 250 * time.Millisecond,
}

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	c := &Client{cfg: cfg}
	settings := []*channels.Credential{&c.cfg.BotToken}
	if cfg.Mode == ModeSocket {
		settings = append(settings, &c.cfg.AppToken)
	}
	c.api = newAPI(name, cfg.APIURL, log, settings...)
	return c
}

// Silence is how long a good connection says nothing at most.
func (c *Client) Silence() time.Duration { return c.cfg.PingInterval }

// Run connects, and hands in what the platform tells.
func (c *Client) Run(ctx context.Context, sink channels.Sink) error {
	return c.api.Run(ctx, func(login wire.Login[*slack.Client]) error {
		if c.cfg.Mode == ModeEvents {
			return errors.New(`mode = "events" is not available in this build: nothing serves the address that the platform would call; set mode = "socket"`)
		}
		me, err := c.meet(ctx)
		if err != nil {
			return err
		}
		c.Refused.Greeted(login.All)
		s, err := newSession(ctx, c, sink, me)
		if err != nil {
			return err
		}
		defer c.Wire.Close()
		for {
			if err := s.socket(ctx); !errors.Is(err, errReopen) {
				return err
			}
		}
	})
}

// Probe asks the platform who the bot is.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.meet(ctx)
	return err
}
