package database

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// poolPatience is how long a server may be silent that owes us an answer. It is more
// than any statement of ours takes, but for migrations.
const poolPatience = 20 * time.Second

// A patientDialer makes connections that end when the server owes an answer for too
// long. The driver itself waits for as long as TCP believes in the peer, whatever a
// caller's context says: behind a stalled network that is a quarter of an hour for
// every connection of a pool.
type patientDialer struct {
	patience time.Duration // zero: for ever
	// listens: the server speaks unasked as well, so that silence after its answer is
	// no fault.
	listens bool
	// ctx, unless nil, ends the connections, whatever they wait for.
	ctx context.Context //nolint:containedctx // the driver hands none on

	since atomic.Pointer[time.Time] // connections made before are stale; nil: none
}

// markStale says that one connection had no answer for too long: all made before that began
// may be as dead, and are not used again, rather than found so one by one.
func (d *patientDialer) markStale() {
	since := time.Now().Add(-d.patience)
	d.since.Store(&since)
}

func (d *patientDialer) stale(c *patientConn) bool {
	since := d.since.Load()
	return since != nil && c.made.Before(*since)
}

// Dial connects.
func (d *patientDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, 5*time.Second)
}

// DialTimeout connects within a time.
func (d *patientDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx := d.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	dialer := net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: c, d: d, made: time.Now(), stop: context.AfterFunc(ctx, func() { _ = c.Close() })}, nil
}

type patientConn struct {
	net.Conn
	d    *patientDialer
	made time.Time
	stop func() bool

	mu    sync.Mutex
	limit time.Time // set by the driver while it connects
}

// SetDeadline keeps the limit that the driver sets.
func (c *patientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(t)
}

// errHungUp: nothing is sent over the connection any more, so that what was to be sent
// may go over another.
var errHungUp = errors.New("this connection has ended, or may have")

// Write sends, and from now on an answer is owed.
func (c *patientConn) Write(b []byte) (int, error) {
	if c.d.stale(c) || hungUp(c.Conn) {
		return 0, errHungUp
	}
	if err := c.until(c.owed()); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Read receives. The driver takes the end of a connection as a sign that
// nothing was done of what it sent, and database/sql then does it again in silence; but
// the answer may be what was lost. So it is told of a broken connection instead.
func (c *patientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF { //nolint:errorlint // nobody wraps it here
		err = &net.OpError{Op: "read", Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: io.ErrUnexpectedEOF}
	}
	if err == nil {
		next := time.Time{}
		if !c.d.listens {
			next = c.owed()
		}
		err = c.until(next)
	}
	return n, err
}

// owed is until when the server may be silent; zero: for ever.
func (c *patientConn) owed() time.Time {
	if c.d.patience == 0 {
		return time.Time{}
	}
	return time.Now().Add(c.d.patience)
}

func (c *patientConn) until(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.IsZero() && (t.IsZero() || c.limit.Before(t)) {
		t = c.limit
	}
	return c.Conn.SetReadDeadline(t)
}

// Close ends the connection.
func (c *patientConn) Close() error {
	c.stop()
	return c.Conn.Close()
}
