package store

import (
	"context"
	"encoding/json"
	"net"
	"time"

	"github.com/lib/pq"

	"switchboard/router"
)

// listen collects what other engines tell until ctx ends. After each connect it says
// "everything": nobody keeps what is told meanwhile.
func (w *wakes) listen(ctx context.Context, heard *wakeSet) {
	channel, ok := w.channel(ctx)
	if !ok {
		return
	}
	address, err := postgresAddress(w.db.pg.url, "off", "switchboard listen")
	if err != nil {
		return // the same address was good when the database was opened
	}
	l := pq.NewDialListener(&endingDialer{ctx}, address, 50*time.Millisecond, wakeRetry/2, nil)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	if err := l.Listen(channel); err != nil && ctx.Err() == nil {
		w.db.log.WarnContext(ctx, "what other engines tell is not heard; it is found a little later", "error", err)
		_ = l.Close()
	}
	all := router.Wake{Kind: router.WakeAll}
	heard.add(all)
	for n := range l.Notify {
		var note wakeNote
		switch {
		case n == nil: // connected anew
			heard.add(all)
		case json.Unmarshal([]byte(n.Extra), &note) != nil:
			heard.add(all)
		case note.From != w.owner:
			heard.add(note.Wakes...)
		}
	}
}

// channel asks for the name to listen to, however long the database is away; false:
// ctx ended.
func (w *wakes) channel(ctx context.Context) (channel string, ok bool) {
	for {
		err := w.db.read(ctx, "listen", func(t *tx) error {
			_, err := t.row(wakeChannel, nil, &channel)
			return err
		})
		if err == nil {
			return channel, true
		}
		select {
		case <-time.After(wakeRetry):
		case <-ctx.Done():
			return "", false
		}
	}
}

// endingDialer makes connections that end with ctx, whatever they wait for, and soon
// after their server cannot be reached any more.
type endingDialer struct {
	ctx context.Context //nolint:containedctx // the driver hands none on
}

func (d *endingDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, 5*time.Second)
}

func (d *endingDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	c, err := dialer.DialContext(d.ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &endingConn{c, context.AfterFunc(d.ctx, func() { _ = c.Close() })}, nil
}

type endingConn struct {
	net.Conn
	stop func() bool
}

func (c *endingConn) Close() error {
	c.stop()
	return c.Conn.Close()
}
