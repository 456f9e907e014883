package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/people"
	"switchboard/router/settings"
)

// undoable is how many versions back a change is found that nothing has taken back.
const undoable = 1000

// Settings implements admin.Settings.
func (e *engine) Settings() []settings.Setting {
	shown := e.settings().Show()
	list := make([]settings.Setting, len(shown))
	for i, s := range shown {
		list[i] = settings.Setting{Key: s.Key, Value: s.Value, Source: s.Source, Live: configs.Live(s.Key)}
	}
	return list
}

// SettingsVersions implements admin.Settings.
func (e *engine) SettingsVersions(ctx context.Context, limit int) ([]settings.Version, error) {
	return e.db.Router().SettingsVersions(ctx, limit)
}

// SettingsDiff implements admin.Settings.
func (e *engine) SettingsDiff(ctx context.Context) ([]settings.Difference, error) {
	c, err := e.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	file, _, err := c.settings.Again(nil)
	if err != nil {
		return nil, brokenFile(err)
	}
	return diffView(configs.Diff(file, c.settings)), nil
}

// brokenFile says in a sentence that the file has faults; other errors stay as they are.
func brokenFile(err error) error {
	if faults, ok := errors.AsType[configs.Faults](err); ok {
		return &core.StateError{Sentence: "The settings file has faults, fix them first: " + strings.ReplaceAll(faults.Error(), "\n", "; ")}
	}
	return err
}

func diffView(diff []configs.Difference) []settings.Difference {
	list := make([]settings.Difference, len(diff))
	for i, d := range diff {
		list[i] = settings.Difference(d)
	}
	return list
}

// PlanSettings implements admin.Settings.
func (e *engine) PlanSettings(ctx context.Context, at channels.Conversation, set map[string]string, unset ...string) (*settings.Plan, error) {
	c, err := e.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	return e.plan(ctx, c, at, set, unset), nil
}

func (e *engine) plan(ctx context.Context, c *counted, at channels.Conversation, set map[string]string, unset []string) *settings.Plan {
	plan := &settings.Plan{}
	for key, value := range set {
		if e.holdsSecret(value) {
			plan.Faults = append(plan.Faults, key+": holds a credential, which would stand readable in the database; set it with /secret set NAME, and write secret:NAME here")
			delete(set, key)
		}
	}
	proposal, err := e.propose(ctx, c, set, unset)
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
func (e *engine) propose(ctx context.Context, c *counted, set map[string]string, unset []string) (*configs.Proposal, error) {
	propose := func(set map[string]string, unset []string) (*configs.Proposal, error) {
		p, err := c.settings.Propose(set, unset)
		if err == nil {
			err = e.usable(ctx, p.Settings)
		}
		return p, err
	}
	if c.why == nil {
		return propose(set, unset)
	}
	mended, used := maps.Clone(c.version.Values), c.settings.Changes()
	maps.Copy(mended, set)
	for _, key := range unset {
		delete(mended, key)
	}
	sets, drops := map[string]string{}, []string(nil)
	for _, d := range settings.Compare(used, mended) {
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

// holdsSecret says that a value has a credential in it, or had one that was hidden.
func (e *engine) holdsSecret(value string) bool {
	known := e.settings().Mask.Text(value)
	shaped, _ := secrets.Hide(known)
	return shaped != value || strings.Contains(value, "[redacted]")
}

// PlanUndo implements admin.Settings.
func (e *engine) PlanUndo(ctx context.Context, at channels.Conversation, version int64) (*settings.Plan, error) {
	c, err := e.counted(ctx)
	if err != nil {
		return nil, brokenFile(err)
	}
	v := c.version
	switch {
	case v.ID == 0 && version == 0:
		return nil, &core.StateError{Sentence: "Nothing was changed at run time."}
	case v.Waiting() && (version == 0 || version == v.ID):
		return &settings.Plan{Change: &settings.Change{Kind: settings.Revert, ID: v.ID}}, nil
	case version == 0:
		list, err := e.db.Router().SettingsCounting(ctx, undoable)
		if err != nil {
			return nil, err
		}
		standing := settings.Standing(list)
		if standing == nil {
			return nil, &core.StateError{Sentence: "Nothing changed at run time is left to take back."}
		}
		v = *standing
	default:
		if v, err = e.db.Router().SettingsVersion(ctx, version); errors.Is(err, core.ErrNotFound) {
			err = &core.StateError{Sentence: fmt.Sprintf("There is no version %d of the settings.", version)}
		}
		if err != nil {
			return nil, err
		}
	}
	if name := v.Secret(); name != "" {
		return nil, &core.StateError{Sentence: fmt.Sprintf("The former value of the secret %s is gone; set it once more.", name)}
	}
	set, unset, changed := v.Undo(c.version.Values)
	switch {
	case v.Lapsed:
		return nil, &core.StateError{Sentence: fmt.Sprintf("Version %d does not count: it was not confirmed.", v.ID)}
	case len(changed) > 0:
		return nil, &core.StateError{Sentence: fmt.Sprintf("Version %d cannot be taken back: changed again since: %s. Set them as they are to be.", v.ID, strings.Join(changed, ", "))}
	}
	plan := e.plan(ctx, c, at, set, unset)
	if plan.Change != nil {
		plan.Change.Undoes = v.ID
	}
	return plan, nil
}

// A settingsAnswer is what an engine answers who changes settings.
type settingsAnswer struct {
	*settings.Plan
	Version *settings.Version `json:"version"` // nil: nothing was changed, for the faults
	Saved   *configs.Saved    `json:"saved,omitempty"`
}

// terminal is where whoever runs the program changes settings: no setting closes it.
var terminal = channels.Conversation{Channel: consoleName}

// settingsRoutes change the settings.
func (e *engine) settingsRoutes(mux *http.ServeMux) {
	route(mux, "GET /v1/config/diff", func(r *http.Request) (any, error) { return e.SettingsDiff(r.Context()) })
	route(mux, "GET /v1/config/versions", func(r *http.Request) (any, error) { return e.SettingsVersions(r.Context(), limit(r)) })
	for how, plan := range map[string]func(*http.Request) (*settings.Plan, error){
		"set": func(r *http.Request) (*settings.Plan, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			keys, values, set := r.Form["key"], r.Form["value"], map[string]string{}
			for i := range min(len(keys), len(values)) {
				set[keys[i]] = values[i]
			}
			return e.PlanSettings(r.Context(), terminal, set)
		},
		"unset": func(r *http.Request) (*settings.Plan, error) {
			return e.PlanSettings(r.Context(), terminal, nil, r.FormValue("key"))
		},
		"undo": func(r *http.Request) (*settings.Plan, error) {
			version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
			if err != nil {
				return nil, err
			}
			return e.PlanUndo(r.Context(), terminal, version)
		},
		"confirm": func(*http.Request) (*settings.Plan, error) {
			return &settings.Plan{Change: &settings.Change{Kind: settings.Confirm, Counting: e.SettingsCounting()}}, nil
		},
	} {
		route(mux, "POST /v1/config/"+how, func(r *http.Request) (any, error) {
			p, err := plan(r)
			if err != nil || p.Change == nil {
				return settingsAnswer{Plan: p}, err
			}
			return e.changeSettings(r.Context(), settingsAnswer{Plan: p})
		})
	}
	route(mux, "POST /v1/config/save", func(r *http.Request) (any, error) { return e.saveSettings(r.Context()) })
}

// changeSettings makes the change of an answer for whoever runs the program.
func (e *engine) changeSettings(ctx context.Context, a settingsAnswer) (any, error) {
	err := e.router.Change(ctx, a.Change, people.LocalActor(ownerName))
	a.Version = a.Change.Version
	return a, err
}

// saveSettings writes what was changed at run time into the file, and takes it out of what lies
// above the file.
func (e *engine) saveSettings(ctx context.Context) (any, error) {
	c, err := e.counted(ctx)
	switch {
	case err != nil:
		return nil, brokenFile(err)
	case c.version.Waiting():
		return nil, &core.StateError{Sentence: fmt.Sprintf("Version %d waits to be confirmed by %s; save then", c.version.ID, c.version.Person)}
	case c.why != nil:
		return nil, &core.StateError{Sentence: c.skipped()}
	}
	saved, err := c.settings.Save()
	if err != nil || len(saved.Keys) == 0 {
		return settingsAnswer{Plan: &settings.Plan{}, Saved: &saved}, err
	}
	left := c.settings.Changes()
	for _, key := range saved.Keys {
		delete(left, key)
	}
	plan := &settings.Plan{Change: &settings.Change{Kind: settings.Set, Base: c.version.ID, Values: left}}
	return e.changeSettings(ctx, settingsAnswer{Plan: plan, Saved: &saved})
}

// SettingsCounting implements admin.Settings.
func (e *engine) SettingsCounting() int64 { return e.router.Settled.Counting() }
