package database

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/lib/pq"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"switchboard/router/core"
)

var (
	// ErrFull is returned by writes when the disk is full. Nothing was written;
	// the next write works as soon as there is space.
	ErrFull error = notNow("the disk of the database is full; free some space")
	// ErrUnavailable is returned when the database cannot be asked now, or takes no writes.
	ErrUnavailable error = notNow("the database cannot be reached")
	// ErrNotMigrated is returned when a table or column is missing.
	ErrNotMigrated error = notNow("the database has not been migrated to this version; run: switchboard migrate up")
	// errContended is returned when a transaction was rolled back because of others, and
	// was so again after some tries.
	errContended error = notNow("other transactions were in the way")
	// errInternal hides a fault of ours from conversations.
	errInternal = errors.New("the database refused a statement")
	// errClosed is returned by writes after Close.
	errClosed error = notNow("the database is closed")
	// ErrUnsynced says that all is committed, and a loss of power may take it away.
	ErrUnsynced = errors.New("it was committed and could not be synced")
)

// A notNow is an error that is core.ErrNotNow as well.
type notNow string

func (e notNow) Error() string { return string(e) }

func (e notNow) Is(target error) bool { return target == core.ErrNotNow } //nolint:errorlint // it is asked about itself alone

// A meaning is what an error of either database says, and what an operator can do about it.
type meaning struct {
	kind     error
	advice   string   // in place of the kind's text
	postgres []string // a SQLSTATE, or its beginning
	sqlite   []int    // primary result codes
	fix      string
}

// meanings: the first one that has an error's code counts. What is in none is errInternal,
// and may or may not be the fault of what was written.
var meanings = []meaning{
	{ErrFull, "", []string{"53100"}, nil, "make room on the server's disk"},
	{ErrFull, "", nil, []int{sqlitelib.SQLITE_FULL}, fixDisk},
	{
		ErrUnavailable, "the server refused the user or password of [store] url",
		[]string{"28P01", "28000"},
		nil,
		"correct user and password in [store] url, with special characters escaped (%40 for @), or let the user in (pg_hba.conf of the server)",
	},
	{
		ErrUnavailable, "the server has no database of the name in [store] url; create it first",
		[]string{"3D000"},
		nil,
		"create it on the server (createdb NAME), or correct the name in [store] url",
	},
	{ErrUnavailable, "the database is read-only now", []string{"25006"}, nil, ""},
	{
		ErrUnavailable, "the user of [store] url may not use its tables",
		[]string{"42501"},
		nil,
		"give the user of [store] url the right to create tables in its schema",
	},
	{
		ErrUnavailable, "another program holds the database file", nil,
		[]int{sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL},
		"end the program that holds the file",
	},
	{
		ErrUnavailable, "the database file cannot be written; check the rights of its folder", nil,
		[]int{sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM},
		fixFolder,
	},
	{ErrUnavailable, "the disk of the database reports an error, or is full", []string{"58"}, nil, ""},
	{ErrUnavailable, "the disk of the database reports an error, or is full", nil, []int{sqlitelib.SQLITE_IOERR}, fixDisk},
	{
		ErrUnavailable, "the database file is damaged or no database; restore a backup", nil,
		[]int{sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB},
		"put a backup of the file in its place, or name another one in [store] url",
	},
	// One statement was broken off, which may be its own fault: it takes too long.
	{errInternal, "", []string{"57014"}, []int{sqlitelib.SQLITE_INTERRUPT}, ""},
	// Connections, operators, resources; a transaction that stood still for too long.
	{ErrUnavailable, "", []string{"08", "57", "53", "25P03", "25P04"}, []int{sqlitelib.SQLITE_NOMEM}, ""},
	{errContended, "", []string{"40", "55P03"}, []int{sqlitelib.SQLITE_ABORT, sqlitelib.SQLITE_SCHEMA}, ""},
	{ErrNotMigrated, "", []string{"42P01", "42703", "42883"}, nil, ""}, // SQLite has no code for it
	{core.ErrConflict, "", []string{"23"}, []int{sqlitelib.SQLITE_CONSTRAINT}, ""},
	// Values that it does not take, or that are too long for an index.
	{core.ErrRefused, "", []string{"22", "54"}, []int{sqlitelib.SQLITE_TOOBIG, sqlitelib.SQLITE_MISMATCH}, ""},
}

const (
	fixServer = "see what the server's own log says; it may be starting, or have too many connections"
	fixDisk   = "make room on the disk, and see what the system's log says of it"
	fixFolder = "let this user write the file and its folder, or choose another with --data or [store] url"
)

// meant finds the meaning of a driver's error; other is nil when there is none.
func meant(err error) (m meaning, other error) {
	if pe, ok := errors.AsType[*pq.Error](err); ok {
		return meantBy(func(m meaning) bool {
			return slices.ContainsFunc(m.postgres, func(begins string) bool { return strings.HasPrefix(string(pe.Code), begins) })
		}), pe
	}
	if se, ok := errors.AsType[*driver.Error](err); ok {
		m := meantBy(func(m meaning) bool { return slices.Contains(m.sqlite, se.Code()&0xff) })
		if text := se.Error(); m.kind == errInternal && (strings.Contains(text, "no such table") || strings.Contains(text, "no such column")) {
			m.kind = ErrNotMigrated
		}
		return m, se
	}
	return meaning{}, nil
}

func meantBy(is func(meaning) bool) meaning {
	if i := slices.IndexFunc(meanings, is); i >= 0 {
		return meanings[i]
	}
	return meaning{kind: errInternal}
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

// Explain turns a driver's error into a problem; others pass.
func Explain(err error) error {
	switch {
	case err == nil, errors.Is(err, core.ErrFenced), errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrConflict):
		return err
	}
	if _, ok := errors.AsType[*problem](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	m, cause := meant(err)
	if pe, ok := cause.(*pq.Error); ok && pe.Code == "SB001" { //nolint:errorlint // raised by a function of ours, in words for people
		return &problem{core.ErrConflict, pe.Message + ": " + core.ErrConflict.Error(), err}
	}
	if cause != nil {
		return &problem{m.kind, m.advice, err}
	}
	if wasClosed(err) {
		return &problem{ErrUnavailable, "the server closed the connection", err}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return &problem{ErrUnavailable, "the server does not answer (" + netCause(err) + "); is it running, and is the address in [store] url right?", err}
	}
	return err
}

// failed is an error of op in words of ours.
func failed(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", op, Explain(err))
	}
	return nil
}

// NotYet: nothing is wrong but that the server is not there, or takes no connections now.
func NotYet(err error) bool {
	if pe, ok := errors.AsType[*pq.Error](err); ok {
		return slices.ContainsFunc([]string{"57P", "53300", "08"}, func(begins string) bool { return strings.HasPrefix(string(pe.Code), begins) })
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || wasClosed(err)
}

func wasClosed(err error) bool {
	return errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, errHungUp) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func netCause(err error) string {
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Err != nil {
		return strings.TrimPrefix(oe.Err.Error(), "connect: ")
	}
	return "no connection"
}

// Fix says in a sentence what an operator can do about an error of Open or of what a
// DB does; empty: nothing is known that helps.
func Fix(err error) string {
	m, cause := meant(err)
	pe, server := cause.(*pq.Error) //nolint:errorlint // it was unwrapped
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case m.fix != "" && server:
		if parts := strings.Split(pe.Message, `"`); len(parts) == 3 { // the server names the database
			return strings.Replace(m.fix, "createdb NAME", "createdb "+parts[1], 1)
		}
		return m.fix
	case server:
		return fixServer
	case cause != nil:
		return m.fix
	case errors.Is(err, errURL):
		return "correct [store] url"
	case network, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "see whether the server runs and lets this machine connect (pg_isready asks it), and whether [store] url names it"
	case wasClosed(err):
		return fixServer
	}
	return ""
}

// Unwritable says that err, of Open, of the start of an engine or what comes with them, is
// about a place that cannot be written: a folder or file system that is read-only, or full.
func Unwritable(err error) bool {
	m, _ := meant(err)
	return m.fix == fixDisk || m.fix == fixFolder || errors.Is(err, ErrFull) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
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
