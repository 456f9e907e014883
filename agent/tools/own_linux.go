package tools

import (
	"context"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// handOver makes all of the workspace the command's own, unless that was done
// before. What an unconfined command of root leaves is handed over by the next one
// that is confined.
func handOver(root *os.Root, spec helperSpec) error {
	info, err := root.Stat(".")
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if !spec.Confined {
		return root.Lchown(".", 0, 0)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == spec.UID {
		return nil
	}
	err = walkSome(context.Background(), root, ".", math.MaxInt, maxDeep, func(name string, _ fs.FileInfo) error {
		return root.Lchown(name, spec.UID, spec.UID)
	})
	if err != nil {
		return err
	}
	return root.Lchown(".", spec.UID, spec.UID)
}
