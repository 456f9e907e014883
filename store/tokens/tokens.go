// Package tokens has the rows of the API tokens that were made by command.
package tokens

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchboard/router/core"
	"switchboard/router/tokens"
	"switchboard/store/audit"
	"switchboard/store/database"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

var _ tokens.Store = (*Store)(nil)

const (
	columns = `SELECT name, scopes, people, 'made' AS source, created_at, expires_at, last_used_at AS last_used, revoked_at FROM tokens`
	// FindToken is asked at every call.
	FindToken   = columns + ` WHERE hash = ?`
	namedToken  = columns + ` WHERE name = ?`
	listTokens  = columns + ` ORDER BY name`
	insertToken = `
		INSERT INTO tokens (name, hash, scopes, people, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING RETURNING 1`
	speakFor    = `UPDATE tokens SET people = ? WHERE name = ?`
	revokeToken = `UPDATE tokens SET revoked_at = ? WHERE name = ?`
	useToken    = `UPDATE tokens SET last_used_at = ? WHERE name = ? AND last_used_at < ?`
	isKnown     = `SELECT 1 FROM people WHERE name = ?`
)

// FindToken is the token whose secret has that hash, in any state. core.ErrNotFound: there is none.
func (s *Store) FindToken(ctx context.Context, hash []byte) (*tokens.Token, error) {
	return database.Read(ctx, s.DB, "find a token", func(t *database.Tx) (*tokens.Token, error) { return token(t, FindToken, hash) })
}

// token is core.ErrNotFound where there is none.
func token(t *database.Tx, query string, by any) (*tokens.Token, error) {
	found, err := database.First[tokens.Token](t, query, by)
	if err == nil && found == nil {
		err = core.ErrNotFound
	}
	return found, err
}

// Tokens lists all by name, revoked ones too.
func (s *Store) Tokens(ctx context.Context) ([]tokens.Token, error) {
	return database.List[tokens.Token](ctx, s.DB, "list tokens", listTokens)
}

// TokenUsed notes that a token was used at that time.
func (s *Store) TokenUsed(ctx context.Context, name string, at time.Time) error {
	return s.Write(ctx, database.Async, "note the use of a token", func(t *database.Tx) error {
		return t.Do(useToken, database.Micros(at), name, database.Micros(at))
	})
}

// Change makes a token or revokes one, and fills it in. Errors as tokens.Change says.
func Change(t *database.Tx, c *tokens.Change) (a audit.Entry, err error) {
	if c.Kind == tokens.Create {
		if err = create(t, c); err != nil {
			return a, err
		}
	}
	now, err := token(t, t.Locked(namedToken), database.Clean(c.Token.Name))
	if err != nil {
		return a, err
	}
	if c.Kind == tokens.Revoke {
		if !now.RevokedAt.IsZero() {
			return a, &core.StateError{Sentence: now.Name + " is revoked already."}
		}
		if err = t.Do(revokeToken, t.Now, now.Name); err != nil {
			return a, err
		}
		now.RevokedAt = database.Instant(t.Now)
	}
	c.Token = *now
	data := map[string]any{"scopes": now.Scopes, "people": now.People}
	if !now.ExpiresAt.IsZero() {
		data["expires_at"] = now.ExpiresAt
	}
	return audit.Entry{Outcome: "done", Data: data}, nil
}

func create(t *database.Tx, c *tokens.Change) error {
	for _, name := range c.Token.People {
		if known, err := t.Has(t.Locked(isKnown), database.Clean(name)); err != nil {
			return err
		} else if !known {
			return &core.StateError{Sentence: fmt.Sprintf("There is nobody called %q.", name)}
		}
	}
	name := c.Token.Name
	made, err := t.Has(insertToken, name, c.Hash, list(c.Token.Scopes), list(c.Token.People), t.Now, database.Micros(c.Token.ExpiresAt))
	if err == nil && !made {
		err = &core.StateError{Sentence: fmt.Sprintf("%s is taken: each token has a name of its own, also after it was revoked.", name)}
	}
	return err
}

// Forget has no token speak for somebody who was removed, nor for whoever is given the name later: one that names
// nobody else is revoked. It returns the names of these.
func Forget(t *database.Tx, names ...string) (revoked []string, err error) {
	all, err := database.Select[tokens.Token](t, listTokens)
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		others := slices.DeleteFunc(slices.Clone(k.People), func(name string) bool { return slices.Contains(names, name) })
		switch {
		case len(others) == len(k.People) || !k.RevokedAt.IsZero():
		case len(others) > 0:
			err = t.Do(speakFor, list(others), k.Name)
		default:
			revoked = append(revoked, k.Name)
			err = t.Do(revokeToken, t.Now, k.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	return revoked, nil
}

// list is never NULL.
func list(names []string) string { return database.JSONText(append([]string{}, names...)) }
