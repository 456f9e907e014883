package store

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/lib/pq"
	driver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// Mend says in a sentence what an operator can do about an error of Open or of what a
// DB does; empty: nothing is known that helps.
func Mend(err error) string {
	if pe, ok := errors.AsType[*pq.Error](err); ok {
		return mendPostgres(pe)
	}
	if se, ok := errors.AsType[*driver.Error](err); ok {
		return mendSQLite(se)
	}
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, ErrURL):
		return "correct [store] url"
	case network, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "see whether the server runs and lets this machine connect (pg_isready asks it), and whether [store] url names it"
	case errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return mendServer
	}
	return ""
}

const mendServer = "see what the server's own log says; it may be starting, or have too many connections"

func mendPostgres(pe *pq.Error) string {
	switch code := string(pe.Code); {
	case code == "3D000":
		name := "NAME"
		if parts := strings.Split(pe.Message, `"`); len(parts) == 3 {
			name = parts[1]
		}
		return "create it on the server (createdb " + name + "), or correct the name in [store] url"
	case code == "28P01", code == "28000":
		return "correct user and password in [store] url, with special characters escaped (%40 for @), or let the user in (pg_hba.conf of the server)"
	case code == "53100":
		return "make room on the server's disk"
	case code == "42501":
		return "give the user of [store] url the right to create tables in its schema"
	}
	return mendServer
}

func mendSQLite(se *driver.Error) string {
	switch se.Code() & 0xff {
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return "put a backup of the file in its place, or name another one in [store] url"
	case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_PERM:
		return "let this user write the file and its folder, or choose another with --data or [store] url"
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return "end the program that holds the file"
	case sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR:
		return "make room on the disk, and see what the system's log says of it"
	}
	return ""
}
