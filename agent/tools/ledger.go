package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"sync"
)

// hidden is the folder in each workspace that is ours: tools neither list nor
// read nor write it.
const hidden = ".switchboard"

const ledgerName = hidden + "/taint.json"

// everything is the entry that stands for all files of a workspace.
const everything = "."

// taintLost marks the files of a workspace whose ledger cannot be read: it
// might have named any of them.
const taintLost Taint = "file"

// ledgerLock makes read-change-write of ledgers atomic within the engine. Turns
// of one session run one at a time, so it is all but never waited for; one lock
// for all workspaces spares a table of locks.
var ledgerLock sync.Mutex

// A ledger says which files of a workspace hold words from elsewhere: path →
// taint. It is a file in the workspace's hidden folder.
type ledger struct {
	files map[string]Taint
	lost  bool // the file was there and could not be understood
}

func readLedger(root *os.Root) ledger {
	text, err := root.ReadFile(ledgerName)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger{files: map[string]Taint{}}
	}
	l := ledger{files: map[string]Taint{}}
	if err != nil || json.Unmarshal(text, &l.files) != nil || l.files == nil {
		return ledger{files: map[string]Taint{everything: taintLost}, lost: true}
	}
	return l
}

// of returns the taint of the file at name, a cleaned slash path.
func (l ledger) of(name string) Taint {
	return l.files[name].Join(l.files[everything])
}

// any returns the taint of some file under dir ("." for all), or Clean.
func (l ledger) any(dir string) Taint {
	for name, taint := range l.files {
		if taint != Clean && (dir == "." || name == everything || name == dir || strings.HasPrefix(name, dir+"/")) {
			return taint
		}
	}
	return Clean
}

// changeLedger lets change edit the workspace's ledger and stores it when it
// differs. In place of a lost ledger comes one that suspects everything.
func changeLedger(root *os.Root, change func(files map[string]Taint)) error {
	ledgerLock.Lock()
	defer ledgerLock.Unlock()
	l := readLedger(root)
	before := maps.Clone(l.files)
	change(l.files)
	maps.DeleteFunc(l.files, func(_ string, taint Taint) bool { return taint == Clean })
	if !l.lost && maps.Equal(before, l.files) {
		return nil
	}
	return storeLedger(root, l.files)
}

// makeHidden makes the hidden folder, also where a command put something else in
// its place.
func makeHidden(root *os.Root) error {
	if info, err := root.Lstat(hidden); err == nil && !info.IsDir() {
		if err := root.Remove(hidden); err != nil {
			return err
		}
	}
	return root.MkdirAll(hidden, 0o700)
}

func storeLedger(root *os.Root, files map[string]Taint) error {
	text, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("encode the taint ledger: %w", err)
	}
	if info, err := root.Lstat(ledgerName); err == nil && info.IsDir() {
		if err := root.RemoveAll(ledgerName); err != nil {
			return fmt.Errorf("store the taint ledger: %w", err)
		}
	}
	if err := writeAtomically(root, ledgerName, text, 0o600); err != nil {
		return fmt.Errorf("store the taint ledger: %w", err)
	}
	return nil
}

// writeAtomically replaces the file at name, whose folder exists: a reader sees
// the old bytes or the new ones, also after a crash.
func writeAtomically(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	if err := makeHidden(root); err != nil {
		return err
	}
	temp := path.Join(hidden, "new-"+randomWord())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
