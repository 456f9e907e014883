package settings

import (
	"context"

	"switchboard/router/core"
	"switchboard/router/settings"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	listSecrets = `SELECT name, ciphertext, tools, person, version, updated_at AS at FROM secrets ORDER BY name`
	putSecret   = `
		INSERT INTO secrets (name, ciphertext, tools, person, version, updated_at) VALUES (?, ?, coalesce(?, '[]'), ?, 1, ?)
		ON CONFLICT (name) DO UPDATE SET ciphertext = excluded.ciphertext, tools = coalesce(?, secrets.tools),
			former = CASE WHEN ? = TRUE THEN coalesce(secrets.former, secrets.ciphertext) END, person = excluded.person, version = secrets.version + 1, updated_at = excluded.updated_at
		RETURNING version`
	dropSecret = `DELETE FROM secrets WHERE name = ?`
	// formerSecret has a secret be what it was, if it was set to another value that nobody confirmed.
	formerSecret = `UPDATE secrets SET ciphertext = former, former = NULL, version = version + 1, updated_at = ? WHERE name = ? AND former IS NOT NULL`
	keepSecret   = `UPDATE secrets SET former = NULL WHERE name = ?`
)

// Secrets lists the secrets of the encrypted store by name.
func (r *Store) Secrets(ctx context.Context) ([]settings.Secret, error) {
	return database.List[settings.Secret](ctx, r.DB, "list secrets", listSecrets)
}

// ChangeSecret writes ciphertext; what it takes the place of is overwritten.
func ChangeSecret(t *database.Tx, c *settings.SecretChange, by core.Actor) (a audit.Entry, err error) {
	done, err := database.Overwriting(t)
	if err != nil {
		return a, err
	}
	defer done()
	if c.Kind == settings.RemoveSecret {
		return audit.Entry{Outcome: "done"}, t.Change(core.ErrNotFound, dropSecret, c.Name)
	}
	data := map[string]any{"tools": c.Tools}
	if c.Within > 0 {
		if err := secretVersion(t, c, by); err != nil {
			return a, err
		}
		data["confirm_by"] = c.Version.ConfirmBy
	}
	var version int64
	_, err = t.Row(putSecret, []any{c.Name, c.Ciphertext, c.Tools, by.Person, t.Now, c.Tools, c.Within > 0}, &version)
	data["version"] = version
	return audit.Entry{Outcome: "done", Data: data}, err
}

// secretVersion makes the version of the settings by which a secret is confirmed.
func secretVersion(t *database.Tx, c *settings.SecretChange, by core.Actor) error {
	now, err := lockedSettings(t)
	if err == nil {
		err = mayChange(&now)
	}
	if err != nil {
		return err
	}
	id, err := insertVersion(t, &now, now.Values, settings.SecretSet(database.Clean(c.Name)), 0, by, c.Conversation, c.Within)
	if err != nil {
		return err
	}
	list, err := versions(t, settingsOf, id)
	if err == nil {
		c.Version = &list[0]
	}
	return err
}

// decideSecret keeps the secret that a version set, or has it be what it was before.
func decideSecret(t *database.Tx, v *settings.Version, keep bool) error {
	name := v.Secret()
	if name == "" {
		return nil
	}
	end, err := database.Overwriting(t)
	if err != nil {
		return err
	}
	defer end()
	if keep {
		err = t.Do(keepSecret, name)
	} else {
		err = t.Do(formerSecret, t.Now, name)
	}
	return err
}
