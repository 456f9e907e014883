package logs

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"

	"switchboard/configs"
)

// longestLog is the size in bytes at which a log file is set aside, as .old.
const longestLog = 10 << 20

// A File is data_dir/switchboard.log: where an engine writes that runs under a
// chat or another command, whose terminal and pipes belong to the person.
type File struct {
	Log  *slog.Logger
	Path string

	file     *os.File
	warnings atomic.Int64
}

// Open opens the file, readable by its owner alone; text where log.format asks for
// it, else JSON.
func Open(settings *configs.Settings) (*File, error) {
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	l := &File{Path: filepath.Join(settings.DataDir, "switchboard.log")}
	if info, err := os.Stat(l.Path); err == nil && info.Size() > longestLog {
		if err := os.Rename(l.Path, l.Path+".old"); err != nil {
			return nil, fmt.Errorf("set the log file aside: %w", err)
		}
	}
	var err error
	if l.file, err = os.OpenFile(l.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	l.Log = newLog(masked{l.file, settings.Mask}, settings.Log.Format, tint.Options{
		Level: level(settings), TimeFormat: time.DateTime, NoColor: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level >= slog.LevelWarn {
				l.warnings.Add(1)
			}
			return a
		},
	})
	slog.SetDefault(l.Log)
	return l, nil
}

// Close closes the file and says on w where to look if anything went wrong.
func (l *File) Close(w io.Writer) {
	switch n := l.warnings.Load(); {
	case n == 1:
		fmt.Fprintf(w, "switchboard: a warning is in %s\n", l.Path)
	case n > 1:
		fmt.Fprintf(w, "switchboard: %d warnings are in %s\n", n, l.Path)
	}
	l.file.Close()
}
