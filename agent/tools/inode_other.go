//go:build !linux

package tools

import (
	"io/fs"
	"time"
)

// changeTime is when a file was last written.
func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }

// inode is not known here: 0, which no tainted file is kept under.
func inode(fs.FileInfo) uint64 { return 0 }
