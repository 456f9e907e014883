package discord

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

// Client is one bot account.
type Client struct {
	*api
	*places
	*gate
	cfg     Config
	outside wire.Memory[snowflake, bool]            // threads that are answered in the channel around them
	signs   wire.Memory[channels.MessageID, string] // the bot's reactions
	odd     wire.Memory[string, bool]               // kinds of events that are not known here, and were told
}

var _ interface {
	channels.Channel
	channels.Prober
	channels.Pulse
	channels.Connector
	channels.Editor
	channels.Drafter
	channels.Deleter
	channels.Reactor
	channels.Unbuttoner
	channels.Fetcher
	channels.Placer
	channels.Commander
	channels.Typer
	channels.Finder
	channels.Deduper
	channels.Examiner
} = (*Client)(nil)

// New makes a channel. It does no I/O.
func New(name string, cfg Config, log *slog.Logger) *Client {
	c := &Client{cfg: cfg}
	c.api = newAPI(name, cfg.APIURL, log, &c.cfg.Token)
	c.places = &places{api: c.api, cfg: &c.cfg, known: wire.Memory[snowflake, place]{Most: mostPlaces}}
	c.gate = &gate{api: c.api}
	return c
}

// Probe asks the platform who the bot is.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.meet(ctx)
	return err
}

// Silence is how long a good connection says nothing at most.
func (c *Client) Silence() time.Duration { return c.pace.heartbeat + c.pace.silence }

// mostRetries is how often Run connects again by itself before its caller decides.
const mostRetries = 3

// Run connects, and hands in what the platform tells.
func (c *Client) Run(ctx context.Context, sink channels.Sink) error {
	defer c.Wire.Close()
	for try := 0; ; try++ {
		err := c.api.Run(ctx, func(login wire.Login[*discordgo.Session]) error { return c.connect(ctx, login.All, sink) })
		if !errors.Is(err, errRetry) || try == mostRetries {
			return err
		}
	}
}

// connect makes one connection and serves it to its end.
func (c *Client) connect(ctx context.Context, secret secrets.Secret, sink channels.Sink) error {
	s, address, err := c.sessionOf(ctx, secret, sink)
	if err != nil {
		return err
	}
	l := &connection{c: c, sink: sink, session: s, queue: make(chan told, queued)}
	l.presses.SetLimit(pressesAtOnce)
	err = l.serve(ctx, address)
	return l.ended(ctx, err)
}
