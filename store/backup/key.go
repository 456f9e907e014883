package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"switchboard/store/database"
)

// A keyFile is the key of the secrets on its way to its place; nil: there is none, or it is
// there already.
type keyFile struct {
	path, part string
	placed     bool
}

// readKey puts the key of an archive beside its place, so that what may fail fails now.
func readKey(r *reader, h *head, path string) (*keyFile, error) {
	if !h.Key {
		return nil, nil
	}
	letter, err := r.next()
	if err != nil || letter != entryKey {
		return nil, errGarbled
	}
	key, err := r.body()
	if err != nil {
		return nil, err
	}
	switch there, err := os.ReadFile(path); {
	case err == nil && bytes.Equal(bytes.TrimSpace(there), bytes.TrimSpace(key)):
		return nil, nil
	case err == nil:
		return nil, fmt.Errorf("%w: %s is another key than the one in the backup; move it away if nothing needs it any more", ErrNotEmpty, path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("key of the secrets: %w", err)
	}
	k := &keyFile{path: path, part: path + ".restoring"}
	if err := k.write(key); err != nil {
		return nil, fmt.Errorf("key of the secrets: %w", errors.Join(err, k.forget()))
	}
	return k, nil
}

func (k *keyFile) write(key []byte) error {
	if err := k.forget(); err != nil { // what a killed one left
		return err
	}
	f, err := os.OpenFile(k.part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(key)
	return errors.Join(err, f.Sync(), f.Close())
}

// place gives the key its name, unless another has it by now.
func (k *keyFile) place() error {
	if k == nil {
		return nil
	}
	if err := os.Link(k.part, k.path); err != nil {
		return err
	}
	k.placed = true
	return errors.Join(database.Remove(k.part), database.SyncFolder(filepath.Dir(k.path)))
}

// forget takes the key away again that was written, or placed.
func (k *keyFile) forget() error {
	if k == nil {
		return nil
	}
	err := database.Remove(k.part)
	if k.placed {
		err = errors.Join(err, database.Remove(k.path))
	}
	return err
}
