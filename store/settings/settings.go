// Package settings has the rows of settings changed at run time, and of secrets.
package settings

import (
	"context"
	"fmt"
	"time"

	routeraudit "switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/settings"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const (
	// settingsWait: it counts for now, by the clock %[1]s. With a clock that was set back by more
	// than the time that there is to confirm, it does not: nobody is to be locked out for longer.
	settingsWait = `(confirm_by IS NOT NULL AND confirmed_at IS NULL AND lapsed_at IS NULL AND confirm_by > %[1]s AND 2 * created_at - confirm_by <= %[1]s)`
	// settingsCount: it counts.
	settingsCount  = `(confirm_by IS NULL OR confirmed_at IS NOT NULL OR ` + settingsWait + `)`
	selectSettings = `
		SELECT id, base, layer AS "values", changes AS diff, coalesce(undoes, 0) AS undoes, person, created_at AS at, coalesce(confirm_by, 0) AS confirm_by, conversation,
			confirmed_at IS NOT NULL AS confirmed, NOT ` + settingsCount + ` AS lapsed,
			CASE WHEN ` + settingsWait + ` THEN confirm_by - %[1]s ELSE 0 END AS remaining
		FROM settings_versions`
	settingsNow  = selectSettings + ` WHERE ` + settingsCount + ` ORDER BY id DESC LIMIT ?`
	settingsList = selectSettings + ` ORDER BY id DESC LIMIT ?`
	settingsOf   = selectSettings + ` WHERE id = ?`
	// lockSettings has two changes at once wait for each other.
	lockSettings   = `LOCK TABLE settings_versions IN SHARE ROW EXCLUSIVE MODE`
	insertSettings = `
		INSERT INTO settings_versions (base, layer, changes, undoes, person, conversation, created_at, confirm_by)
		VALUES (?, ?, ?, ?, ?, ?, %[1]s, CASE WHEN CAST(? AS bigint) > 0 THEN %[1]s + CAST(? AS bigint) END) RETURNING id`
	confirmSettings = `UPDATE settings_versions SET confirmed_at = %[1]s WHERE id = ?`
	lapseSettings   = `UPDATE settings_versions SET lapsed_at = %[1]s WHERE id = ?`
	// endQuestion ends the buttons under the question that has one of that command.
	endQuestion = `
		UPDATE actions SET state = ?, outcome = 'decided', used_at = ? WHERE state = 'proposed' AND message_id IN (
			SELECT a.message_id FROM actions a JOIN sessions s ON s.id = a.session_id WHERE s.conversation_id = ? AND a.kind = 'command' AND a.text = ?)
		RETURNING message_id AS id`
	lapsedSettings = `
		UPDATE settings_versions SET lapsed_at = %[1]s
		WHERE confirm_by IS NOT NULL AND confirmed_at IS NULL AND lapsed_at IS NULL AND NOT ` + settingsWait + ` RETURNING id`
)

// versions reads versions, the newest first.
func versions(t *database.Tx, query string, arg int64) ([]settings.Version, error) {
	type row struct {
		settings.Version
		Remaining int64 // µs
	}
	return database.Views(t, func(r *row) settings.Version {
		r.Left = time.Duration(r.Remaining) * time.Microsecond
		return r.Version
	}, fmt.Sprintf(query, engines.Clock(t)), arg)
}

// current is the version that counts; ID 0: there is none.
func current(t *database.Tx) (settings.Version, error) {
	list, err := versions(t, settingsNow, 1)
	if err != nil || len(list) == 0 {
		return settings.Version{Values: map[string]string{}}, err
	}
	return list[0], nil
}

// SettingsNow is the version that counts, by the database's clock.
func (r *Store) SettingsNow(ctx context.Context) (settings.Version, error) {
	return database.Read(ctx, r.DB, "read the version of the settings", func(t *database.Tx) (settings.Version, error) { return current(t) })
}

// SettingsCounting lists the versions that count or counted until a newer one did, the newest first.
func (r *Store) SettingsCounting(ctx context.Context, limit int) ([]settings.Version, error) {
	return r.settingsList(ctx, settingsNow, int64(limit))
}

// SettingsVersions lists all versions, the newest first.
func (r *Store) SettingsVersions(ctx context.Context, limit int) ([]settings.Version, error) {
	return r.settingsList(ctx, settingsList, int64(limit))
}

// SettingsVersion is one of them. ErrNotFound.
func (r *Store) SettingsVersion(ctx context.Context, id int64) (settings.Version, error) {
	list, err := r.settingsList(ctx, settingsOf, id)
	if err == nil && len(list) == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return settings.Version{}, err
	}
	return list[0], nil
}

func (r *Store) settingsList(ctx context.Context, query string, arg int64) ([]settings.Version, error) {
	return database.Read(ctx, r.DB, "list versions of the settings", func(t *database.Tx) ([]settings.Version, error) { return versions(t, query, arg) })
}

// LapseSettings notes which versions were not confirmed in time, each once, whichever engine asks first, and
// returns them.
func (r *Store) LapseSettings(ctx context.Context) ([]settings.Version, error) {
	return database.Write(ctx, r.DB, database.Durable, "note settings that nobody confirmed", func(t *database.Tx) (lapsed []settings.Version, err error) {
		ids, err := t.IDs(fmt.Sprintf(lapsedSettings, engines.Clock(t)))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			list, err := versions(t, settingsOf, id)
			if err != nil {
				return nil, err
			}
			if err := closeQuestion(t, &list[0], outbox.ActionExpired); err != nil {
				return nil, err
			}
			if err := decideSecret(t, &list[0], false); err != nil {
				return nil, err
			}
			lapsed = append(lapsed, list...)
			c := &settings.Change{Version: &list[0]}
			_, target := c.Names()
			if err := audit.Write(t, core.Actor{Person: list[0].Person, Rule: routeraudit.RuleUnconfirmed}, audit.Entry{
				Action: "config.lapse", Target: target, Outcome: "done", Why: "nobody confirmed it in time", Data: settingsData(&list[0]),
			}); err != nil {
				return nil, err
			}
		}
		return lapsed, nil
	})
}

// Change makes a version, or decides about the one that waits.
func Change(t *database.Tx, c *settings.Change, by core.Actor) (a audit.Entry, err error) {
	c.Version = nil
	now, err := lockedSettings(t)
	if err != nil {
		return a, err
	}
	id := now.ID
	switch c.Kind {
	case settings.Set:
		id, err = setSettings(t, c, &now, by)
	case settings.Confirm:
		err = confirm(t, c, &now, by)
	case settings.Revert:
		if err = waits(t, c, &now); err == nil {
			err = t.Do(fmt.Sprintf(lapseSettings, engines.Clock(t)), id)
		}
	default:
		err = fmt.Errorf("%q is nothing to do with settings", c.Kind)
	}
	if err != nil {
		return a, err
	}
	list, err := versions(t, settingsOf, id)
	if err != nil {
		return a, err
	}
	c.Version = &list[0]
	if c.Kind != settings.Set {
		if err := decideSecret(t, c.Version, c.Kind == settings.Confirm); err != nil {
			return a, err
		}
		err = closeQuestion(t, c.Version, outbox.ActionCancelled)
	}
	return audit.Entry{Outcome: "done", Data: settingsData(c.Version)}, err
}

// closeQuestion ends the buttons under the question whether a version is to stay, which is decided.
func closeQuestion(t *database.Tx, v *settings.Version, as outbox.ActionState) error {
	p, found, err := sessions.FindPlace(t, sessions.CleanConversation(v.Asked()))
	if err != nil || !found {
		return err
	}
	messages, err := t.IDs(endQuestion, as, t.Now, p.Id, v.ConfirmCommand())
	if err == nil && len(messages) > 0 {
		v.Question = messages[0]
	}
	return err
}

// settingsData is what the audit log has of a version. Credentials are not in it: a setting is
// changed to where one is kept.
func settingsData(v *settings.Version) any {
	return map[string]any{"version": v.ID, "base": v.Base, "diff": v.Diff, "undoes": v.Undoes, "confirm_by": v.ConfirmBy}
}

// lockedSettings is the version that counts, which stays so to the end of the transaction.
func lockedSettings(t *database.Tx) (now settings.Version, err error) {
	if err := t.Shut(lockSettings); err != nil {
		return now, err
	}
	return current(t)
}

// mayChange refuses a change while one waits to be confirmed.
func mayChange(now *settings.Version) error {
	if !now.Waiting() {
		return nil
	}
	return &core.StateError{Sentence: fmt.Sprintf(
		"Version %d waits for %s to confirm it, until %s. I change nothing else until then.",
		now.ID, now.Person, now.ConfirmBy.UTC().Format("15:04:05 MST"))}
}

// insertVersion adds a version to the one that counts.
func insertVersion(t *database.Tx, now *settings.Version, values map[string]string, diff []settings.Diff, undoes int64, by core.Actor, conversation string, within time.Duration) (int64, error) {
	return t.Insert(fmt.Sprintf(insertSettings, engines.Clock(t)), now.ID, database.JSONText(values), database.JSONText(diff), sessions.OrNull(undoes), by.Person,
		conversation, within.Microseconds(), within.Microseconds())
}

// setSettings makes a version of the one that it was thought of.
func setSettings(t *database.Tx, c *settings.Change, now *settings.Version, by core.Actor) (int64, error) {
	waits := mayChange(now)
	switch {
	case waits != nil:
		return 0, waits
	case now.ID != c.Base:
		return 0, &core.StateError{Sentence: fmt.Sprintf(
			"The settings were changed meanwhile, to version %d by %s. Nothing was changed now: look at it, and set yours again.", now.ID, now.Person)}
	}
	diff := settings.Compare(now.Values, c.Values)
	if len(diff) == 0 {
		return 0, &core.StateError{Sentence: "Saved; nothing changes."}
	}
	return insertVersion(t, now, c.Values, diff, c.Undoes, by, c.Conversation, c.ConfirmWithin)
}

// waits refuses to decide about a version that does not wait.
func waits(t *database.Tx, c *settings.Change, now *settings.Version) error {
	if now.Waiting() && (c.ID == 0 || c.ID == now.ID) {
		return nil
	}
	list, err := versions(t, settingsOf, c.ID)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return &core.StateError{Sentence: "No change of the settings waits to be confirmed: there was none, or its time is over and all is as it was before."}
	case list[0].Lapsed:
		return &core.StateError{Sentence: fmt.Sprintf("Version %d does not count any more: nobody confirmed it in time, or it was taken back.", c.ID)}
	}
	return &core.StateError{Sentence: fmt.Sprintf("Version %d does not have to be confirmed any more.", c.ID)}
}

// confirm keeps the version that waits.
func confirm(t *database.Tx, c *settings.Change, now *settings.Version, by core.Actor) error {
	if err := waits(t, c, now); err != nil {
		return err
	}
	if now.Person != database.Clean(by.Person) || now.Conversation != database.Clean(c.Conversation) {
		return &core.StateError{Sentence: fmt.Sprintf(
			"Only %s can confirm version %d, in the chat where they changed it.", now.Person, now.ID)}
	}
	if c.Counting != now.ID {
		return &core.StateError{Sentence: fmt.Sprintf(
			"Version %d does not count here yet, so this shows nothing. Please confirm it once more.", now.ID)}
	}
	return t.Do(fmt.Sprintf(confirmSettings, engines.Clock(t)), now.ID)
}
