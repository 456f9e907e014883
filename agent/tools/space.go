package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A Space says what a workspace may hold and how much of the disk stays free. Its
// fields are set before the first use; its methods are safe for use by several
// goroutines. The zero Space and nil have the default limits and tell nobody.
type Space struct {
	// Bytes is the most all files of one workspace may have together. 0: 2 GB.
	Bytes int64
	// Files is how many files and folders one workspace may hold. 0: 100,000.
	Files int
	// DiskLow is called when the disk has less space than has to stay free, once
	// until it has more again. Nil: nobody is told.
	DiskLow func(ctx context.Context, text string)

	disk func(path string) (free, total int64) // nil: diskSpace

	mu  sync.Mutex
	low bool // DiskLow was called
}

const (
	defaultBytes = 2 << 30
	defaultFiles = 100_000
	maxFloor     = 1_000_000_000
	maxDeep      = 1000 // folders in folders; each takes an open file to look into
)

func (s *Space) limits() (bytes int64, files int) {
	bytes, files = defaultBytes, defaultFiles
	if s != nil && s.Bytes > 0 {
		bytes = s.Bytes
	}
	if s != nil && s.Files > 0 {
		files = s.Files
	}
	return bytes, files
}

// CheckDisk returns an error, a sentence for the person, when the disk under path has
// less free than 1 GB or 2 %, whichever is smaller. A disk that cannot be asked has
// enough.
func (s *Space) CheckDisk(ctx context.Context, path string) error {
	ask := diskSpace
	if s != nil && s.disk != nil {
		ask = s.disk
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
		return errors.New("the disk is nearly full; nothing can be stored until the operator makes room")
	}
	return nil
}

// A usage is what a workspace holds.
type usage struct {
	bytes int64
	files int
}

// measure sums what is in the workspace, in folders that a command closed as well.
// It returns errTooLarge when there are more than so many files.
func measure(ctx context.Context, root *os.Root, files int) (usage, error) {
	var u usage
	err := walkSome(ctx, root, ".", files, maxDeep, func(name string, info fs.FileInfo) error {
		u.files++
		switch {
		case info.Mode().IsRegular():
			u.bytes += taken(info)
		case info.IsDir() && info.Mode()&0o700 != 0o700:
			_ = root.Chmod(name, info.Mode().Perm()|0o700) // else it could hide anything
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		err = nil // what is closed to us cannot be counted
	}
	return u, err
}

// room returns how many bytes more the workspace may hold, or the refusal when it
// may not get one file more, or the disk is nearly full.
func (s *Space) room(ctx context.Context, root *os.Root) (int64, *Result) {
	bytes, files := s.limits()
	var res Result
	u, err := measure(ctx, root, files)
	switch {
	case errors.Is(err, errTooLarge):
		res = refused("workspace_full", fullHint, "%s", s.full())
	case err != nil:
		res = ioFault("the workspace", err)
	case u.bytes >= bytes || u.files >= files:
		res = refused("workspace_full", fullHint, "the workspace holds %d bytes in %d files and folders; its limits are %d and %d", u.bytes, u.files, bytes, files)
	default:
		if err := s.CheckDisk(ctx, root.Name()); err != nil {
			res = refused("disk_low", "tell the person; trying again does not help", "%v", err)
			break
		}
		return bytes - u.bytes, nil
	}
	return 0, &res
}

// full says what a workspace may not pass.
func (s *Space) full() string {
	bytes, files := s.limits()
	return fmt.Sprintf("the workspace may hold %d bytes in %d files and folders, %d deep, and no more", bytes, files, maxDeep)
}

const fullHint = "remove what is no longer needed with workspace.remove, or ask the person what may go"
