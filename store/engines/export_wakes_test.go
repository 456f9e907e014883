package engines

import (
	"context"
	"time"

	"github.com/lib/pq"

	"switchboard/store/database"
)

// ListenOn begins to listen for owner on a connection that stands already, to address.
func ListenOn(ctx context.Context, db *database.DB, owner int64, address string, dialer pq.Dialer) (ok bool, err error) {
	connected := make(chan struct{}, 8)
	l := pq.NewDialListener(dialer, address, time.Second, time.Second, func(pq.ListenerEventType, error) { connected <- struct{}{} })
	defer func() { err = l.Close() }()
	<-connected
	w := NewWakes(db, owner).(*wakes)
	channel, _ := w.channel(ctx)
	return w.begin(ctx, l, channel), nil
}
