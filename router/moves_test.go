package router_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"switchboard/router"
	"switchboard/router/intake"
)

// A stopping ledger answers nothing of what moved before its reader ends.
type stopping struct{ router.Store }

func (stopping) Moved(ctx context.Context) ([]intake.Moved, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A program that ends while it looks what moved has nothing to complain of.
func TestMovesThatAreNotReadToTheEndAreNoError(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Store = func(of router.Store) router.Store { return stopping{of} }
		var log bytes.Buffer // read once the router has stopped
		r.Log = &log
		r.Start()
		r.End()
		if strings.Contains(log.String(), "which conversations moved") {
			t.Error(log.String())
		}
	})
}
