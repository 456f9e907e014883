package store

import (
	"context"
	"time"

	"github.com/lib/pq"
)

// ListenOn begins to listen for owner on a connection that stands already, to address.
func (db *DB) ListenOn(ctx context.Context, owner int64, address string, dialer pq.Dialer) (ok bool, err error) {
	connected := make(chan struct{}, 8)
	l := pq.NewDialListener(dialer, address, time.Second, time.Second, func(pq.ListenerEventType, error) { connected <- struct{}{} })
	defer func() { err = l.Close() }()
	<-connected
	w := db.Wakes(owner).(*wakes)
	channel, _ := w.channel(ctx)
	return w.begin(ctx, l, channel), nil
}
