package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/store/database"
)

// restored says that the file of the database has what the backup has already.
func (l *loading) restored(ctx context.Context) (done bool, err error) {
	db, err := database.Open(ctx, l.Config, l.DataDir, l.Schema, l.Log)
	if err != nil {
		return false, ctx.Err() // it is something else
	}
	var made Manifest
	if done, err = l.same(ctx, db, &made); done && err == nil {
		l.made = &made
		err = db.Migrate(ctx)
	}
	return done, errors.Join(err, db.Close())
}

// same says that a database has what the backup has and nothing else. ErrNotEmpty: it was restored
// from something else.
func (l *loading) same(ctx context.Context, db *database.DB, m *Manifest) (bool, error) {
	columns := map[string][]string{}
	// Where an engine was it is surely not: then nothing is read.
	if err := db.Read(ctx, "look whether an engine was there", func(t *database.Tx) error { return none(t, []string{"owners"}) }); err != nil {
		return false, ctx.Err()
	}
	letter, err := l.r.next()
	for ; err == nil && letter != entryManifest; letter, err = l.r.next() {
		switch letter {
		case entryTable:
			var h tableHead
			if err = l.r.decode(&h); err == nil {
				for _, c := range h.Columns {
					columns[h.Name] = append(columns[h.Name], c.Name)
				}
			}
		case entryRow:
			_, err = l.r.body()
		case entryFile:
			err = errors.Join(ctx.Err(), l.file(ctx))
		default:
			err = errGarbled
		}
		if err != nil {
			return false, err
		}
	}
	if err == nil {
		err = l.r.decode(m)
	}
	if err != nil {
		return false, err
	}
	m.Already = true
	err = db.Snapshot(ctx, "compare", func(t *database.Tx) error {
		names, err := ours(t)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(names, func(name string) bool { _, has := columns[name]; return has })
		return errors.Join(none(t, rest), compare(t, m, columns, l.Said))
	})
	if err != nil {
		return false, cmp.Or(ctx.Err(), l.other(ctx, db))
	}
	return true, l.placeKey()
}

// other refuses a database with rows that no engine was on: it was restored, and from what cannot be
// said where a migration has changed its tables since.
func (l *loading) other(ctx context.Context, db *database.DB) error {
	return db.Read(ctx, "look into the database", func(t *database.Tx) error {
		if none(t, []string{"people"}) == nil {
			return nil
		}
		return fmt.Errorf("%w, and the one in [store] url was restored already, from another backup or from this one of an older build; no engine was on it since, it is whole, and can be started", ErrNotEmpty)
	})
}

// compare holds every row of the database to what was written: all columns of a table, or those
// that are named for it.
func compare(t *database.Tx, m *Manifest, named map[string][]string, said Progress) error {
	for _, want := range m.Tables {
		said("comparing " + want.Name)
		tb := tableNamed(want.Name)
		if tb == nil {
			return errGarbled
		}
		columns, err := tb.columns(t)
		if err != nil {
			return err
		}
		if named != nil { // what a migration added since is not in the file
			columns = slices.DeleteFunc(columns, func(c column) bool { return !slices.Contains(named[want.Name], c.Name) })
		}
		h := newRowHash(want.Name)
		if err := tb.rows(t, columns, func(row []byte) error { h.add(row); return nil }); err != nil {
			return err
		}
		if got := h.table(); got != want {
			return fmt.Errorf("table %s came out with %d rows that hash to %.16s, the backup has %d that hash to %.16s: nothing was restored",
				want.Name, got.Rows, got.Hash, want.Rows, want.Hash)
		}
	}
	return nil
}
