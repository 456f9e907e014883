// Package blobs keeps the bytes of attachments as files in a folder, each under the hash of
// its content. What they are and who refers to them stands in the database.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store/database"
)

// Dir holds the bytes of attachments as files, each under the SHA-256 of its
// content. Its methods may be called from several goroutines, and several programs
// may use one folder, at once.
type Dir struct {
	dir string
	now func() time.Time
	mu  sync.Mutex // held while a name is given to bytes or taken from them
}

var _ files.Blobs = (*Dir)(nil)

// New keeps the bytes in dir, which is made when first needed, for its owner's
// eyes alone.
func New(dir string) *Dir { return &Dir{dir: dir, now: time.Now} }

const (
	// partial opens the names of files that are not whole.
	partial = ".part-"
	// partialLives is after how long such a file is one that a killed program left.
	partialLives = 24 * time.Hour
)

// Put stores what fill writes, at most limit bytes (0: no limit; more is ErrTooLarge), and returns its name
// and size. On any error nothing is left behind.
func (b *Dir) Put(_ context.Context, limit int64, fill func(w io.Writer) error) (blob string, size int64, err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return "", 0, fmt.Errorf("folder of attachments: %w", err)
	}
	f, err := os.CreateTemp(b.dir, partial)
	if err != nil {
		return "", 0, fmt.Errorf("store attachment: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := &bounded{to: f, sum: sha256.New(), limit: limit}
	if err := fill(w); err != nil {
		return "", 0, fmt.Errorf("store attachment: %w", err)
	}
	if w.err != nil { // which fill may have kept to itself
		return "", 0, fmt.Errorf("store attachment: %w", w.err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return "", 0, fmt.Errorf("store attachment: %w", err)
	}
	blob = hex.EncodeToString(w.sum.Sum(nil))
	if err := b.name(f.Name(), blob); err != nil {
		return "", 0, fmt.Errorf("store attachment: %w", err)
	}
	return blob, w.size, nil
}

// name gives a whole file its place. The same bytes, where they are already, are
// replaced, so that they count as used now.
func (b *Dir) name(file, blob string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	folder := filepath.Join(b.dir, blob[:2])
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Rename(file, filepath.Join(folder, blob)); err != nil {
		return err
	}
	return errors.Join(database.SyncFolder(folder), database.SyncFolder(b.dir))
}

// Open reads a blob. What is open stays readable when it is removed.
func (b *Dir) Open(blob string) (io.ReadSeekCloser, error) {
	path := b.Path(blob)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // as a path is that is empty
		err = core.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("attachment's bytes: %w", err)
	}
	now := b.now()
	_ = os.Chtimes(path, now, now) // best effort: List goes by it
	return f, nil
}

// Path is where the blob is on this machine's disk, for a scanner to read; empty: it is no blob's name.
func (b *Dir) Path(blob string) string {
	if !Valid(blob) {
		return ""
	}
	return filepath.Join(b.dir, blob[:2], blob)
}

// Remove deletes a blob; one that is not there is no error. Held bytes stay, for the next look at what nothing
// names.
func (b *Dir) Remove(blob string) error {
	path := b.Path(blob)
	if path == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	release, err := b.lock(database.Alone)
	if errors.Is(err, database.ErrLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove attachment: %w", err)
	}
	defer release()
	if err := database.Remove(path); err != nil {
		return fmt.Errorf("remove attachment: %w", err)
	}
	return nil
}

// Hold keeps all bytes where they are, whichever program on this machine would remove them, until
// release is called or this process ends.
func (b *Dir) Hold() (release func(), err error) {
	release, err = b.lock(database.Shared)
	if err != nil {
		return nil, fmt.Errorf("hold the files of attachments: %w", err)
	}
	return release, nil
}

// lock takes the lock of the folder, which ends with the process.
func (b *Dir) lock(how int) (release func(), err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(b.dir, ".hold"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := database.Flock(f, how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// List names the blobs last used before then. On its way it clears what killed programs left half written.
func (b *Dir) List(before time.Time) (blobs []string, err error) {
	err = filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile, or the folder was never needed
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		switch name := d.Name(); {
		case strings.HasPrefix(name, partial) && b.now().Sub(info.ModTime()) > partialLives:
			_ = os.Remove(path)
		case Valid(name) && info.ModTime().Before(before):
			blobs = append(blobs, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list attachments: %w", err)
	}
	return blobs, nil
}

// Valid says whether name is one that Put gives.
func Valid(name string) bool {
	return len(name) == 2*sha256.Size && strings.Trim(name, "0123456789abcdef") == ""
}

// bounded counts and hashes what goes through it, up to a limit.
type bounded struct {
	to          io.Writer
	sum         hash.Hash
	size, limit int64
	err         error // the first, which stays
}

func (w *bounded) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.limit > 0 && int64(len(p)) > w.limit-w.size {
		w.err = files.ErrTooLarge
		return 0, w.err
	}
	n, w.err = w.to.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	return n, w.err
}
