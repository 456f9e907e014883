package local

import (
	"context"
	"fmt"
	"sync"
)

// Alive says whether the engine here does its work. Where several share the data
// folder, one of this machine's (in a container: the container's) own that hangs is
// not excused by another that answers. ErrNoEngine: there is none.
func Alive(ctx context.Context, dataDir string) error {
	var (
		mu        sync.Mutex
		alive     bool
		hangs     string // an engine of our own
		otherwise = ErrNoEngine
	)
	err := eachEngine(ctx, dataDir, func(c engineConn) {
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
		return fmt.Errorf("the engine %s hangs: %w; stop it and start it again", hangs, ErrHangs)
	case alive:
		return nil
	}
	return otherwise
}
