package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/lib/pq"
)

// Under sslmode prefer and allow the driver dials again where the server refused what
// it asked for first, and leaves the former connection open: the process has a
// descriptor too many, and the server's child waits a minute for more to be said, as
// does whoever stops the server. So what a connect attempt dialed and did not keep is
// closed here.

// A connector opens the connections of a pool, each by an attempt of its own.
type connector struct {
	pq   *pq.Connector
	dial pq.Dialer
}

// Connect makes a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	a := &connecting{dial: c.dial}
	one := *c.pq
	one.Dialer(a)
	conn, err := one.Connect(ctx)
	a.end(err == nil)
	return conn, err
}

// Driver is that of PostgreSQL.
func (c connector) Driver() driver.Driver { return c.pq.Driver() }

// A connecting dials for one connection. Whoever dials again before its end has no use
// for the former one.
type connecting struct {
	dial pq.Dialer

	mu     sync.Mutex
	former net.Conn
	ended  bool
}

// Dial connects.
func (a *connecting) Dial(network, address string) (net.Conn, error) {
	return a.instead(func() (net.Conn, error) { return a.dial.Dial(network, address) })
}

// DialTimeout connects within a time.
func (a *connecting) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	return a.instead(func() (net.Conn, error) { return a.dial.DialTimeout(network, address, timeout) })
}

// instead closes the former connection first: the next may never come.
func (a *connecting) instead(dial func() (net.Conn, error)) (net.Conn, error) {
	a.forget(true)
	c, err := dial()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && !a.ended { // later ones ask the server to cancel, and are closed by who dials
		a.former = c
	}
	return c, err
}

// end says whether the latest connection is kept.
func (a *connecting) end(kept bool) {
	a.forget(!kept)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
}

func (a *connecting) forget(useless bool) {
	a.mu.Lock()
	c := a.former
	a.former = nil
	a.mu.Unlock()
	if c != nil && useless {
		_ = c.Close()
	}
}

// Connect opens a connection to PostgreSQL that is read from all the time; program is its
// name for the server. The driver takes no dialer for it, so it is told one way at a time,
// which it does close.
func (db *DB) Connect(program string, notes chan *pq.Notification) (conn *pq.ListenerConn, err error) {
	address, err := postgresAddress(db.pg.url, "on", program)
	if err != nil {
		return nil, err
	}
	for _, mode := range sslModes(address) {
		conn, err = pq.NewListenerConn(mode.address, notes)
		if err == nil || !mode.another(err) {
			break
		}
	}
	return conn, err
}

// Listener is a connection to PostgreSQL to listen on, which is made again whenever it is
// lost: after least, and most later. It ends when the server owes an answer for longer
// than patience. The caller calls end.
func (db *DB) Listener(ctx context.Context, patience, least, most time.Duration) (l *pq.Listener, end func(), err error) {
	address, err := postgresAddress(db.pg.url, "off", "switchboard listen")
	if err != nil {
		return nil, nil, err
	}
	// It has one connection at a time, so that all its connecting is one attempt.
	dialer := &connecting{dial: &patientDialer{patience: patience, listens: true, ctx: ctx}}
	return pq.NewDialListener(dialer, address, least, most, nil), func() { dialer.end(false) }, nil
}

// An sslMode is one way to connect, and when to try the next one.
type sslMode struct {
	address string
	another func(error) bool
}

func sslModes(address string) []sslMode {
	u, err := url.Parse(address)
	if err != nil {
		return []sslMode{{address, never}} // the driver says what is wrong
	}
	q := u.Query()
	with := func(mode string) string {
		q.Set("sslmode", mode)
		u.RawQuery = q.Encode()
		return u.String()
	}
	switch q.Get("sslmode") {
	case "prefer":
		return []sslMode{{with("require"), unanswered}, {with("disable"), never}}
	case "allow":
		return []sslMode{{with("disable"), answered}, {with("require"), never}}
	}
	return []sslMode{{address, never}}
}

func never(error) bool { return false }

// answered says that the server refused the connection that was made.
func answered(err error) bool {
	_, ok := errors.AsType[*pq.Error](err)
	return ok
}

// unanswered says that there was a connection, and no TLS on it. A password that was
// refused under TLS is not sent again without.
func unanswered(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return !answered(err) && (!ok || op.Op != "dial")
}
