// Package browsers has the rows of the browsers that are signed in to the page, and of what signs one in.
package browsers

import (
	"context"
	"time"

	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/store/audit"
	"switchboard/store/database"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction are for what changes more than
// these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

var _ browsers.Store = (*Store)(nil)

const (
	columns = `SELECT b.id, b.person, b.about, b.token, b.created_at, b.used_at, b.expires_at FROM browsers b JOIN people p ON p.name = b.person WHERE `
	// FindBrowser is asked at every call of the page.
	FindBrowser   = columns + `b.hash = ?`
	listBrowsers  = columns + `b.person = ? AND b.expires_at > ? ORDER BY b.used_at DESC, b.id DESC LIMIT 500`
	insertBrowser = `INSERT INTO browsers (hash, person, about, token, created_at, used_at, expires_at) SELECT ?, name, ?, ?, ?, ?, ? FROM people WHERE name = ? RETURNING id, person`
	useBrowser    = `UPDATE browsers SET used_at = ?, expires_at = ? WHERE id = ?`
	endBrowsers   = `DELETE FROM browsers WHERE person = ? AND (? = 0 OR id = ?)`
	endOldest     = `DELETE FROM browsers WHERE person = ? AND id NOT IN (SELECT id FROM browsers WHERE person = ? ORDER BY used_at DESC, id DESC LIMIT ?)`
	// DropBrowsers and DropSignIns delete those that are too old.
	DropBrowsers = `DELETE FROM browsers WHERE id IN (SELECT id FROM browsers WHERE expires_at <= ? ORDER BY expires_at LIMIT 500)`
	dropSignIns  = `DELETE FROM signins WHERE expires_at <= ?`
	insertSignIn = `INSERT INTO signins (hash, person, created_at, expires_at) VALUES (?, ?, ?, ?)`
	signInOf     = `SELECT person FROM signins WHERE hash = ? AND expires_at > ?`
	useSignIn    = `DELETE FROM signins WHERE hash = ? AND expires_at > ? RETURNING person`
)

// FindBrowser is the one whose secret has that hash. core.ErrNotFound: there is none, or its person is none any more.
func (s *Store) FindBrowser(ctx context.Context, hash []byte) (*browsers.Browser, error) {
	return database.Read(ctx, s.DB, "find a browser", func(t *database.Tx) (*browsers.Browser, error) {
		b, err := database.First[browsers.Browser](t, FindBrowser, hash)
		if err == nil && b == nil {
			err = core.ErrNotFound
		}
		return b, err
	})
}

// Browsers lists those of a person, the one used last first.
func (s *Store) Browsers(ctx context.Context, person string) ([]browsers.Browser, error) {
	return database.List[browsers.Browser](ctx, s.DB, "list browsers", listBrowsers, database.Clean(person), s.Now())
}

// BrowserUsed notes that one was used, and until when it is good now.
func (s *Store) BrowserUsed(ctx context.Context, id int64, until time.Time) error {
	return s.Write(ctx, database.Async, "note the use of a browser", func(t *database.Tx) error { return t.Do(useBrowser, t.Now, until, id) })
}

// ProposeSignIn keeps what signs a person in once, by its hash. Those that are too old go.
func (s *Store) ProposeSignIn(ctx context.Context, person string, hash []byte, until time.Time) error {
	return s.Write(ctx, database.Durable, "make what signs in", func(t *database.Tx) error { return proposeSignIn(t, person, hash, until) })
}

func proposeSignIn(t *database.Tx, person string, hash []byte, until time.Time) error {
	return t.Run(database.Do(dropSignIns, t.Now), database.Do(insertSignIn, hash, person, t.Now, until))
}

// SignInOf is the person whom what has that hash signs in; nothing is used up. core.ErrNotFound.
func (s *Store) SignInOf(ctx context.Context, hash []byte) (person string, err error) {
	err = s.Read(ctx, "look for what signs in", func(t *database.Tx) error {
		return t.Must(core.ErrNotFound, signInOf, []any{hash, t.Now}, &person)
	})
	return person, err
}

// Change makes a change of browsers, and fills it in. Errors as browsers.Change says.
func Change(t *database.Tx, c *browsers.Change) (a audit.Entry, err error) {
	if c.Kind == browsers.MakeLink {
		return audit.Entry{Outcome: "done"}, proposeSignIn(t, database.Clean(c.Browser.Person), c.Used, c.Browser.ExpiresAt)
	}
	if c.Kind == browsers.SignOut {
		n, err := t.Exec(endBrowsers, database.Clean(c.Browser.Person), c.Browser.ID, c.Browser.ID)
		if err == nil && n == 0 && c.Browser.ID != 0 {
			err = core.ErrNotFound
		}
		return audit.Entry{Outcome: "done", Data: map[string]any{"ended": n}}, err
	}
	if c.Used != nil {
		if err := t.Must(core.ErrNotFound, useSignIn, []any{c.Used, t.Now}, &c.Browser.Person); err != nil {
			return a, err
		}
	}
	about := database.Clean(c.Browser.About)
	err = t.Must(core.ErrNotFound, insertBrowser, []any{c.Hash, about, c.Browser.Token, t.Now, t.Now, c.Browser.ExpiresAt, database.Clean(c.Browser.Person)}, &c.Browser.ID, &c.Browser.Person)
	if err == nil {
		err = t.Do(endOldest, c.Browser.Person, c.Browser.Person, browsers.Most)
	}
	if err != nil {
		return a, err
	}
	c.Browser.CreatedAt = database.Instant(t.Now)
	c.Browser.UsedAt = c.Browser.CreatedAt
	return audit.Entry{Outcome: "done", Data: map[string]any{"about": about}}, nil
}

// Forget signs out all browsers of somebody who was removed.
func Forget(t *database.Tx, person string) error {
	return t.Run(database.Do(endBrowsers, person, 0, 0), database.Do(`DELETE FROM signins WHERE person = ?`, person))
}
