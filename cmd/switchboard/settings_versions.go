package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"switchboard/channels/render"
	"switchboard/configs"
	"switchboard/router/outbox"
	"switchboard/router/settings"
	"switchboard/store"
)

// versionsTried is how many older versions of the settings are tried when the one that counts
// cannot be used any more.
const versionsTried = 20

// A counted is the settings of the file with what was changed at run time.
type counted struct {
	settings *configs.Settings
	warnings []configs.Warning
	// version counts. Where it cannot be used, why says so, and settings are those of used, an
	// older one; ID 0: of none.
	version settings.Version
	used    int64
	why     error
	// people is why no start could take whom the file names; nil: it can. Of a database that is read only.
	people error
}

// counted reads the settings anew: the file, and what was changed at run time. An error says that the file
// has faults, or the database does not answer.
func (e *engine) counted(ctx context.Context) (*counted, error) {
	list, err := e.db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return nil, err
	}
	return newestOf(list, e.settings().Again, func(s *configs.Settings) error { return e.usable(ctx, s) })
}

// newestOf are the settings, as read reads them, with the newest version that can be used: those
// that the file, or this build, does not take any more are passed over. usable says why settings
// that are valid cannot be used. An error says what is wrong with the settings without any version.
func newestOf(list []settings.Version, read func(changes map[string]string) (*configs.Settings, []configs.Warning, error), usable func(*configs.Settings) error) (*counted, error) {
	c := &counted{}
	if len(list) > 0 {
		c.version = list[0]
	}
	var err error
	for i, v := range append(list, settings.Version{}) { // at last none of them
		c.settings, c.warnings, err = read(v.Values)
		if err == nil {
			err = usable(c.settings)
		}
		if err == nil {
			c.used = v.ID
			return c, nil
		}
		c.why = cmp.Or(c.why, err)
		if _, _, broken := read(nil); i == 0 && broken != nil {
			return nil, broken
		}
	}
	return nil, err
}

// skipped says that the version that counts cannot be used; empty: it can.
func (c *counted) skipped() string {
	if c.why == nil {
		return ""
	}
	instead := fmt.Sprintf("version %d is used in its place", c.used)
	if c.used == 0 {
		instead = "the settings of the file count alone"
	}
	return fmt.Sprintf("version %d of the settings, changed at run time, cannot be used any more, so %s: %v", c.version.ID, instead, c.why)
}

// countAtStart wires the engine with what was changed at run time, and notes what could not be
// used.
func (e *engine) countAtStart(ctx context.Context) error {
	sealed, err := sealedOf(ctx, e.db)
	if err != nil {
		return err
	}
	e.settings().Vault.Keep(sealed)
	list, err := e.db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return err
	}
	c, err := newestOf(list, e.settings().Again, func(s *configs.Settings) error {
		e.now.Store(s)
		return e.wire(ctx)
	})
	if err != nil {
		return err
	}
	e.router.Settled.BeganBy(c.version.ID)
	e.noteSkipped(ctx, c)
	e.tellPeople(ctx)
	return nil
}

// noteSkipped tells log and admins of settings that cannot be used any more.
func (e *engine) noteSkipped(ctx context.Context, c *counted) {
	if text := c.skipped(); text != "" {
		e.log.ErrorContext(ctx, "settings that were changed at run time cannot be used", "version", c.version.ID, "used", c.used, "error", c.why)
		e.router.Lines.Notify(ctx, outbox.NoticeBrokenSettings, fmt.Sprintf("version %d", c.version.ID), render.Escape(text))
	}
}

// usable says why settings that are valid could not be used by this engine.
func (e *engine) usable(ctx context.Context, s *configs.Settings) error {
	_, err := e.prepare(ctx, s)
	return err
}

// counting are settings with what was changed at run time, where no engine has the database open
// here. With an error, and without a database, they are those of the file.
func (a *app) counting(settings *configs.Settings) (now *counted, err error) {
	now = &counted{settings: settings}
	if hasLedger(settings) != nil {
		return now, nil
	}
	db, err := store.OpenReadOnly(a.ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return now, err
	}
	defer db.Close()
	sealed, err := sealedOf(a.ctx, db)
	if err != nil {
		return now, err
	}
	settings.Vault.Keep(sealed)
	list, err := db.Router().SettingsCounting(a.ctx, versionsTried)
	if err != nil {
		return now, err
	}
	c, err := newestOf(list, settings.Again, func(*configs.Settings) error { return nil })
	if err != nil {
		return now, err
	}
	c.people = peopleFaults(settings, db.Router().CheckPeople(a.ctx, withOwner(settings.Directory())))
	return c, nil
}

// warned are the warnings of settings that count, with what of them cannot be used; fallback are those of the
// file, where nothing was changed at run time.
func (c *counted) warned(fallback []configs.Warning) []configs.Warning {
	if c.version.ID == 0 {
		return fallback
	}
	warnings := c.warnings
	if skipped := c.skipped(); skipped != "" {
		warnings = append(warnings, configs.Warning{Text: skipped})
	}
	return warnings
}
