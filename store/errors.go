package store

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/lib/pq"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"switchboard/router"
)

var (
	// ErrFull is returned by writes when the disk is full. Nothing was written;
	// the next write works as soon as there is space.
	ErrFull error = notNow("the disk of the database is full; free some space")
	// ErrUnavailable is returned when the database cannot be asked now, or takes no writes.
	ErrUnavailable error = notNow("the database cannot be reached")
	// ErrConflict is returned by writes that contradict what is stored: a row
	// that is there already, a state that does not follow from the present one.
	ErrConflict = router.ErrConflict
	// ErrNotMigrated is returned when a table or column is missing.
	ErrNotMigrated error = notNow("the database has not been migrated to this version; run: switchboard migrate up")
	// errContended is returned when a transaction was rolled back because of others, and
	// was so again after some tries.
	errContended error = notNow("other transactions were in the way")
	// errInternal hides a fault of ours from conversations.
	errInternal = errors.New("the database refused a statement")
)

// A notNow is an error that is router.ErrNotNow as well.
type notNow string

func (e notNow) Error() string { return string(e) }

func (e notNow) Is(target error) bool { return target == router.ErrNotNow } //nolint:errorlint // it is asked about itself alone

// meanings says what an error of either database means; the first row that has its code
// counts. What is in no row is errInternal, and may or may not be the fault of what was
// written.
var meanings = []struct {
	kind     error
	advice   string   // in place of the kind's text
	postgres []string // a SQLSTATE, or its beginning
	sqlite   []int    // primary result codes
}{
	{ErrFull, "", []string{"53100"}, []int{sqlitelib.SQLITE_FULL}},
	{ErrUnavailable, "the server refused the user or password of [store] url", []string{"28P01", "28000"}, nil},
	{ErrUnavailable, "the server has no database of the name in [store] url; create it first", []string{"3D000"}, nil},
	{ErrUnavailable, "the database is read-only now", []string{"25006"}, nil},
	{ErrUnavailable, "the user of [store] url has not the rights for its tables", []string{"42501"}, nil},
	{ErrUnavailable, "another program holds the database file", nil, []int{sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL}},
	{
		ErrUnavailable, "the database file cannot be written; check the rights of its folder", nil,
		[]int{sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM},
	},
	{ErrUnavailable, "the disk of the database reports an error, or is full", []string{"58"}, []int{sqlitelib.SQLITE_IOERR}},
	{ErrUnavailable, "the database file is damaged or no database; restore a backup", nil, []int{sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB}},
	// One statement was broken off, which may be its own fault: it takes too long.
	{errInternal, "", []string{"57014"}, []int{sqlitelib.SQLITE_INTERRUPT}},
	// Connections, operators, resources; a transaction that stood still for too long.
	{ErrUnavailable, "", []string{"08", "57", "53", "25P03", "25P04"}, []int{sqlitelib.SQLITE_NOMEM}},
	{errContended, "", []string{"40", "55P03"}, []int{sqlitelib.SQLITE_ABORT, sqlitelib.SQLITE_SCHEMA}},
	{ErrNotMigrated, "", []string{"42P01", "42703", "42883"}, nil}, // SQLite has no code for it
	{ErrConflict, "", []string{"23"}, []int{sqlitelib.SQLITE_CONSTRAINT}},
	// Values that it does not take, or that are too long for an index.
	{router.ErrRefused, "", []string{"22", "54"}, []int{sqlitelib.SQLITE_TOOBIG, sqlitelib.SQLITE_MISMATCH}},
}

// A problem is a database's error in words of ours. The driver's own text may
// name constraints and values; it is in Unwrap for the log, never in Error.
type problem struct {
	kind   error  // a sentinel above, or nil
	advice string // in place of the kind's text where there is more to say
	cause  error
}

func (p *problem) Error() string {
	if p.advice != "" {
		return p.advice
	}
	return p.kind.Error()
}

func (p *problem) Unwrap() []error { return []error{p.kind, p.cause} }

// explain turns a driver's error into a problem; others pass.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, router.ErrFenced), errors.Is(err, router.ErrNotFound), errors.Is(err, ErrConflict):
		return err
	}
	if _, ok := errors.AsType[*problem](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if pe, ok := errors.AsType[*pq.Error](err); ok {
		return explainPostgres(pe, err)
	}
	if se, ok := errors.AsType[*driver.Error](err); ok {
		return explainSQLite(se, err)
	}
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &problem{ErrUnavailable, "the server closed the connection", err}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return &problem{ErrUnavailable, "the server does not answer (" + netCause(err) + "); is it running, and is the address in [store] url right?", err}
	}
	return err
}

func netCause(err error) string {
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Err != nil {
		return strings.TrimPrefix(oe.Err.Error(), "connect: ")
	}
	return "no connection"
}

func explainPostgres(pe *pq.Error, err error) error {
	code := string(pe.Code)
	if code == "SB001" { // raised by a function of ours, in words for people
		return &problem{ErrConflict, pe.Message + ": " + ErrConflict.Error(), err}
	}
	for _, m := range meanings {
		if slices.ContainsFunc(m.postgres, func(begins string) bool { return strings.HasPrefix(code, begins) }) {
			return &problem{m.kind, m.advice, err}
		}
	}
	return &problem{errInternal, "", err}
}

func explainSQLite(se *driver.Error, err error) error {
	for _, m := range meanings {
		if slices.Contains(m.sqlite, se.Code()&0xff) {
			return &problem{m.kind, m.advice, err}
		}
	}
	if strings.Contains(se.Error(), "no such table") || strings.Contains(se.Error(), "no such column") {
		return &problem{ErrNotMigrated, "", err}
	}
	return &problem{errInternal, "", err}
}

// redacted is err without the password of address.
func redacted(err error, address string) string {
	text := err.Error()
	u, parse := url.Parse(address)
	if parse != nil {
		return "the address cannot be read"
	}
	if pw, ok := u.User.Password(); ok && pw != "" {
		text = strings.ReplaceAll(text, pw, "[redacted]")
	}
	return text
}
