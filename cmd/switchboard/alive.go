package main

import (
	"context"
	"fmt"
	"sync"

	"switchboard/configs"
)

// engineAlive says whether the engine here does its work. Where several share the data
// folder, one of this machine's (in a container: the container's) own that hangs is
// not excused by another that answers. errNoEngine: there is none.
func engineAlive(ctx context.Context, settings *configs.Settings) error {
	var (
		mu        sync.Mutex
		alive     bool
		hangs     string // an engine of our own
		otherwise = errNoEngine
	)
	err := eachEngine(ctx, settings, func(c engineConn) {
		defer c.close()
		here := c.err == nil && isHere(c.Conn)
		well := c.err == nil && answers(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case well:
			alive = true
		case here:
			hangs = c.engine
		default:
			otherwise = fmt.Errorf("the engine %s does not answer", c.engine)
		}
	})
	switch {
	case err != nil:
		return err
	case hangs != "":
		return fmt.Errorf("the engine %s hangs: %w; stop it and start it again", hangs, errHangs)
	case alive:
		return nil
	}
	return otherwise
}
