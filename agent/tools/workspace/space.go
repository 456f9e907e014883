package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A Space says what a workspace may hold and how much of the disk stays free. Its
// fields are set before the first use, and by SetLimits; its methods are safe for use by several
// goroutines. The zero Space and nil have the default limits and tell nobody.
type Space struct {
	// Bytes is the most all files of one workspace may have together. 0: 2 GB.
	Bytes int64
	// Files is how many files and folders one workspace may hold. 0: 100,000.
	Files int
	// DiskLow is called when the disk has less space than has to stay free, once
	// until it has more again. Nil: nobody is told.
	DiskLow func(ctx context.Context, text string)

	// Disk says what is free on the disk of path and what there is, in bytes. Nil: it is asked.
	Disk func(path string) (free, total int64)

	mu  sync.Mutex
	low bool // DiskLow was called
}

const (
	defaultBytes = 2 << 30
	defaultFiles = 100_000
	maxFloor     = 1_000_000_000
	// MaxDeep is how many folders in folders there may be; each takes an open file to look into.
	MaxDeep = 1000
)

// A LimitError refuses what a workspace or the disk has no room for.
type LimitError struct {
	Code string // "workspace_full" | "disk_low"
	Text string // a sentence
}

func (e *LimitError) Error() string { return e.Text }

// Limits are the most bytes, and files and folders, of one workspace.
func (s *Space) Limits() (bytes int64, files int) {
	if s == nil {
		return defaultBytes, defaultFiles
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(max(s.Bytes, 0), defaultBytes), cmp.Or(max(s.Files, 0), defaultFiles)
}

// SetLimits changes what a workspace may hold, as Bytes and Files.
func (s *Space) SetLimits(bytes int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Bytes, s.Files = bytes, files
}

// CheckDisk returns a *LimitError when the disk under path has
// less free than 1 GB or 2 %, whichever is smaller. A disk that cannot be asked has
// enough.
func (s *Space) CheckDisk(ctx context.Context, path string) error {
	ask := DiskSpace
	if s != nil && s.Disk != nil {
		ask = s.Disk
	}
	free, total := ask(path)
	low := free < min(maxFloor, total/50)
	if s != nil {
		s.mu.Lock()
		first := low && !s.low
		s.low = low
		s.mu.Unlock()
		if first && s.DiskLow != nil {
			s.DiskLow(ctx, fmt.Sprintf("The disk with my data has only %d MB free. Until it has more I run no commands and take no files: please make room.", free/1_000_000))
		}
	}
	if low {
		return &LimitError{"disk_low", "the disk is nearly full; nothing can be stored until the operator makes room"}
	}
	return nil
}

const (
	// smallFolder is the size of a folder that takes nothing worth counting, in bytes.
	smallFolder = 64 << 10
	// linkTakes is what a symbolic link takes where its target does not fit beside its name, in bytes.
	linkTakes = 4 << 10
)

// Measure sums what is in the workspace, in folders that a command closed as well.
// It returns ErrTooLarge when there are more than so many files.
func Measure(ctx context.Context, root *os.Root, most int) (bytes int64, files int, err error) {
	err = WalkSome(ctx, root, ".", most, MaxDeep, func(name string, info fs.FileInfo) error {
		files++
		if info.IsDir() && info.Mode()&0o700 != 0o700 {
			_ = root.Chmod(name, info.Mode().Perm()|0o700) // else it could hide anything
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			bytes += max(info.Size(), linkTakes)
		case !info.IsDir() || info.Size() > smallFolder:
			bytes += Taken(info) // a folder stays large when its files are gone
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		err = nil // what is closed to us cannot be counted
	}
	return bytes, files, err
}

// Room returns how many bytes more the workspace may hold, and a *LimitError when it
// may not get one file more, or the disk is nearly full.
func (s *Space) Room(ctx context.Context, root *os.Root) (int64, error) {
	most, mostFiles := s.Limits()
	bytes, files, err := Measure(ctx, root, mostFiles)
	switch {
	case errors.Is(err, ErrTooLarge):
		return 0, &LimitError{"workspace_full", s.Full()}
	case err != nil:
		return 0, err
	case bytes >= most || files >= mostFiles:
		return 0, &LimitError{"workspace_full", fmt.Sprintf("the workspace holds %d bytes in %d files and folders; its limits are %d and %d", bytes, files, most, mostFiles)}
	}
	return most - bytes, s.CheckDisk(ctx, root.Name())
}

// Full says what a workspace may not pass.
func (s *Space) Full() string {
	bytes, files := s.Limits()
	return fmt.Sprintf("the workspace may hold %d bytes in %d files and folders, %d deep, and no more", bytes, files, MaxDeep)
}
