package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"switchboard/agent/tools/workspace"
	"switchboard/internal/retry"
)

// spacePause is the shortest time between two looks at what a command wrote; many
// files take longer to look at, and are looked at less often.
const spacePause = 100 * time.Millisecond

// watchSpace looks at the workspace until the command is over or has written too
// much, and says which limit that is. While it has files of which nobody knows how large they are, what
// the disk has less than when the command began is taken for the command's.
func watchSpace(ctx context.Context, root *os.Root, spec helperSpec, over chan<- string) {
	before, _ := workspace.DiskSpace(spec.Workspace)
	for pause := spacePause; ; {
		if !retry.Sleep(ctx, pause) {
			return
		}
		began := time.Now()
		bytes, _, err := workspace.Measure(ctx, root, spec.MaxFiles)
		unlinked, unknown := unlinkedBytes()
		if bytes += unlinked; unknown {
			now, _ := workspace.DiskSpace(spec.Workspace)
			bytes = max(bytes, spec.MaxBytes-spec.MaxFile+before-now)
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, workspace.ErrTooLarge), bytes > spec.MaxBytes:
			over <- "workspace_full"
			return
		case (*workspace.Space)(nil).CheckDisk(ctx, spec.Workspace) != nil:
			over <- "disk_low"
			return
		}
		pause = max(spacePause, 4*time.Since(began))
	}
}

// unlinkedBytes sums the files that the command holds open or mapped and that have no name any
// more. What is only mapped is shown to root alone; for others it is unknown.
//
// Source: proc_pid_map_files(5).
func unlinkedBytes() (sum int64, unknown bool) {
	list, err := descendants()
	if err != nil {
		return 0, false
	}
	seen := map[uint64]bool{}
	for _, p := range list {
		folder := "/proc/" + strconv.Itoa(p.pid)
		names, _ := filepath.Glob(folder + "/task/*/fd/*") // the pattern is well formed
		if _, nameless := p.mappings(); nameless {
			mapped, _ := filepath.Glob(folder + "/map_files/*")
			names = append(names, mapped...)
		}
		for _, name := range names {
			info, err := os.Stat(name)
			unknown = unknown || errors.Is(err, fs.ErrPermission)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink == 0 && !seen[stat.Ino] {
				seen[stat.Ino] = true
				sum += workspace.Taken(info)
			}
		}
	}
	return sum, unknown
}
