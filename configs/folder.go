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
