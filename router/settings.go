package router

import (
	"context"
	"fmt"
	"time"

	"switchboard/channels/render"
	"switchboard/retry"
	"switchboard/router/ledger"
)

// settingsPoll is how often it is looked whether the settings were changed elsewhere, in case the
// wake was lost.
const settingsPoll = 10 * time.Second

// Versions are the versions of the settings.
type Versions interface {
	// SettingsNow is the version that counts, by the database's clock; ID 0: nothing was ever
	// changed at run time.
	SettingsNow(ctx context.Context) (ledger.SettingsVersion, error)
	// LapseSettings notes which versions were not confirmed in time, each once, whichever engine
	// asks first, and returns them.
	LapseSettings(ctx context.Context) ([]ledger.SettingsVersion, error)
}

// settingsChanged has every engine go by the version of the settings that counts now.
func (r *Router) settingsChanged() {
	retry.Signal(r.versions)
	if r.Wakes != nil {
		r.Wakes.Wake(ledger.Wake{Kind: ledger.WakeSettings})
	}
}

// watchSettings has the program go by the version of the settings that counts, whichever engine
// changes it, and by the former one when nobody confirms it, until ctx ends.
func (r *Router) watchSettings(ctx context.Context) {
	applied, waited := r.counting.Load(), true // what counted at the start may have lapsed since
	for {
		now, err := r.Ledger.SettingsNow(ctx)
		pause := settingsPoll
		if err == nil {
			if now.ID != applied {
				err = r.Reload(ctx)
			}
			if err == nil {
				applied = now.ID
				r.counting.Store(applied)
			}
			if waited && !now.Waiting() {
				r.lapseSettings(ctx)
			}
			if waited = now.Waiting(); waited {
				pause = min(pause, now.Left+10*time.Millisecond)
			}
		}
		if err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "cannot go by the settings that count now", "error", err)
			pause = min(pause, time.Second)
		}
		if !retry.Await(ctx, r.versions, pause) {
			return
		}
	}
}

// BeganBy says by which version of the settings the program has made what it gave to New; before Run.
func (r *Router) BeganBy(version int64) { r.counting.Store(version) }

// SettingsCounting is the version of the settings by which this engine goes.
func (r *Router) SettingsCounting() int64 { return r.counting.Load() }

// lapseSettings notifies the admins of changes that nobody confirmed.
func (r *Router) lapseSettings(ctx context.Context) {
	lapsed, err := r.Ledger.LapseSettings(ctx)
	if err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "cannot note settings that nobody confirmed", "error", err)
	}
	for i := range lapsed {
		v := &lapsed[i]
		r.Lines.Notify(ctx, ledger.NoticeBrokenSettings, fmt.Sprintf("version %d", v.ID), fmt.Sprintf(
			"The settings are as they were before version %d of %s: nobody confirmed it in time. It had changed %s.",
			v.ID, render.Escape(v.Person), render.Escape(v.Keys())))
	}
}
