package database

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"switchboard/internal/retry"
)

// postgres is a server with four pools, which differ in what a commit waits for and in whom they serve.
type postgres struct {
	durable *sqlx.DB // a commit is on disk when it returns
	relaxed *sqlx.DB // synchronous_commit = off; also for reading
	results *sqlx.DB // of what became of sends, which must not wait for new work; commits as relaxed
	own     *sqlx.DB // of the engine's row, which must not wait for the others
	url     string
	dialer  *patientDialer // of durable and relaxed; nil in some tests
	raced   func(code, table, column string) bool

	mu     sync.Mutex
	joints map[jointKey]*joint
}

// How many connections each pool may have: with the one of the engine's lock and the one on
// which wakes come, 12 an engine. Each connection keeps its own plans of the functions, and more work
// at once than the server has processors only waits there. Nobody who has a connection waits for another.
const (
	durableSize = 4 // an accept, two calls of steps, and one more: a claim, the begin of a delivery
	relaxedSize = 3
	resultsSize = 1 // joined: what comes while one is under way goes as the next
	// ownSize is enough for one that hangs and one that tries again.
	ownSize = 2
)

// ownPatience leaves time for a second try before side effects have to end.
const ownPatience = 4 * time.Second

// idleInTransaction is for how long the server waits for the next statement of a
// transaction before it rolls it back and ends the connection, in ms.
const idleInTransaction = "10000"

// maxDead is how many dead connections in a row are replaced: more than a pool has.
const maxDead = 12

// writeTimeout bounds a transaction that has begun, whose caller may be gone.
const writeTimeout = 30 * time.Second

// openPostgres asks the server once. dialer is nil except in tests.
func openPostgres(ctx context.Context, raw string, raced func(code, table, column string) bool, dialer pq.Dialer) (*postgres, error) {
	p := &postgres{url: raw, raced: raced, joints: map[jointKey]*joint{}}
	if dialer == nil {
		p.dialer = &patientDialer{patience: poolPatience}
		dialer = p.dialer
	}
	var errs [4]error // all or none: each says the same of the address
	p.durable, errs[0] = postgresPool(raw, "on", durableSize, dialer)
	p.relaxed, errs[1] = postgresPool(raw, "off", relaxedSize, dialer)
	p.results, errs[2] = postgresPool(raw, "off", resultsSize, dialer)
	p.own, errs[3] = postgresPool(raw, "on", ownSize, &patientDialer{patience: ownPatience})
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	p.own.SetMaxIdleConns(1) // the second try is not to find one that hangs as well
	if err := p.durable.PingContext(ctx); err != nil {
		p.close()
		return nil, fmt.Errorf("PostgreSQL: %w", Explain(err))
	}
	return p, nil
}

func postgresPool(raw, synchronous string, size int, dialer pq.Dialer) (*sqlx.DB, error) {
	address, err := postgresAddress(raw, synchronous, "switchboard")
	if err != nil {
		return nil, err
	}
	c, err := pq.NewConnector(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errURL, redacted(err, address))
	}
	db := sqlx.NewDb(sql.OpenDB(connector{c, dialer}), "postgres")
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// postgresAddress adds to the settings' address what it leaves open.
func postgresAddress(raw, synchronous, program string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse holds the address with its password.
		return "", fmt.Errorf("%w: the address cannot be read; escape special characters in the password (%%40 for @)", errURL)
	}
	q := u.Query()
	// Parameters go with the statement, so that one takes one round trip.
	q.Set("binary_parameters", "yes")
	q.Set("synchronous_commit", synchronous)
	if q.Get("application_name") == "" {
		q.Set("application_name", program)
	}
	if q.Get("connect_timeout") == "" {
		q.Set("connect_timeout", "5")
	}
	// An engine that stands still or is cut off in the middle of a transaction must
	// not keep its locks: the other engines wait for them.
	q.Set("idle_in_transaction_session_timeout", idleInTransaction)
	q.Set("jit", "off") // to compile a statement takes longer than any of ours runs
	if q.Get("sslmode") == "" {
		q.Set("sslmode", "prefer")
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// noticed marks the connections of both pools stale where err says that one had no
// answer for too long. (To close idle ones by the pool's limits is not safe: database/sql
// then closes some that came back meanwhile and are used.)
func (p *postgres) noticed(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && p.dialer != nil {
		p.dialer.markStale()
	}
	return err
}

// close ends the pools. Nothing is under way then, and that a connection which died
// meanwhile cannot be told so is no failure.
func (p *postgres) close() {
	for _, pool := range []*sqlx.DB{p.durable, p.relaxed, p.results, p.own} {
		_ = pool.Close()
	}
}

func (p *postgres) pool(mode Durability) *sqlx.DB {
	if mode == Durable {
		return p.durable
	}
	return p.relaxed
}

// write runs fn in one transaction, again when PostgreSQL asks for it (deadlock,
// serialization). ctx counts until the transaction begins.
func (p *postgres) write(ctx context.Context, mode Durability, fn func(querier) error) error {
	return p.detached(ctx, p.pool(mode), func(ctx context.Context, conn *sqlx.Conn) error {
		return inBulk(ctx, conn, nil, func(t *sqlx.Tx) error { return fn(sqlTx{t, ctx}) })
	})
}

// detached runs fn on a connection of the pool, under a context that the caller's
// end does not reach. A connection that turns out to be dead before anything was
// sent on it (the server was restarted) is replaced by another.
func (p *postgres) detached(ctx context.Context, pool *sqlx.DB, fn func(context.Context, *sqlx.Conn) error) error {
	for try := 0; ; try++ {
		conn, err := pool.Connx(ctx)
		if err != nil {
			return err
		}
		err = p.noticed(p.retried(ctx, conn, fn))
		// A connection that is known to be bad is closed here, not pooled again.
		_ = conn.Close()
		if !errors.Is(err, driver.ErrBadConn) || try == maxDead {
			return err
		}
	}
}

// retried runs fn again when PostgreSQL asks for it, or refuses what another did at the
// same time.
func (p *postgres) retried(ctx context.Context, conn *sqlx.Conn, fn func(context.Context, *sqlx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer stop()
	for try := 0; ; try++ {
		err := fn(ctx, conn)
		if err == nil || try == 8 || !p.again(err) {
			return err
		}
		// Two that met in a deadlock must not meet again in step.
		if !retry.Sleep(ctx, time.Duration(1+rand.IntN(4<<try))*time.Millisecond) {
			return err
		}
	}
}

// Own runs one statement over connections of the engine's own, durably, and scans its
// first row into dest. It waits for nobody else.
func (db *DB) Own(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	rows, err := db.pg.own.QueryxContext(ctx, dollars(query), args...)
	if err == nil {
		if found = rows.Next(); found {
			err = rows.Scan(dest...)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	return found, Explain(db.pg.noticed(err))
}

// again says that PostgreSQL rolled a transaction back for no fault of its own.
func (p *postgres) again(err error) bool {
	pe, ok := errors.AsType[*pq.Error](err)
	return ok && (pe.Code == "40001" || pe.Code == "40P01" || p.raced(string(pe.Code), pe.Table, pe.Column))
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// sqlTx runs the statements of one transaction of database/sql.
type sqlTx struct {
	t   *sqlx.Tx
	ctx context.Context //nolint:containedctx // lives as long as the transaction
}

func (q sqlTx) in(query string) string {
	if q.t.DriverName() == "postgres" {
		return dollars(query)
	}
	return query
}

func (q sqlTx) Exec(query string, args ...any) (sql.Result, error) {
	return q.t.ExecContext(q.ctx, q.in(query), args...)
}

func (q sqlTx) Query(query string, args ...any) (Rows, error) {
	return rowsOf(q.t.QueryxContext(q.ctx, q.in(query), args...))
}

// rowsOf are no rows where there is an error.
func rowsOf(r *sqlx.Rows, err error) (Rows, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}
