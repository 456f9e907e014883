package tools

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"time"
)

// A trace carries taint over a command: what a command writes in a tainted
// turn, or could have copied from a tainted file, is tainted afterwards, and a
// tainted file that it renames stays tainted.
type trace struct {
	root   *os.Root
	before ledger
	inodes map[uint64]Taint // of the tainted files
	taint  Taint            // what the command's files inherit
	output Taint            // what its output inherits: it may have printed a tainted file
	start  time.Time
}

// clockSlack is how far a file's time of change may be behind the clock.
const clockSlack = 20 * time.Millisecond

func beginTrace(cmd Command) (*trace, error) {
	root, err := os.OpenRoot(cmd.Workspace)
	if err != nil {
		return nil, err
	}
	before := readLedger(root)
	t := &trace{root: root, before: before, inodes: map[uint64]Taint{}, output: before.any("."), start: time.Now().Add(-clockSlack)}
	t.taint = cmd.Taint.Join(t.output)
	for name, taint := range before.files {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && inode(info) != 0 {
			t.inodes[inode(info)] = taint
		}
	}
	return t, nil
}

// end stores what the command's files inherited and returns the taint of its
// output. The ledger as it was before counts, whatever the command did to it.
func (t *trace) end() (Taint, error) {
	defer t.root.Close()
	want := maps.Clone(t.before.files)
	if t.taint != Clean {
		if err := t.inherit(want); err != nil {
			// More than can be looked through: then all of it is suspect.
			want[everything] = want[everything].Join(t.taint)
		}
	}
	maps.DeleteFunc(want, func(name string, _ Taint) bool {
		_, err := t.root.Lstat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
	ledgerLock.Lock()
	defer ledgerLock.Unlock()
	if now := readLedger(t.root); !now.lost && maps.Equal(now.files, want) {
		return t.output, nil
	}
	return t.output, storeLedger(t.root, want)
}

// inherit adds the files that changed since the start, and those that are
// tainted ones under another name.
func (t *trace) inherit(want map[string]Taint) error {
	entries := 0
	return fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == hidden {
			return fs.SkipDir
		}
		if entries++; entries > maxEntries {
			return errTooMany
		}
		info, err := d.Info()
		if err != nil || info.IsDir() {
			return err
		}
		if known := t.inodes[inode(info)]; known != Clean && info.Mode().IsRegular() {
			want[name] = want[name].Join(known)
		}
		if changeTime(info).After(t.start) {
			want[name] = want[name].Join(t.taint)
		}
		return nil
	})
}

var errTooMany = errors.New("too many files in the workspace")
