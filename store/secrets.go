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
			person = excluded.person, version = secrets.version + 1, updated_at = excluded.updated_at
		RETURNING version`
	dropSecret = `DELETE FROM secrets WHERE name = ?`
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
	var version int64
	tools := jsonList(c.Tools)
	_, err = t.Row(putSecret, []any{clean(c.Name), c.Ciphertext, tools, clean(by.Person), t.now, tools}, &version)
	return audited{outcome: "done", data: map[string]any{"version": version, "tools": c.Tools}}, err
}
