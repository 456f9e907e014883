package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/settings"
)

// undoable is how many versions back a change is found that nothing has taken back.
const undoable = 1000

// Changes say what changes of the settings would do.
type Changes struct{ of *Settings }

var _ settings.Keeper = Changes{}

// Changes say what changes would do.
func (l *Settings) Changes() Changes { return Changes{l} }

// Settings are those that count now, in the order of the sample file.
func (cs Changes) Settings() []settings.Setting {
	shown := cs.of.Now().Show()
	list := make([]settings.Setting, len(shown))
	for i, s := range shown {
		list[i] = settings.Setting{Key: s.Key, Value: s.Value, Source: s.Source, Live: configs.Live(s.Key)}
	}
	return list
}

// SettingsVersions lists the versions, the newest first.
func (cs Changes) SettingsVersions(ctx context.Context, limit int) ([]settings.Version, error) {
	return cs.of.db.Router().SettingsVersions(ctx, limit)
}

// SettingsDiff is what was changed at run time.
func (cs Changes) SettingsDiff(ctx context.Context) ([]settings.Difference, error) {
	c, err := cs.of.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	file, _, err := c.Settings.Again(nil)
	if err != nil {
		return nil, brokenFile(err)
	}
	return diffView(configs.Diff(file, c.Settings)), nil
}

// brokenFile says in a sentence that the file has faults; other errors stay as they are.
func brokenFile(err error) error {
	if faults, ok := errors.AsType[configs.Faults](err); ok {
		return refused("The settings file has faults, fix them first: %s", strings.ReplaceAll(faults.Error(), "\n", "; "))
	}
	return err
}

// refused says in a sentence why nothing is changed.
func refused(format string, args ...any) error {
	return &core.StateError{Sentence: fmt.Sprintf(format, args...)}
}

func diffView(diff []configs.Difference) []settings.Difference {
	list := make([]settings.Difference, len(diff))
	for i, d := range diff {
		list[i] = settings.Difference(d)
	}
	return list
}

// PlanSettings says what a change of settings would do, asked for in a conversation.
func (cs Changes) PlanSettings(ctx context.Context, at channels.Conversation, set map[string]string, unset ...string) (*settings.Plan, error) {
	c, err := cs.of.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	return cs.plan(ctx, c, at, set, unset), nil
}

func (cs Changes) plan(ctx context.Context, c *Counted, at channels.Conversation, set map[string]string, unset []string) *settings.Plan {
	plan := &settings.Plan{}
	for key, value := range set {
		known := cs.of.Now().Mask.Text(value)
		if shaped, _ := secrets.Hide(known); shaped != value || strings.Contains(value, "[redacted]") { // or had one that was hidden
			plan.Faults = append(plan.Faults, key+": holds a credential, which would stand readable in the database; set it with /secret set NAME, or at Secrets on the page, and write secret:NAME here")
			delete(set, key)
		}
	}
	proposal, err := cs.propose(ctx, c, set, unset)
	if faults, ok := errors.AsType[configs.Faults](err); ok {
		for _, f := range faults {
			if f.Source == "run-time change" {
				f.Source = ""
			}
			plan.Faults = append(plan.Faults, f.Error())
		}
	} else if err != nil {
		plan.Faults = append(plan.Faults, strings.Split(err.Error(), "\n")...)
	}
	if len(plan.Faults) > 0 {
		slices.Sort(plan.Faults)
		return plan
	}
	for _, w := range proposal.Warnings {
		plan.Warnings = append(plan.Warnings, w.String())
	}
	plan.Diff = diffView(proposal.Diff)
	plan.Change = &settings.Change{Kind: settings.Set, Base: c.version.ID, Values: proposal.Changes}
	if plan.LocksOut = proposal.LocksOut(at.Channel); len(plan.LocksOut) > 0 {
		plan.Change.ConfirmWithin = settings.ConfirmWithin
	}
	return plan
}

// propose proposes a change of what counts. Where that cannot be used any more, and could not be with
// the change either, it is one of the older version that is used in its place.
func (cs Changes) propose(ctx context.Context, c *Counted, set map[string]string, unset []string) (*configs.Proposal, error) {
	propose := func(set map[string]string, unset []string) (*configs.Proposal, error) {
		p, err := c.Settings.Propose(set, unset)
		if err == nil {
			err = cs.of.usable(ctx, p.Settings)
		}
		return p, err
	}
	if c.why == nil {
		return propose(set, unset)
	}
	fixed, used := maps.Clone(c.version.Values), c.Settings.Changes()
	maps.Copy(fixed, set)
	for _, key := range unset {
		delete(fixed, key)
	}
	sets, drops := map[string]string{}, []string(nil)
	for _, d := range settings.Compare(used, fixed) {
		if d.Is == nil {
			drops = append(drops, d.Key)
		} else {
			sets[d.Key] = *d.Is
		}
	}
	if p, err := propose(sets, drops); err == nil {
		return p, nil
	}
	return propose(set, slices.DeleteFunc(unset, func(key string) bool {
		_, of := used[key]
		_, was := c.version.Values[key]
		return was && !of // it is gone with the version that cannot be used
	}))
}

// PlanUndo is PlanSettings of taking a version back; 0: the newest that nothing has taken back.
func (cs Changes) PlanUndo(ctx context.Context, at channels.Conversation, version int64) (*settings.Plan, error) {
	c, err := cs.of.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	v := c.version
	switch {
	case v.ID == 0 && version == 0:
		return nil, refused("Nothing was changed at run time.")
	case v.Waiting() && (version == 0 || version == v.ID):
		return &settings.Plan{Change: &settings.Change{Kind: settings.Revert, ID: v.ID}}, nil
	case version == 0:
		list, err := cs.of.db.Router().SettingsCounting(ctx, undoable)
		if err != nil {
			return nil, err
		}
		standing := settings.Standing(list)
		if standing == nil {
			return nil, refused("Nothing changed at run time is left to take back.")
		}
		v = *standing
	default:
		if v, err = cs.of.db.Router().SettingsVersion(ctx, version); errors.Is(err, core.ErrNotFound) {
			err = refused("There is no version %d of the settings.", version)
		}
		if err != nil {
			return nil, err
		}
	}
	if name := v.Secret(); name != "" {
		return nil, refused("The former value of the secret %s is gone; set it once more.", name)
	}
	set, unset, changed := v.Undo(c.version.Values)
	switch {
	case v.Lapsed:
		return nil, refused("Version %d does not count: it was not confirmed.", v.ID)
	case len(changed) > 0:
		return nil, refused("Version %d cannot be taken back: changed again since: %s. Set them as they are to be.", v.ID, strings.Join(changed, ", "))
	}
	plan := cs.plan(ctx, c, at, set, unset)
	if plan.Change != nil {
		plan.Change.Undoes = v.ID
	}
	return plan, nil
}

// Save writes what was changed at run time into the file; the change takes it out of what lies
// above the file. Nil: nothing was written.
func (cs Changes) Save(ctx context.Context) (saved configs.Saved, change *settings.Change, err error) {
	c, err := cs.of.counted(ctx)
	switch {
	case err != nil:
		return saved, nil, brokenFile(err)
	case c.version.Waiting():
		return saved, nil, refused("Version %d waits to be confirmed by %s; save then", c.version.ID, c.version.Person)
	case c.why != nil:
		return saved, nil, refused("%s", c.Skipped())
	}
	saved, err = c.Settings.Save()
	if err != nil || len(saved.Keys) == 0 {
		return saved, nil, err
	}
	left := c.Settings.Changes()
	for _, key := range saved.Keys {
		delete(left, key)
	}
	return saved, &settings.Change{Kind: settings.Set, Base: c.version.ID, Values: left}, nil
}

// ReloadNow reads the file again for somebody who waits for what comes of it. What counts from the
// next start alone is told each time.
func (cs Changes) ReloadNow(ctx context.Context) (diff []settings.Difference, faults []string, err error) {
	was := cs.of.Now()
	err = cs.of.reread(ctx)
	if broken, ok := errors.AsType[*brokenError](err); ok {
		return nil, strings.Split(broken.Error(), "\n"), nil
	} else if err != nil {
		return nil, nil, err
	}
	now := cs.of.Now()
	file, _, err := now.Again(now.Changes())
	if err != nil {
		return nil, nil, err
	}
	return diffView(configs.Diff(was, file)), nil, nil
}

// SettingsCounting is the version by which the program goes.
func (cs Changes) SettingsCounting() int64 { return cs.of.program.SettingsCounting() }
