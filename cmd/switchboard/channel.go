package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/api"
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
		return []any{r.ID, r.Channel, at(r.At), oneLine(r.Reason, 60), oneLine(r.Raw, 80)}
	})
}

type channelListCmd struct{ jsonFlag }

// stateUnknown is what a channel is while no engine runs that could tell.
const stateUnknown channels.State = "unknown"

// Run implements the command. It never becomes the engine: a channel of an engine
// that runs for this command alone would say nothing about yours.
func (c *channelListCmd) Run(a *app) error {
	settings, _, err := a.load()
	if err != nil {
		return err
	}
	list, silent, err := channelStatuses(a.ctx, settings)
	for _, engine := range silent {
		fmt.Fprintf(a.err, "switchboard: engine %s does not answer; \"switchboard doctor\" says more\n", engine)
	}
	if errors.Is(err, api.ErrNoEngine) {
		fmt.Fprintln(a.err, "switchboard: no engine is running, so nothing is connected; \"switchboard serve\" starts one")
		list = unknownChannels(settings)
	} else if err != nil {
		return err
	}
	return printRows(a.out, c.JSON, "NAME\tKIND\tSTATE\tSINCE\tLAST HEARD\tLAST EVENT\tREASON", list, func(s channels.Status) []any {
		return []any{s.Name, s.Kind, s.State, when(s.Since), when(s.LastFrame), when(s.LastEvent), oneLine(s.Reason, len(s.Reason)+1)} // the last column: whole
	})
}

// howItIs says in a line how a channel is, since when in a zone, and why.
func howItIs(s channels.Status, zone *time.Location) string {
	is := map[channels.State]string{
		channels.StateConnected: "has been connected", channels.StateConnecting: "has been connecting",
		channels.StateWaiting: "has been waiting", channels.StateError: "has not been connected",
		channels.StateDeaf: "has heard nothing", channels.StateDisabled: "is switched off",
	}[s.State]
	text := s.Name + " " + cmp.Or(is, "is "+string(s.State))
	if !s.Since.IsZero() {
		text += " since " + s.Since.In(zone).Format(stamp)
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	return text
}

// when is at, or a dash for never.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return at(t)
}

// channelStatuses asks the engines that run here; of several, the one that holds a
// channel speaks for it. silent are the numbers of those that say nothing: one of them
// may hold what the others wait for. api.ErrNoEngine: there is none.
func channelStatuses(ctx context.Context, settings *configs.Settings) (list []channels.Status, silent []string, err error) {
	answers, silent, err := api.AskAll[[]channels.Status](ctx, settings.DataDir, "/v1/channels")
	if err != nil {
		return nil, silent, err
	}
	list = merged(answers)
	for i := range list {
		if s := &list[i]; len(silent) > 0 && s.State == channels.StateWaiting {
			s.Reason += "; engine " + strings.Join(silent, ", ") + " does not answer"
		}
	}
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list, silent, nil
}

// merged is one list of what several engines say of the same channels.
func merged(answers [][]channels.Status) (list []channels.Status) {
	for _, answer := range answers {
		for _, s := range answer {
			i := slices.IndexFunc(list, func(known channels.Status) bool { return known.Name == s.Name })
			if i < 0 {
				list = append(list, s)
				continue
			}
			last := s.LastEvent
			if last.Before(list[i].LastEvent) {
				last = list[i].LastEvent // who held it before knows of more than who holds it now
			}
			if speaks(s) > speaks(list[i]) {
				list[i] = s
			}
			list[i].LastEvent = last
		}
	}
	return list
}

// speaks says how much an engine has to say of a channel: who waits for its lease knows
// nothing of its connection.
func speaks(s channels.Status) int {
	switch s.State {
	case stateUnknown:
		return 0
	case channels.StateWaiting, channels.StateDisabled:
		return 1
	}
	return 2
}

// statuses are the engine's channels with those that it does not run.
func (e *engine) statuses() []channels.Status {
	list := e.router.Lines.Statuses()
	for _, s := range unknownChannels(e.settings()) {
		if !slices.ContainsFunc(list, func(known channels.Status) bool { return known.Name == s.Name }) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// unknownChannels are the channels of the settings with no engine to tell of them.
func unknownChannels(settings *configs.Settings) []channels.Status {
	list := []channels.Status{{Name: consoleName, Kind: consoleName, State: stateUnknown, Reason: "no engine runs it"}}
	for _, name := range slices.Sorted(maps.Keys(settings.Channels)) {
		ch := settings.Channels[name]
		s := channels.Status{Name: name, Kind: ch.Kind, State: stateUnknown, Reason: "no engine runs it"}
		if !ch.Enabled {
			s.State, s.Reason = channels.StateDisabled, "enabled = false"
		} else if _, known := kinds.Find(ch.Kind); !known {
			s.State, s.Reason = channels.StateDisabled, "this build has no "+ch.Kind
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b channels.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// checkStatuses says how each channel of the running engine is; nothing where none
// runs. Mends are what is known by name to help one that is not well.
func (a *app) checkStatuses(settings *configs.Settings, mends map[string]string) (findings []finding) {
	list, _, err := channelStatuses(a.ctx, settings) // who is silent is said of the engines
	if errors.Is(err, api.ErrNoEngine) {
		return nil
	} else if err != nil {
		return []finding{{Check: "channel", Text: "the engine does not say how its channels are: " + err.Error(), Mend: "restart it; an older version may be running"}}
	}
	for _, s := range list {
		f := finding{Check: "channel", Text: howItIs(s, time.Local)}
		switch s.State {
		case channels.StateError, channels.StateDeaf:
			f.Mend = cmp.Or(mends[s.Name], "\"switchboard channel list\" says when it is well again")
		case channels.StateWaiting, channels.StateConnecting:
			f.OK, f.Warn = true, true
		default:
			f.OK = true
		}
		findings = append(findings, f)
	}
	return findings
}
