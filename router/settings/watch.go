package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// poll is how often it is looked whether the settings were changed elsewhere, in case the
// wake was lost.
const poll = 10 * time.Second

// Versions are the versions of the settings.
type Versions interface {
	// SettingsNow is the version that counts, by the database's clock; ID 0: nothing was ever
	// changed at run time.
	SettingsNow(ctx context.Context) (Version, error)
	// LapseSettings notes which versions were not confirmed in time, each once, whichever engine
	// asks first, and returns them.
	LapseSettings(ctx context.Context) ([]Version, error)
}

// WatchDeps are what a Watch is made of; all are needed but Reload and Secrets.
type WatchDeps struct {
	Versions    Versions
	Secrets     Secrets // nil: there is no store of them
	Connections *delivery.Connections
	// PersonChats lists the direct chats of a person, and Open those of them in which they are served.
	PersonChats func(ctx context.Context, person string) ([]core.Chat, error)
	Open        func([]core.Chat) []core.Chat
	// Reload has the program go by the version of the settings that counts now.
	Reload func(context.Context) error
	Log    *slog.Logger
}

// A Watch has the program go by the settings and secrets that count, whichever engine changes them.
// Its methods may be called from several goroutines at once.
type Watch struct {
	WatchDeps
	changed, secrets chan struct{} // they are to be read again
	counting         atomic.Int64  // the version that counts here
	again            atomic.Bool   // the settings are to be read, whichever version counts
}

// NewWatch returns a Watch that reads the secrets first: one may have been set since the settings were read.
func NewWatch(deps WatchDeps) *Watch {
	w := &Watch{WatchDeps: deps, changed: make(chan struct{}, 1), secrets: make(chan struct{}, 1)}
	retry.Signal(w.secrets)
	return w
}

// Poll looks whether something was changed elsewhere.
func (w *Watch) Poll() {
	retry.Signal(w.secrets)
	retry.Signal(w.changed)
}

// Reread has the settings read again, also where the version that counts is the same.
func (w *Watch) Reread() {
	w.again.Store(true)
	retry.Signal(w.changed)
}

// ErrUnconfirmed is returned where settings stand in the way that may lapse in a moment, because nobody has
// confirmed them yet.
var ErrUnconfirmed = errors.New("a change of the settings waits to be confirmed")

// StandsAt returns ErrUnconfirmed where what was refused by a version of the settings may be
// allowed again in a moment: that version waits to be confirmed, or is not the one that counts.
func (w *Watch) StandsAt(ctx context.Context, version int64) error {
	now, err := w.Versions.SettingsNow(ctx)
	if err == nil && (now.Waiting() || now.ID != version) {
		err = ErrUnconfirmed
	}
	return err
}

// Changed has every engine go by the version of the settings that counts now.
func (w *Watch) Changed() {
	retry.Signal(w.changed)
	w.Connections.Wake(core.Wake{Kind: core.WakeSettings})
}

// Run has the program go by the version of the settings that counts, whichever engine
// changes it, and by the former one when nobody confirms it, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	applied, waited := w.counting.Load(), true // what counted at the start may have lapsed since
	for {
		now, err := w.Versions.SettingsNow(ctx)
		pause := poll
		if err == nil {
			if again := w.again.Swap(false); again || now.ID != applied {
				if err = w.Reload(ctx); err != nil {
					w.again.Store(again)
				}
			}
			if err == nil {
				applied = now.ID
				w.counting.Store(applied)
			}
			if waited && !now.Waiting() {
				w.lapse(ctx)
			}
			if waited = now.Waiting(); waited {
				pause = min(pause, now.Left+10*time.Millisecond)
			}
		}
		if err != nil && ctx.Err() == nil {
			w.Log.ErrorContext(ctx, "cannot go by the settings that count now", "error", err)
			pause = min(pause, time.Second)
		}
		if !retry.Await(ctx, w.changed, pause) {
			return
		}
	}
}

// BeganBy says by which version of the settings the program has made what it gave to New; before Run.
func (w *Watch) BeganBy(version int64) { w.counting.Store(version) }

// Counting is the version of the settings by which this engine goes.
func (w *Watch) Counting() int64 { return w.counting.Load() }

// Decided does what a change of the settings makes possible that is committed.
func (w *Watch) Decided(ctx context.Context, c *Change) {
	w.Changed()
	v := c.Version
	w.unask(ctx, v)
	if c.Kind != Revert || c.Conversation == v.Conversation {
		return
	}
	if asked, _ := w.askedIn(ctx, v); asked != nil {
		w.notifyIn(ctx, []channels.Conversation{*asked}, v, fmt.Sprintf("Version %d of the settings, which you had to confirm here, was taken back: all is as it was before it.", v.ID))
	}
}

// unask takes the buttons off the question whether a version is to stay, if they ended with what was
// decided of it.
func (w *Watch) unask(ctx context.Context, v *Version) {
	asked := v.Asked()
	if line := w.Connections.Connection(asked.Channel); line != nil && v.Question != 0 {
		line.Unask(ctx, asked, v.Question)
	}
}

// askedIn is the chat in which a version was asked for; nil: it is not one of its person any more.
// Own are all chats of theirs.
func (w *Watch) askedIn(ctx context.Context, v *Version) (asked *channels.Conversation, own []core.Chat) {
	own, err := w.PersonChats(ctx, v.Person)
	if err != nil {
		w.Log.WarnContext(ctx, "cannot look where a version of the settings was asked for", "version", v.ID, "error", err)
	}
	for _, chat := range w.Open(own) {
		if core.SessionKey(chat.Conversation) == v.Conversation {
			asked = &chat.Conversation
		}
	}
	return asked, own
}

func (w *Watch) notifyIn(ctx context.Context, chats []channels.Conversation, v *Version, text string) {
	w.Connections.NotifyIn(ctx, chats, outbox.NoticeBrokenSettings, fmt.Sprintf("version %d", v.ID), text, tools.Clean, time.Hour)
}

// lapse notifies the admins of changes that nobody confirmed: who asked for one where they
// asked for it, and in no other chat of theirs.
func (w *Watch) lapse(ctx context.Context) {
	lapsed, err := w.Versions.LapseSettings(ctx)
	if err != nil && ctx.Err() == nil {
		w.Log.WarnContext(ctx, "cannot note settings that nobody confirmed", "error", err)
	}
	for i := range lapsed {
		v := &lapsed[i]
		w.unask(ctx, v)
		if v.Secret() != "" {
			w.SecretChanged()
		}
		chats, err := w.Connections.NoticeChats(ctx, outbox.NoticeBrokenSettings)
		if err != nil {
			w.Log.WarnContext(ctx, "some receivers of a notice could not be read", "error", err)
		}
		if asked, own := w.askedIn(ctx, v); asked != nil {
			chats = slices.DeleteFunc(chats, func(c channels.Conversation) bool {
				return slices.ContainsFunc(own, func(o core.Chat) bool { return core.SessionKey(o.Conversation) == core.SessionKey(c) })
			})
			chats = append(chats, *asked)
		}
		w.notifyIn(ctx, chats, v, fmt.Sprintf("Nobody confirmed %s's change (version %d), so I took it back: %s.",
			render.Escape(v.Person), v.ID, render.Escape(v.Keys())))
	}
}

// SecretChanged has every engine read the secrets again.
func (w *Watch) SecretChanged() {
	retry.Signal(w.secrets)
	w.Connections.Wake(core.Wake{Kind: core.WakeSettings})
}

// RunSecrets reads the secrets again when one was set, here or elsewhere, until ctx ends.
func (w *Watch) RunSecrets(ctx context.Context) {
	if w.Secrets == nil {
		return
	}
	retry.Whenever(ctx, w.secrets, w.Secrets.Changed, func(err error) {
		w.Log.ErrorContext(ctx, "cannot read the secrets again", "error", err)
	})
}
