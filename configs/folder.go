package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dataDir makes Settings.DataDir absolute: a path in the file begins at the
// file's folder, any other at the working folder.
func (c *checker) dataDir(s *Settings, dir string) {
	src := c.sources["data_dir"]
	switch {
	case s.DataDir == "":
		if s.DataDir = defaultDataDir(c.env); s.DataDir == "" {
			c.fault(src, "data_dir", "there is no home folder to put it in; set data_dir or --data")
			return
		}
		delete(c.sources, "data_dir")
	case strings.HasPrefix(s.DataDir, "~"):
		c.fault(src, "data_dir", "~ is not expanded here; write the whole path")
		return
	case strings.HasPrefix(s.DataDir, "secret:"):
		c.fault(src, "data_dir", "cannot be a secret: the key of the secrets is in it")
		return
	case strings.ContainsRune(s.DataDir, 0):
		c.fault(src, "data_dir", "holds a zero byte")
		return
	case src.file != "":
		s.DataDir = below(filepath.Dir(s.File), s.DataDir)
	default:
		s.DataDir = below(dir, s.DataDir)
	}
	abs, err := filepath.Abs(s.DataDir)
	if err != nil {
		c.fault(src, "data_dir", "%v", err)
		return
	}
	s.DataDir = abs
}

// MakeDataDir creates DataDir where it is missing, for its owner alone (0700).
func (s *Settings) MakeDataDir() error {
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data_dir: %w (set data_dir or --data to a folder you may write)", err)
	}
	return nil
}

// folderNote is where it is noted which data_dir the settings file names: the file alone knows it, and one
// that was emptied would begin a new database elsewhere. It is in the folder that is used where nothing is
// set; empty: there is no such folder, or no file.
func (s *Settings) folderNote() string {
	base := defaultDataDir(newVariables(s.opts.Env))
	file, err := filepath.EvalSymlinks(s.File)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if base == "" || s.File == "" || err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(base, "data_dir-"+hex.EncodeToString(sum[:6]))
}

// NoteFolder notes the data_dir that the settings file names, or that it names none, for LostFolder. What a
// flag or a variable names changes no note.
func (s *Settings) NoteFolder() error {
	note, src := s.folderNote(), s.sources["data_dir"]
	switch {
	case note == "":
		return nil
	case src == (source{}):
		if err := os.Remove(note); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case src.file == "":
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		return err
	}
	return os.WriteFile(note, []byte(s.DataDir+"\n"), 0o600)
}

// LostFolder is a Faults where the file names neither people nor data_dir, and named a data_dir at the last
// start that is still there: it was emptied by mistake.
func (s *Settings) LostFolder() error {
	if s.sources["data_dir"] != (source{}) || len(s.People) > 0 {
		return nil
	}
	note := s.folderNote()
	if note == "" {
		return nil
	}
	text, err := os.ReadFile(note)
	folder := strings.TrimSpace(string(text))
	if err != nil || folder == s.DataDir {
		return nil //nolint:nilerr // nothing was noted
	}
	if _, err := os.Stat(folder); err != nil {
		return nil //nolint:nilerr // it was removed: there is nothing to lose
	}
	return Faults{{Source: s.FileName(), Key: "data_dir", Text: fmt.Sprintf(
		"is not set and [[people]] is empty, but at the last start it was %s: the file was emptied. Put its text back, "+
			"or name the folder with --data. To start with a new database in %s instead, remove %s", folder, s.DataDir, note)}}
}

// Stored says whether there is a database to read: a command that only reads must not make a new data folder out of
// a typing error.
func (s *Settings) Stored() error {
	if s.Store.URL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, "switchboard.db")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is nothing in %s yet: start the bot first, for example with \"switchboard chat\", or name another folder with --data", s.DataDir)
	}
	return nil
}
