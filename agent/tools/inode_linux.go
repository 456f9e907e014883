package tools

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when a file last changed in content, name or mode. Unlike the
// time of modification nobody can set it.
func changeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}

// inode names a file whatever its path is.
func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
