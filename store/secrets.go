package store

import (
	"context"
	"encoding/json"
	"fmt"

	"switchboard/router/ledger"
)

const (
	listSecrets = `SELECT name, ciphertext, tools, person, version, updated_at FROM secrets ORDER BY name`
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
func (r *Router) Secrets(ctx context.Context) (list []ledger.Secret, err error) {
	err = r.db.read(ctx, "list secrets", func(t *tx) error {
		var rows []struct {
			Name, Tools, Person string
			Ciphertext          []byte
			Version             int64
			UpdatedAt           int64 `db:"updated_at"`
		}
		if err := t.All(&rows, listSecrets); err != nil {
			return err
		}
		list = make([]ledger.Secret, len(rows))
		for i, row := range rows {
			list[i] = ledger.Secret{Name: row.Name, Ciphertext: row.Ciphertext, Person: row.Person, Version: row.Version, At: instant(row.UpdatedAt)}
			if err := json.Unmarshal([]byte(row.Tools), &list[i].Tools); err != nil {
				return fmt.Errorf("tools of secret %q: %w", row.Name, err)
			}
		}
		return nil
	})
	return list, err
}

// changeSecret writes ciphertext; what it takes the place of is overwritten.
func (t *tx) changeSecret(c *ledger.SecretChange, by ledger.Hand) (a audited, err error) {
	done, err := t.overwriting()
	if err != nil {
		return a, err
	}
	defer done()
	if c.Kind == ledger.RemoveSecret {
		n, err := t.Exec(dropSecret, clean(c.Name))
		if err == nil && n == 0 {
			err = ledger.ErrNotFound
		}
		return audited{outcome: "done"}, err
	}
	data := map[string]any{"tools": c.Tools}
	if c.Within > 0 {
		if err := t.secretVersion(c, by); err != nil {
			return a, err
		}
		data["confirm_by"] = c.Version.ConfirmBy
	}
	var version int64
	tools := jsonList(c.Tools)
	_, err = t.Row(putSecret, []any{clean(c.Name), c.Ciphertext, tools, clean(by.Person), t.now, tools, c.Within > 0}, &version)
	data["version"] = version
	return audited{outcome: "done", data: data}, err
}

// secretVersion makes the version of the settings by which a secret is confirmed.
func (t *tx) secretVersion(c *ledger.SecretChange, by ledger.Hand) error {
	now, err := t.lockedSettings()
	if err == nil {
		err = mayChange(&now)
	}
	if err != nil {
		return err
	}
	id, err := t.insertVersion(&now, now.Values, ledger.SecretSet(clean(c.Name)), 0, by, c.Conversation, c.Within)
	if err != nil {
		return err
	}
	list, err := t.settings(settingsOf, id)
	if err == nil {
		c.Version = &list[0]
	}
	return err
}

// decideSecret keeps the secret that a version set, or has it be what it was before.
func (t *tx) decideSecret(v *ledger.SettingsVersion, keep bool) error {
	name := v.Secret()
	if name == "" {
		return nil
	}
	end, err := t.overwriting()
	if err != nil {
		return err
	}
	defer end()
	if keep {
		_, err = t.Exec(keepSecret, name)
	} else {
		_, err = t.Exec(formerSecret, t.now, name)
	}
	return err
}
