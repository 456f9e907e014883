// Package live has a running program go by its settings as they change: the file, what was changed at run time, the
// secrets that they name and the people.
package live

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/logs"
	"switchboard/configs"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/settings"
	"switchboard/store"
)

// A Program goes by the settings.
type Program interface {
	// Prepare makes what other settings need and changes nothing. The channels of renew are connected
	// again in any case. An error is for people.
	Prepare(next *configs.Settings, diff []configs.Difference, renew []string) (*Prepared, error)
	// Notify tells the admins something, once about the same thing.
	Notify(ctx context.Context, kind outbox.NoticeKind, about, text string)
	// NoticeChats are where notices of a kind go; none where this program has not the channels for it.
	NoticeChats(ctx context.Context, kind outbox.NoticeKind) ([]channels.Conversation, error)
	// PeopleChanged has the people read again.
	PeopleChanged(ctx context.Context)
	// JobsPaused tells somebody that jobs of theirs are paused, and why.
	JobsPaused(ctx context.Context, owner, why string, jobs []int64)
	// SettingsCounting is the version by which the program goes.
	SettingsCounting() int64
}

// Prepared is what has a program go by other settings: all that can be wrong with them was found.
type Prepared struct {
	Write func(context.Context) error // what follows in the database; nothing is changed on an error
	Use   func() error
}

// Settings are those of a running program.
type Settings struct {
	now     atomic.Pointer[configs.Settings]
	db      *store.DB
	log     *slog.Logger
	program Program
	noticed bool // the program has the channels to notify the admins

	reloading sync.Mutex         // while other settings are read and applied
	broken    string             // what is wrong with the settings that are not used; under reloading
	back      []string           // who is named again, until the admins are notified; under reloading
	paused    map[string][]int64 // jobs that people of the settings have no right to any more, the same
	unusable  error              // why secrets that were set last cannot be used; under reloading
}

// New are the settings of a program that is about to start over a database; noticed says that it has the channels to
// notify the admins.
func New(settings *configs.Settings, db *store.DB, program Program, noticed bool, log *slog.Logger) *Settings {
	l := &Settings{db: db, log: log, program: program, noticed: noticed, paused: map[string][]int64{}}
	l.now.Store(settings)
	return l
}

// Now are those that count now. Who reads them twice keeps them.
func (l *Settings) Now() *configs.Settings { return l.now.Load() }

// NoticeTargets are where notices of a kind go now.
func (l *Settings) NoticeTargets(kind outbox.NoticeKind) []string {
	return l.Now().Notify[string(kind)]
}

// Start has the program wired with what was changed at run time, and notes what could not be used. It
// returns the version that counts.
func (l *Settings) Start(ctx context.Context, wire func(context.Context) error) (version int64, err error) {
	c, err := count(ctx, l.db, l.Now(), func(s *configs.Settings) error {
		l.now.Store(s)
		return wire(ctx)
	})
	if err != nil {
		return 0, err
	}
	l.noteSkipped(ctx, c)
	l.notifyPeople(ctx)
	return c.version.ID, nil
}

// A change is what makes a program go by other settings.
type change struct {
	*Prepared
	settings *configs.Settings
	diff     []configs.Difference
}

// prepare makes what other settings need and changes nothing. An error is for people.
func (l *Settings) prepare(ctx context.Context, next *configs.Settings, renew ...string) (*change, error) {
	was := l.Now()
	c := &change{settings: next.Keeping(was), diff: configs.Diff(was, next)}
	if configs.Touches(c.diff, "people") {
		if err := peopleFaults(c.settings, l.db.Router().CheckPeople(ctx, access.People(c.settings))); err != nil {
			return nil, err
		}
	}
	var err error
	c.Prepared, err = l.program.Prepare(c.settings, c.diff, renew)
	return c, err
}

// usable says why settings that are valid could not be used by this program.
func (l *Settings) usable(ctx context.Context, s *configs.Settings) error {
	_, err := l.prepare(ctx, s)
	return err
}

// apply has the program go by a change. Nothing changes on an error of the database, which alone can
// fail.
func (l *Settings) apply(ctx context.Context, c *change) error {
	was := l.Now()
	if configs.Touches(c.diff, "people", "scheduler.timezone") {
		if err := l.SetPeople(ctx, c.settings); err != nil {
			return err
		}
		l.program.PeopleChanged(ctx)
		l.notifyPeople(ctx)
	}
	if err := c.Write(ctx); err != nil {
		return err
	}
	l.now.Store(c.settings)
	logs.SetLevel(l.log, c.settings)
	err := c.Use()
	l.logApplied(ctx, c)
	l.noteFile(ctx, was, c)
	if err != nil {
		return fmt.Errorf("the settings were checked, and part of them cannot be applied: %w", err)
	}
	return nil
}

// logApplied logs what changed, and what counts only from the next start on.
func (l *Settings) logApplied(ctx context.Context, c *change) {
	keys := map[bool][]string{}
	for _, d := range c.diff {
		keys[d.Live] = append(keys[d.Live], d.Key)
	}
	if len(keys[true]) > 0 {
		l.log.InfoContext(ctx, "other settings count now", "settings", strings.Join(keys[true], ", "))
	}
	if len(keys[false]) > 0 {
		l.log.WarnContext(ctx, "settings were changed that count from the next start on", "settings", strings.Join(keys[false], ", "))
	}
}

// noteFile has the audit log tell what the file has otherwise; what was changed at run time is there, and the
// defaults that come with it.
func (l *Settings) noteFile(ctx context.Context, was *configs.Settings, c *change) {
	if was.SameFile(c.settings) {
		return
	}
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
	if err := l.db.Router().Change(ctx, note, core.Actor{Rule: audit.RuleSettings}); err != nil {
		l.log.ErrorContext(ctx, "what the settings file changed cannot be noted in the audit log", "error", err)
	}
}
