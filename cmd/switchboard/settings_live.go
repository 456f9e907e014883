package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/cmd/switchboard/logs"
	"switchboard/configs"
	"switchboard/router"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/outbox"
	"switchboard/router/settings"
)

// settings are those that count now. Who reads them twice keeps them.
func (e *engine) settings() *configs.Settings { return e.now.Load() }

// A mind is an agent with its models.
type mind struct {
	*agent.Agent
	models   *llm.Models
	harmless []string // tools that change nothing
}

// minds is the agent of an engine, which is another one when the settings have changed. A turn
// goes on with the one that it began with.
type minds struct{ now atomic.Pointer[mind] }

// Run implements router.Agent.
func (m *minds) Run(ctx context.Context, turn agent.Turn, journal agent.Journal) error {
	return m.now.Load().Run(ctx, turn, journal)
}

func (m *minds) usable(q tools.Question) []string { return m.now.Load().Usable(q) }
func (m *minds) summary(tool string) string       { return m.now.Load().Summary(tool) }
func (m *minds) typed(tool string, args json.RawMessage) (json.RawMessage, string, error) {
	return m.now.Load().Typed(tool, args)
}

// A change is what makes an engine go by other settings: all that can be wrong with them was found.
type change struct {
	settings *configs.Settings
	diff     []configs.Difference
	mind     *mind
	attach   []router.Attached
	rules    []router.Attached // with another config alone
	detach   []string
}

// prepare makes what other settings need and changes nothing. The channels of renew are connected
// anew in any case. An error is for people.
func (e *engine) prepare(ctx context.Context, next *configs.Settings, renew ...string) (c *change, err error) {
	was := e.settings()
	c = &change{settings: next.Keeping(was), diff: configs.Diff(was, next)}
	next = c.settings
	if touches(c.diff, "people") {
		if err := peopleFaults(next, e.db.Router().CheckPeople(ctx, withOwner(next.Directory()))); err != nil {
			return c, err
		}
	}
	if c.mind, err = e.newMind(next); err != nil || e.others == nil {
		return c, err
	}
	var faults configs.Faults
	gone := map[string]bool{}
	for _, at := range e.router.Channels.List() {
		gone[at.Name()] = at.Name() != consoleName
	}
	for _, at := range e.others(next, e.log) {
		name := at.Name()
		_, there := gone[name]
		delete(gone, name)
		if line := e.router.Lines.Connection(name); line != nil && line.Kind != at.Channel.Kind() {
			key := "channels." + name + ".kind"
			faults = append(faults, configs.Fault{Source: next.Place(key), Key: key, Text: fmt.Sprintf(
				"was %s since the program began, which only a restart can change; give the new channel another name", line.Kind)})
		}
		switch rules, adapter := configs.OfChannel(c.diff, name); {
		case !there || adapter || slices.Contains(renew, name):
			c.attach = append(c.attach, at)
		case rules:
			c.rules = append(c.rules, at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if gone[name] {
			c.detach = append(c.detach, name)
		}
	}
	if len(faults) > 0 {
		return c, faults
	}
	return c, nil
}

// apply has the engine go by a change. Nothing changes on an error of the database, which alone can
// fail.
func (e *engine) apply(ctx context.Context, c *change) error {
	was, s := e.settings(), c.settings
	if touches(c.diff, "people", "scheduler.timezone") {
		if err := e.setPeople(ctx, s); err != nil {
			return err
		}
		e.router.People.Changed(ctx)
		e.tellPeople(ctx)
	}
	if touches(c.diff, "heartbeat", "scheduler.timezone") {
		if err := e.keepOwnJobs(ctx, s); err != nil {
			return err
		}
	}
	e.now.Store(s)
	e.policy.Apply(s.Policy)
	e.space.SetLimits(s.Agent.WorkspaceLimit, s.Agent.WorkspaceFiles)
	e.files.Apply(fileLimits(s))
	logs.SetLevel(e.log, s)
	former := e.mind.now.Swap(c.mind)
	former.models.Close()
	errs := []error{e.router.Apply(routerSettings(s))}
	for _, name := range c.detach {
		e.router.Detach(name)
	}
	for _, at := range c.rules {
		errs = append(errs, e.router.SetRules(at.Name(), at.Config))
	}
	for _, at := range c.attach {
		errs = append(errs, e.router.Attach(at))
	}
	e.jobs.Wake()
	e.sayApplied(ctx, c)
	e.noteFile(ctx, was, c)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the settings were checked, and part of them cannot be applied: %w", err)
	}
	return nil
}

// sayApplied logs what changed, and what counts only from the next start on.
func (e *engine) sayApplied(ctx context.Context, c *change) {
	var now, later []string
	for _, d := range c.diff {
		if d.Live {
			now = append(now, d.Key)
		} else {
			later = append(later, d.Key)
		}
	}
	if len(now) > 0 {
		e.log.InfoContext(ctx, "other settings count now", "settings", strings.Join(now, ", "))
	}
	if len(later) > 0 {
		e.log.WarnContext(ctx, "settings were changed that count from the next start on", "settings", strings.Join(later, ", "))
	}
}

// noteFile has the audit log tell what the file has otherwise; what was changed at run time is there.
func (e *engine) noteFile(ctx context.Context, was *configs.Settings, c *change) {
	text := func(value string) *string {
		if value == "" {
			return nil
		}
		return &value
	}
	note := &settings.FileChange{File: c.settings.File}
	for _, d := range c.diff {
		if _, before := was.Changes()[d.Key]; before {
			continue
		}
		if _, now := c.settings.Changes()[d.Key]; !now && d.Was != d.Is && d.Live {
			note.Diff = append(note.Diff, settings.Diff{Key: d.Key, Was: text(d.Was), Is: text(d.Is)})
		}
	}
	if len(note.Diff) == 0 {
		return
	}
	if err := e.db.Router().Change(ctx, note, core.Actor{Rule: audit.RuleSettings}); err != nil {
		e.log.ErrorContext(ctx, "what the settings file changed cannot be noted in the audit log", "error", err)
	}
}

// touches says whether something changes below one of the keys.
func touches(diff []configs.Difference, keys ...string) bool {
	return slices.ContainsFunc(diff, func(d configs.Difference) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return d.Key == key || strings.HasPrefix(d.Key, key+"[") || strings.HasPrefix(d.Key, key+".")
		})
	})
}

func fileLimits(s *configs.Settings) files.Limits {
	return files.Limits{MaxSize: s.Files.MaxSize, ScanCommand: s.Files.ScanCommand}
}

// noticeTargets are where notices of a kind go now.
func (e *engine) noticeTargets(kind outbox.NoticeKind) []string {
	return e.settings().NoticeTargets(kind)
}
