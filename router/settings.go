package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/settings"
)

// settingsPoll is how often it is looked whether the settings were changed elsewhere, in case the
// wake was lost.
const settingsPoll = 10 * time.Second

// Versions are the versions of the settings.
type Versions interface {
	// SettingsNow is the version that counts, by the database's clock; ID 0: nothing was ever
	// changed at run time.
	SettingsNow(ctx context.Context) (settings.Version, error)
	// LapseSettings notes which versions were not confirmed in time, each once, whichever engine
	// asks first, and returns them.
	LapseSettings(ctx context.Context) ([]settings.Version, error)
}

// settingsChanged has every engine go by the version of the settings that counts now.
func (r *Router) settingsChanged() {
	retry.Signal(r.versions)
	if r.Wakes != nil {
		r.Wakes.Wake(core.Wake{Kind: core.WakeSettings})
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
			if again := r.again.Swap(false); again || now.ID != applied {
				if err = r.Reload(ctx); err != nil {
					r.again.Store(again)
				}
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

// settingsDecided does what a change of the settings makes possible that is committed.
func (r *Router) settingsDecided(ctx context.Context, c *settings.Change) {
	r.settingsChanged()
	v := c.Version
	r.unask(ctx, v)
	if c.Kind != settings.Revert || c.Conversation == v.Conversation {
		return
	}
	if asked, _ := r.askedIn(ctx, v); asked != nil {
		r.notifyIn(ctx, []channels.Conversation{*asked}, v, fmt.Sprintf("Version %d of the settings, which you had to confirm here, was taken back: all is as it was before it.", v.ID))
	}
}

// unask takes the buttons off the question whether a version is to stay, if they ended with what was
// decided of it.
func (r *Router) unask(ctx context.Context, v *settings.Version) {
	asked := v.Asked()
	if line := r.Lines.Connection(asked.Channel); line != nil && v.Question != 0 {
		line.Unask(ctx, asked, v.Question)
	}
}

// askedIn is the chat in which a version was asked for; nil: it is not one of its person any more.
// Own are all chats of theirs.
func (r *Router) askedIn(ctx context.Context, v *settings.Version) (asked *channels.Conversation, own []core.Chat) {
	own, err := r.Ledger.PersonChats(ctx, v.Person)
	if err != nil {
		r.Log.WarnContext(ctx, "cannot look where a version of the settings was asked for", "version", v.ID, "error", err)
	}
	for _, chat := range r.recipients(own, false) {
		if core.SessionKey(chat.Conversation) == v.Conversation {
			asked = &chat.Conversation
		}
	}
	return asked, own
}

func (r *Router) notifyIn(ctx context.Context, chats []channels.Conversation, v *settings.Version, text string) {
	r.Lines.NotifyIn(ctx, chats, outbox.NoticeBrokenSettings, fmt.Sprintf("version %d", v.ID), text, tools.Clean, time.Hour)
}

// lapseSettings notifies the admins of changes that nobody confirmed: who asked for one where they
// asked for it, and in no other chat of theirs.
func (r *Router) lapseSettings(ctx context.Context) {
	lapsed, err := r.Ledger.LapseSettings(ctx)
	if err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "cannot note settings that nobody confirmed", "error", err)
	}
	for i := range lapsed {
		v := &lapsed[i]
		r.unask(ctx, v)
		if v.Secret() != "" {
			r.SecretChanged()
		}
		chats, err := r.Lines.NoticeChats(ctx, outbox.NoticeBrokenSettings)
		if err != nil {
			r.Log.WarnContext(ctx, "some receivers of a notice could not be read", "error", err)
		}
		if asked, own := r.askedIn(ctx, v); asked != nil {
			chats = slices.DeleteFunc(chats, func(c channels.Conversation) bool {
				return slices.ContainsFunc(own, func(o core.Chat) bool { return core.SessionKey(o.Conversation) == core.SessionKey(c) })
			})
			chats = append(chats, *asked)
		}
		r.notifyIn(ctx, chats, v, fmt.Sprintf("Nobody confirmed %s's change (version %d), so I took it back: %s.",
			render.Escape(v.Person), v.ID, render.Escape(v.Keys())))
	}
}
