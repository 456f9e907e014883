package main

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

// A logFile is data_dir/switchboard.log: where an engine writes that runs under a
// chat or another command, whose terminal and pipes belong to the person.
type logFile struct {
	log      *slog.Logger
	path     string
	file     *os.File
	warnings atomic.Int64
}

// openLog opens the file, readable by its owner alone; text where log.format asks for
// it, else JSON.
func openLog(settings *configs.Settings) (*logFile, error) {
	if err := settings.MakeDataDir(); err != nil {
		return nil, err
	}
	l := &logFile{path: filepath.Join(settings.DataDir, "switchboard.log")}
	if info, err := os.Stat(l.path); err == nil && info.Size() > longestLog {
		if err := os.Rename(l.path, l.path+".old"); err != nil {
			return nil, fmt.Errorf("set the log file aside: %w", err)
		}
	}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open the log file: %w", err)
	}
	l.log = newLog(l.file, settings.Log.Format, tint.Options{
		Level: levelOf(settings), TimeFormat: time.DateTime, NoColor: true,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level >= slog.LevelWarn {
				l.warnings.Add(1)
			}
			return a
		},
	})
	slog.SetDefault(l.log)
	return l, nil
}

// close closes the file and says on w where to look if anything went wrong.
func (l *logFile) close(w io.Writer) {
	switch n := l.warnings.Load(); {
	case n == 1:
		fmt.Fprintf(w, "switchboard: a warning is in %s\n", l.path)
	case n > 1:
		fmt.Fprintf(w, "switchboard: %d warnings are in %s\n", n, l.path)
	}
	l.file.Close()
}
