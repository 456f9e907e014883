package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"switchboard/configs"
)

// engineAlive says whether the engine here does its work. Where several share the data
// folder, one of this machine's (in a container: the container's) own that hangs is
// not excused by another that answers. errNoEngine: there is none.
func engineAlive(ctx context.Context, settings *configs.Settings) error {
	dir := filepath.Join(settings.DataDir, "run")
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return fmt.Errorf("look for an engine: %w", err)
	}
	var (
		mu        sync.Mutex
		alive     bool
		hangs     string // an engine of our own
		asking    sync.WaitGroup
		otherwise = errNoEngine
	)
	for _, socket := range sockets { // all at once: each that hangs takes its time
		asking.Go(func() {
			name := filepath.Base(socket)
			conn, err := dialUnix(ctx, dir, name)
			if err != nil {
				return // what one left behind that is gone
			}
			defer conn.Close()
			here, well := isHere(conn), answers(ctx, conn)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case well:
				alive = true
			case here:
				hangs = strings.TrimSuffix(name, ".sock")
			default:
				otherwise = fmt.Errorf("the engine %s does not answer", strings.TrimSuffix(name, ".sock"))
			}
		})
	}
	asking.Wait()
	switch {
	case hangs != "":
		return fmt.Errorf("the engine %s hangs: it takes connections and does not answer; stop it and start it again", hangs)
	case alive:
		return nil
	}
	return otherwise
}
