package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/store/blobs"
	"switchboard/store/database"
)

const (
	readSchema = `SELECT coalesce(max(version_id), 0) FROM goose_db_version`
	lastDrawn  = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?`
	// lastDrawnPostgres is of no snapshot, so that it is no less than what rows have.
	lastDrawnPostgres = `SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, 'id') AS regclass)), 0)`
	highestID         = `SELECT coalesce(max(id), 0) FROM "%s"`
	highestAudit      = `SELECT coalesce(max(last_id), 0) FROM audit_segments` // rows that were cleared away had numbers too
	namedBlobs        = `SELECT DISTINCT blob AS name FROM attachments WHERE blob <> '' ORDER BY blob`
	leavingBlobs      = `SELECT extra FROM deliveries WHERE settled = FALSE AND extra IS NOT NULL ORDER BY id`
)

// Progress is told now and then how far it is, in words.
type Progress func(text string)

// A Source is what is backed up.
type Source struct {
	DB    *database.DB
	Files *blobs.Dir
	Key   []byte // of the secrets; nil: it is left out
	Build string
	Said  Progress
}

// Write writes all that is committed as it begins to w, beside engines that go on. An error
// leaves w with something that Restore refuses.
func Write(ctx context.Context, s Source, w io.Writer) (*Manifest, error) {
	// No engine removes bytes from before the snapshot until they are written.
	release, err := s.Files.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	out, err := newWriter(w)
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	var names []string
	err = s.DB.Snapshot(ctx, "back up", func(t *database.Tx) error {
		if err := s.head(t, out); err != nil {
			return err
		}
		for i := range tables {
			has, err := s.table(t, out, &tables[i])
			if err != nil {
				return err
			}
			if has != nil {
				m.Tables = append(m.Tables, *has)
			}
		}
		names, err = namedIn(t)
		return err
	})
	if err == nil {
		err = s.files(ctx, out, names, m)
	}
	if err == nil {
		err = out.json(entryManifest, m)
	}
	if err == nil {
		err = out.close()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (s *Source) head(t *database.Tx, out *writer) error {
	h := head{Build: s.Build, Database: s.DB.Kind(), At: time.Now().UTC(), Sequences: map[string]int64{}, Key: s.Key != nil}
	if _, err := t.Row(readSchema, nil, &h.Schema); err != nil {
		return err
	}
	newest, err := s.DB.Schema.Newest()
	if err != nil {
		return err
	}
	if h.Schema > newest {
		return fmt.Errorf("%w: its schema has number %d, this build knows up to %d; back up with the newer build", database.ErrNewer, h.Schema, newest)
	}
	for _, name := range numbered() {
		last, err := drawn(t, name)
		if err != nil {
			return err
		}
		if last > 0 {
			h.Sequences[name] = last
		}
	}
	if err := out.json(entryHead, h); err != nil || s.Key == nil {
		return err
	}
	return out.entry(entryKey, s.Key)
}

// drawn is the last number that a table has given out; 0: it gives none.
func drawn(t *database.Tx, name string) (last int64, err error) {
	columns, err := (&table{name: name}).columns(t)
	if err != nil || !slices.ContainsFunc(columns, func(c column) bool { return c.drawn && c.Name == "id" }) {
		return 0, err
	}
	if _, err = t.Row(t.Either(lastDrawn, lastDrawnPostgres), []any{name}, &last); err != nil {
		return 0, err
	}
	queries := []string{fmt.Sprintf(highestID, name)}
	if name == "audit" {
		if has, err := tableNamed("audit_segments").columns(t); err != nil {
			return 0, err
		} else if len(has) > 0 { // the schema may be older
			queries = append(queries, highestAudit)
		}
	}
	for _, q := range queries {
		var highest int64
		if _, err := t.Row(q, nil, &highest); err != nil {
			return 0, err
		}
		last = max(last, highest)
	}
	return last, nil
}

// table writes the rows of a table; nil: the schema does not have it yet.
func (s *Source) table(t *database.Tx, out *writer, tb *table) (*Table, error) {
	columns, err := tb.columns(t)
	if err != nil || len(columns) == 0 {
		return nil, err
	}
	if err := out.json(entryTable, tableHead{tb.name, columns}); err != nil {
		return nil, err
	}
	h := newRowHash(tb.name)
	err = tb.rows(t, columns, func(row []byte) error {
		if h.rows%1000 == 0 {
			s.Said(fmt.Sprintf("%s: %d rows", tb.name, h.rows))
		}
		h.add(row)
		return out.entry(entryRow, row)
	})
	if err != nil {
		return nil, err
	}
	has := h.table()
	return &has, nil
}

// namedIn are the bytes that rows name: of attachments, and of files that are still to be sent.
func namedIn(t *database.Tx) (names []string, err error) {
	type extra struct {
		Extra struct {
			Files []channels.File `json:"files"`
		}
	}
	leaving, err := database.Select[extra](t, leavingBlobs)
	if err == nil {
		names, err = t.Names(namedBlobs)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range leaving {
		for _, f := range r.Extra.Files {
			names = append(names, f.Blob)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (s *Source) files(ctx context.Context, out *writer, names []string, m *Manifest) error {
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.Said(fmt.Sprintf("files: %d of %d", i, len(names)))
		size, err := s.file(out, name)
		switch {
		case errors.Is(err, core.ErrNotFound):
			m.Missing = append(m.Missing, name)
		case err != nil:
			return fmt.Errorf("file %s: %w", name, err)
		default:
			m.Files++
			m.Bytes += size
		}
	}
	return nil
}

// file writes the bytes of a file. ErrNotFound: they are not there, or not what their name says.
func (s *Source) file(out *writer, name string) (size int64, err error) {
	f, err := s.Files.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := sha256.New()
	if size, err = io.Copy(sum, f); err != nil {
		return 0, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != name {
		return 0, core.ErrNotFound
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if err := out.begin(entryFile, int64(len(name))+size); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(out.z, name); err != nil {
		return 0, err
	}
	_, err = io.CopyN(out.z, f, size)
	return size, err
}
