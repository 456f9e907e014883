package main

import (
	"errors"
	"fmt"
	"time"

	"switchboard/channels"
	web "switchboard/channels/api"
	"switchboard/cmd/switchboard/access"
	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/intake"
)

// channelCmd shows how the channels are.
type channelCmd struct {
	List     channelListCmd     `cmd:"" help:"Each channel's state, since when and why."`
	Rejected channelRejectedCmd `cmd:"" help:"What came in and could not be read, kept as it was."`
}

type channelRejectedCmd struct {
	Limit count `default:"50" help:"Show at most this many."`
	JSON  bool  `name:"json" help:"As JSON, with all of it."`
}

// Run implements the command.
func (c *channelRejectedCmd) Run(a *app) error {
	return list(a, "/v1/channels/rejected?"+query("", c.Limit), c.Limit, c.JSON, "what a platform sends and cannot be read stands here", "ID\tCHANNEL\tWHEN\tREASON\tRAW", func(r intake.Rejected) []any {
		return []any{r.ID, r.Channel, words.At(r.At), oneLine(r.Reason, 60), oneLine(r.Raw, 80)}
	})
}

type channelListCmd struct{ jsonFlag }

// Run implements the command. It never becomes the engine: a channel of an engine
// that runs for this command alone would say nothing about yours.
func (c *channelListCmd) Run(a *app) error {
	settings, err := a.talked(a.settings)
	if err != nil {
		return err
	}
	var got web.ChannelList
	if settings == nil {
		if err := a.ask("/v1/channels", &got); err != nil {
			return err
		}
		return c.print(a, got.Channels)
	}
	list, silent, err := access.AskStatuses(a.ctx, settings)
	for _, engine := range silent {
		fmt.Fprintf(a.err, "switchboard: engine %s does not answer; \"switchboard doctor\" says more\n", engine)
	}
	if errors.Is(err, api.ErrNoEngine) {
		fmt.Fprintln(a.err, "switchboard: no engine is running, so nothing is connected; \"switchboard serve\" starts one")
		list = access.Statuses(nil, settings)
	} else if err != nil {
		return err
	}
	return c.print(a, list)
}

func (c *channelListCmd) print(a *app, list []channels.Status) error {
	return printRows(a.out, c.JSON, "NAME\tKIND\tSTATE\tSINCE\tLAST HEARD\tLAST EVENT\tREASON", list, func(s channels.Status) []any {
		return []any{s.Name, s.Kind, s.State, when(s.Since), when(s.LastFrame), when(s.LastEvent), oneLine(s.Reason, len(s.Reason)+1)} // the last column: whole
	})
}

// when is a time, or a dash for never.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return words.At(t)
}
