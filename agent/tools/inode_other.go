//go:build !linux

package tools

import (
	"io/fs"
	"os"
	"time"
)

// changeTime is when a file was last written.
func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }

// inode is not known here: 0, which no tainted file is kept under.
func inode(fs.FileInfo) uint64 { return 0 }

// taken is how many bytes of the workspace's limit a file takes.
func taken(info fs.FileInfo) int64 { return info.Size() }

// openFolder opens the folder base of folder.
func openFolder(folder *os.Root, base string) (*os.Root, error) { return folder.OpenRoot(base) }
