package live

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"switchboard/channels/render"
	"switchboard/cmd/switchboard/access"
	"switchboard/configs"
	"switchboard/router/outbox"
	"switchboard/router/settings"
	"switchboard/store"
)

// versionsTried is how many older versions of the settings are tried when the one that counts
// cannot be used any more.
const versionsTried = 20

// A Counted is the settings of the file with what was changed at run time.
type Counted struct {
	Settings *configs.Settings
	warnings []configs.Warning
	// version counts. Where it cannot be used, why says so, and settings are those of used, an
	// older one; ID 0: of none.
	version settings.Version
	used    int64
	why     error
	// People is why no start could take whom the file names; nil: it can. Of a database that is read only.
	People error
}

// counted reads the settings again: the file, and what was changed at run time. An error says that the file
// has faults, or the database does not answer.
func (l *Settings) counted(ctx context.Context) (*Counted, error) {
	list, err := l.db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return nil, err
	}
	return newest(list, l.Now().Again, func(s *configs.Settings) error { return l.usable(ctx, s) })
}

// newest are the settings, as read reads them, with the newest version that can be used: those
// that the file, or this build, does not take any more are passed over. usable says why settings
// that are valid cannot be used. An error says what is wrong with the settings without any version.
func newest(list []settings.Version, read func(changes map[string]string) (*configs.Settings, []configs.Warning, error), usable func(*configs.Settings) error) (*Counted, error) {
	c := &Counted{}
	if len(list) > 0 {
		c.version = list[0]
	}
	var err error
	for i, v := range append(list, settings.Version{}) { // at last none of them
		c.Settings, c.warnings, err = read(v.Values)
		if err == nil {
			err = usable(c.Settings)
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

// Skipped says that the version that counts cannot be used; empty: it can.
func (c *Counted) Skipped() string {
	if c.why == nil {
		return ""
	}
	instead := fmt.Sprintf("version %d is used in its place", c.used)
	if c.used == 0 {
		instead = "the settings of the file count alone"
	}
	return fmt.Sprintf("version %d of the settings, changed at run time, cannot be used any more, so %s: %v", c.version.ID, instead, c.why)
}

// noteSkipped tells log and admins of settings that cannot be used any more.
func (l *Settings) noteSkipped(ctx context.Context, c *Counted) {
	if text := c.Skipped(); text != "" {
		l.log.ErrorContext(ctx, "settings that were changed at run time cannot be used", "version", c.version.ID, "used", c.used, "error", c.why)
		l.program.Notify(ctx, outbox.NoticeBrokenSettings, fmt.Sprintf("version %d", c.version.ID), render.Escape(text))
	}
}

// Open opens the database of the settings to read, beside a program that runs or without one.
func Open(ctx context.Context, settings *configs.Settings) (*store.DB, error) {
	return store.OpenReadOnly(ctx, settings.Store, settings.DataDir, slog.New(slog.DiscardHandler))
}

// Read are settings with what was changed at run time, where no program has the database open
// here. With an error, and without a database, they are those of the file.
func Read(ctx context.Context, settings *configs.Settings) (*Counted, error) {
	file := &Counted{Settings: settings}
	if settings.Stored() != nil {
		return file, nil
	}
	db, err := Open(ctx, settings)
	if err != nil {
		return file, err
	}
	defer db.Close()
	c, err := count(ctx, db, settings, func(*configs.Settings) error { return nil })
	if err != nil {
		return file, err
	}
	c.People = peopleFaults(settings, db.Router().CheckPeople(ctx, access.People(settings)))
	return c, nil
}

// count is newest of what a database holds; the secrets of settings are those in it.
func count(ctx context.Context, db *store.DB, settings *configs.Settings, usable func(*configs.Settings) error) (*Counted, error) {
	sealed, err := sealedIn(ctx, db)
	if err != nil {
		return nil, err
	}
	settings.Vault.Keep(sealed)
	list, err := db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return nil, err
	}
	return newest(list, settings.Again, usable)
}

// Warned are the warnings of settings that count, with what of them cannot be used; fallback are those of the
// file, where nothing was changed at run time.
func (c *Counted) Warned(fallback []configs.Warning) []configs.Warning {
	if c.version.ID == 0 {
		return fallback
	}
	warnings := c.warnings
	if skipped := c.Skipped(); skipped != "" {
		warnings = append(warnings, configs.Warning{Text: skipped})
	}
	return warnings
}
