package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ledgerSuffix makes the name of a workspace's ledger from the workspace's own:
// it stands next to the folder, where no confined command can reach it.
const ledgerSuffix = ".taint.json"

// maxLedger bounds a ledger, in bytes. One that would be longer suspects all
// files instead of naming them.
const maxLedger = 8 << 20

// everything is the entry that stands for all files of a workspace. It goes when
// a command leaves the workspace empty.
const everything = "."

// taintLost marks the files of a workspace whose ledger cannot be read: it
// might have named any of them.
const taintLost Taint = "file"

// A ledger says which files and folders of a workspace hold, or are named by,
// words from elsewhere: path → taint. Nil is one that names none.
type ledger map[string]Taint

// ledgerFile returns where the ledger of a workspace is.
func ledgerFile(workspace string) string {
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	return filepath.Clean(workspace) + ledgerSuffix
}

// readLedger never fails: a ledger that cannot be understood suspects all files.
func readLedger(workspace string) ledger {
	l, err := parseLedger(ledgerFile(workspace))
	if err != nil {
		return ledger{everything: taintLost}
	}
	return l
}

func parseLedger(file string) (ledger, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ledger{}, nil
	case err != nil:
		return nil, err
	case len(text) > maxLedger:
		return nil, errors.New("the taint ledger is too long")
	}
	quoted := ledger{}
	if err := json.Unmarshal(text, &quoted); err != nil {
		return nil, err
	}
	l := make(ledger, len(quoted))
	for name, taint := range quoted {
		// Names are bytes and JSON is UTF-8, so they are stored quoted.
		if name, err = strconv.Unquote(name); err != nil {
			return nil, err
		}
		l[name] = taint
	}
	return l, nil
}

// encode returns the ledger's text, at most maxLedger long.
func (l ledger) encode() ([]byte, error) {
	quoted := make(ledger, len(l))
	for name, taint := range l {
		quoted[strconv.Quote(name)] = taint
	}
	text, err := json.Marshal(quoted)
	if err == nil && len(text) > maxLedger {
		return ledger{everything: l[everything].Join(l.any("."))}.encode()
	}
	return text, err
}

// of returns the taint of the file at name, a cleaned slash path.
func (l ledger) of(name string) Taint {
	return l[name].Join(l[everything])
}

// WorkspaceTaint is the taint of a workspace in which a file is tainted: whoever runs what
// lies there does what is written in it.
func WorkspaceTaint(workspace string) Taint { return readLedger(workspace).any(".") }

// any returns the taint of dir ("." for all), of something in it, or of a folder
// that it is in, or Clean.
func (l ledger) any(dir string) Taint {
	for name, taint := range l {
		if taint != Clean && (dir == "." || name == everything || name == dir || within(name, dir) || within(dir, name)) {
			return taint
		}
	}
	return Clean
}

func within(name, dir string) bool { return strings.HasPrefix(name, dir+"/") }

// changeLedger lets change edit the workspace's ledger and stores it when it
// differs. It waits for others who change the same ledger, until ctx ends.
func changeLedger(ctx context.Context, workspace string, change func(l ledger)) error {
	file := ledgerFile(workspace)
	release, err := ledgerLocks.Take(ctx, file)
	if err != nil {
		return fmt.Errorf("store the taint ledger: %w", err)
	}
	defer release()
	l, lost := parseLedger(file)
	if lost != nil {
		l = ledger{everything: taintLost}
	}
	before := maps.Clone(l)
	change(l)
	maps.DeleteFunc(l, func(_ string, taint Taint) bool { return taint == Clean })
	if lost == nil && maps.Equal(before, l) {
		return nil
	}
	if err := l.store(file); err != nil {
		return fmt.Errorf("store the taint ledger: %w", err)
	}
	return nil
}

// store replaces the file: a reader sees the old ledger or the new one, also
// after a crash. The caller holds its lock.
func (l ledger) store(file string) error {
	text, err := l.encode()
	if err != nil {
		return err
	}
	temp := file + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, file)
	}
	return err
}
