package store

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/lib/pq"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"switchboard/router"
)

var (
	// ErrFull is returned by writes when the disk is full. Nothing was written;
	// the next write works as soon as there is space.
	ErrFull = errors.New("the disk of the database is full; free some space")
	// ErrUnavailable is returned when the database cannot be asked now.
	ErrUnavailable = errors.New("the database cannot be reached")
	// ErrConflict is returned by writes that contradict what is stored: a row
	// that is there already, a state that does not follow from the present one.
	ErrConflict = router.ErrConflict
	// ErrNotMigrated is returned when a table or column is missing.
	ErrNotMigrated = errors.New("the database has not been migrated to this version; run: switchboard migrate up")
)

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
	switch code := string(pe.Code); {
	case code == "53100":
		return &problem{ErrFull, "", err}
	case code == "28P01", code == "28000":
		return &problem{ErrUnavailable, "the server refused the user or password of [store] url", err}
	case code == "3D000":
		return &problem{ErrUnavailable, "the server has no database of the name in [store] url; create it first", err}
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "53"):
		return &problem{ErrUnavailable, "", err}
	case code == "42P01", code == "42703", code == "42883":
		return &problem{ErrNotMigrated, "", err}
	case code == "SB001": // raised by a function of ours, in words for people
		return &problem{ErrConflict, pe.Message + ": " + ErrConflict.Error(), err}
	case strings.HasPrefix(code, "23"):
		return &problem{ErrConflict, "", err}
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "54"): // a value it does not take, or is too long for an index
		return &problem{router.ErrRefused, "", err}
	default:
		return &problem{errInternal, "", err}
	}
}

// errInternal hides a fault of ours from conversations.
var errInternal = errors.New("the database refused a statement")

func explainSQLite(se *driver.Error, err error) error {
	switch se.Code() & 0xff {
	case sqlitelib.SQLITE_FULL:
		return &problem{ErrFull, "", err}
	case sqlitelib.SQLITE_TOOBIG, sqlitelib.SQLITE_MISMATCH:
		return &problem{router.ErrRefused, "", err}
	case sqlitelib.SQLITE_CONSTRAINT:
		return &problem{ErrConflict, "", err}
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return &problem{ErrUnavailable, "another program holds the database file", err}
	case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM:
		return &problem{ErrUnavailable, "the database file cannot be written; check the rights of its folder", err}
	case sqlitelib.SQLITE_IOERR:
		return &problem{ErrUnavailable, "the disk of the database reports an error, or is full", err}
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return &problem{ErrUnavailable, "the database file is damaged or no database; restore a backup", err}
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
