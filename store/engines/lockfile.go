package engines

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"switchboard/store/database"
)

// ErrRunning is returned by Start while another process is the
// engine of the same SQLite file. The error is an *RunningError.
var ErrRunning = errors.New("an engine is running on this database")

// RunningError names the engine that holds the lock file.
type RunningError struct {
	PID     int   // 0: not known
	Owner   int64 // its owner row; 0: it is just starting
	Passing bool  // it will end by itself in a moment
}

func (e *RunningError) Error() string {
	if e.PID == 0 {
		return ErrRunning.Error()
	}
	return fmt.Sprintf("%s: process %d, owner %d. Stop the running bot first", ErrRunning, e.PID, e.Owner)
}

func (e *RunningError) Is(target error) bool { return target == ErrRunning }

// A lockFile is held by a lock of the kernel, which ends with the process. The
// file stays: to remove it would let two processes lock two files of one name.
// A nil lockFile (PostgreSQL) holds nothing.
type lockFile struct {
	mu      sync.Mutex
	f       *os.File // nil once released
	passing bool     // told to whoever finds the file locked
}

// Alone takes the lock file of an SQLite database without being its engine, until release is
// called. ErrRunning: an engine runs.
func Alone(path string) (release func(), err error) {
	l, err := takeLockFile(path+".lock", false)
	if err != nil {
		return nil, err
	}
	return func() { _ = l.release() }, nil
}

func takeLockFile(path string, passing bool) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file %s: %w", path, database.PathCause(err))
	}
	if err := database.Flock(f, database.Alone); err != nil {
		defer f.Close()
		if !errors.Is(err, database.ErrLocked) {
			return nil, fmt.Errorf("lock file: %w", err)
		}
		other := &RunningError{}
		if text, err := os.ReadFile(path); err == nil {
			_, _ = fmt.Fscan(strings.NewReader(string(text)), &other.PID, &other.Owner, &other.Passing)
		}
		return nil, other
	}
	l := &lockFile{f: f, passing: passing}
	if err := l.write(0); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// write tells others who holds the lock.
func (l *lockFile) write(owner int64) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.f.Truncate(0); err != nil {
		return fmt.Errorf("lock file: %w", err)
	}
	// A full disk must not keep an engine from starting: the words are a courtesy.
	_, _ = l.f.WriteAt(fmt.Appendf(nil, "%d %d %t\n", os.Getpid(), owner, l.passing), 0)
	return nil
}

func (l *lockFile) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f != nil
}

func (l *lockFile) release() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	return errors.Join(f.Truncate(0), database.Unlock(f))
}
