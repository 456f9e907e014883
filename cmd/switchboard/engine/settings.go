package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/router"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
)

// program is what the settings call of an engine; its router is made after they are.
type program struct{ *Engine }

var _ live.Program = program{}

// Prepare makes what other settings need and changes nothing.
func (e program) Prepare(next *configs.Settings, diff []configs.Difference, renew []string) (*live.Prepared, error) {
	made, err := e.newAgent(next)
	if err != nil {
		return nil, err
	}
	moves, err := e.moves(next, diff, renew)
	if err != nil {
		return nil, err
	}
	return &live.Prepared{
		Write: func(ctx context.Context) error {
			if !configs.Touches(diff, "heartbeat", "scheduler.timezone") {
				return nil
			}
			return e.keepOwnJobs(ctx, next)
		},
		Use: func() error {
			e.policy.Apply(next.Policy)
			e.space.SetLimits(next.Agent.WorkspaceLimit, next.Agent.WorkspaceFiles)
			e.files.Apply(fileLimits(next))
			e.agents.now.Swap(made).models.Close()
			errs := []error{e.router.Apply(routerSettings(next))}
			for _, move := range moves {
				errs = append(errs, move())
			}
			e.scheduler.Wake()
			e.embedder.Wake()
			return errors.Join(errs...)
		},
	}, nil
}

// moves are what other settings do with the channels: those that are gone are detached, then rules change, then the
// others are attached.
func (e program) moves(next *configs.Settings, diff []configs.Difference, renew []string) ([]func() error, error) {
	if e.mode.Channels == nil {
		return nil, nil
	}
	var faults configs.Faults
	var detach, rules, attach []func() error
	attached := e.mode.Channels(next, e.metrics.Log(e.log))
	for _, former := range e.router.Channels.List() {
		name := former.Name()
		if !access.BuiltIn(name) && !slices.ContainsFunc(attached, func(at router.Attached) bool { return at.Name() == name }) {
			detach = append(detach, func() error { e.router.Detach(name); return nil })
		}
	}
	for _, at := range attached {
		name := at.Name()
		there := slices.ContainsFunc(e.router.Channels.List(), func(former router.Attached) bool { return former.Name() == name })
		if former := e.router.Connections.Connection(name); former != nil && former.Kind != at.Channel.Kind() {
			key := "channels." + name + ".kind"
			faults = append(faults, configs.Fault{Source: next.Place(key), Key: key, Text: fmt.Sprintf(
				"was %s since the program began, which only a restart can change; give the new channel another name", former.Kind)})
		}
		switch otherRules, adapter := configs.OfChannel(diff, name); {
		case !there || adapter || slices.Contains(renew, name):
			e.metrics.Serves(name)
			attach = append(attach, func() error { return e.router.Attach(at) })
		case otherRules:
			rules = append(rules, func() error { return e.router.SetRules(name, at.Config) })
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return slices.Concat(detach, rules, attach), nil
}

// Notify tells the admins something, once about the same thing.
func (e program) Notify(ctx context.Context, kind outbox.NoticeKind, about, text string) {
	e.router.Connections.Notify(ctx, kind, about, text)
}

// NoticeChats are where notices of a kind go.
func (e program) NoticeChats(ctx context.Context, kind outbox.NoticeKind) ([]channels.Conversation, error) {
	return e.router.Connections.NoticeChats(ctx, kind)
}

// PeopleChanged has the people read again.
func (e program) PeopleChanged(ctx context.Context) { e.router.People.Changed(ctx) }

// JobsPaused tells somebody that jobs of theirs are paused, and why.
func (e program) JobsPaused(ctx context.Context, owner, why string, list []int64) {
	jobs.NotifyPaused(ctx, e.router.Connections, owner, why, list)
}

// SettingsCounting is the version by which the program goes.
func (e program) SettingsCounting() int64 { return e.router.Settled.Counting() }
