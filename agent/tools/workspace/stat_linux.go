package workspace

import (
	"io/fs"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ChangeTime is when a file last changed in content, name or mode. Unlike the
// time of modification nobody can set it.
func ChangeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}

// Inode names a file whatever its path is.
func Inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}

// Taken is how many bytes of the workspace's limit a file takes: its size, or what it
// holds on the disk where that is far more, which space set aside behind its end is.
// Some file systems set a part aside by themselves.
func Taken(info fs.FileInfo) int64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Blocks*512 <= 2*info.Size()+64<<10 {
		return info.Size()
	}
	return stat.Blocks * 512
}

// openFolder opens the folder base of folder. Where a command puts a pipe in its place
// just now it fails at once: OpenRoot would wait for whoever writes to it.
func openFolder(folder *os.Root, base string) (*os.Root, error) {
	f, err := folder.OpenFile(base, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}

// DiskSpace returns what is free for us and what there is on the disk of path, in
// bytes.
func DiskSpace(path string) (free, total int64) {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return math.MaxInt64, 0
	}
	return int64(disk.Bavail) * disk.Bsize, int64(disk.Blocks) * disk.Bsize
}
