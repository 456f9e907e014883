package delivery

import (
	"context"
	"errors"
	"fmt"

	"switchboard/router/core"
	"switchboard/router/outbox"
)

// A lease is a channel's, as this engine holds it.
type lease struct {
	outbox.Lease
	lost context.CancelFunc // it is gone
}

// isLost says whether err means that the lease is gone, and ends the holding.
func (l *lease) isLost(err error) bool {
	if errors.Is(err, core.ErrFenced) {
		l.lost()
		return true
	}
	return false
}

// retry does something in the database under the lease, and again for a while where that fails.
func (l *lease) retry(ctx context.Context, what string, do func(context.Context) error) error {
	err := core.Retry(ctx, func() error { return do(context.WithoutCancel(ctx)) })
	if err == nil {
		return nil
	}
	l.isLost(err)
	return fmt.Errorf("%s: %w", what, err)
}
