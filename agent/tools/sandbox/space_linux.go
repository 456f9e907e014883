package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"switchboard/agent/tools/workspace"
)

// spacePause is the shortest time between two looks at what a command wrote; many
// files take longer to look at, and are looked at less often.
const spacePause = 100 * time.Millisecond

// watchSpace looks at the workspace until the command is over or has written too
// much, and says which limit that is.
func watchSpace(ctx context.Context, root *os.Root, spec helperSpec, over chan<- string) {
	for pause := spacePause; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		bytes, _, err := workspace.Measure(ctx, root, spec.MaxFiles)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, workspace.ErrTooLarge), bytes+unlinkedBytes() > spec.MaxBytes:
			over <- "workspace_full"
			return
		case (*workspace.Space)(nil).CheckDisk(ctx, spec.Workspace) != nil:
			over <- "disk_low"
			return
		}
		pause = max(spacePause, 4*time.Since(began))
	}
}

// unlinkedBytes sums the files that the command holds open and that have no name any
// more.
func unlinkedBytes() int64 {
	list, err := descendants()
	if err != nil {
		return 0
	}
	sum, seen := int64(0), map[uint64]bool{}
	for _, p := range list {
		names, _ := filepath.Glob("/proc/" + strconv.Itoa(p.pid) + "/task/*/fd/*") // the pattern is well formed
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 && !seen[stat.Ino] {
				seen[stat.Ino] = true
				sum += workspace.Taken(info)
			}
		}
	}
	return sum
}
