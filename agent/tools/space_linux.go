package tools

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// diskSpace returns what is free for us and what there is on the disk of path, in
// bytes.
func diskSpace(path string) (free, total int64) {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return math.MaxInt64, 0
	}
	return int64(disk.Bavail) * disk.Bsize, int64(disk.Blocks) * disk.Bsize
}

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
		u, err := measure(ctx, root, spec.MaxFiles)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errTooLarge), u.bytes+unlinkedBytes() > spec.MaxBytes:
			over <- "workspace"
			return
		case (*Space)(nil).CheckDisk(ctx, spec.Workspace) != nil:
			over <- "disk"
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
				sum += taken(info)
			}
		}
	}
	return sum
}
