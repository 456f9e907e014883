package testkit

import (
	"bytes"
	"strings"
	"sync"
)

// A Log takes what is written while a test reads it.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Has says whether text was written.
func (l *Log) Has(text string) bool { return strings.Contains(l.String(), text) }

// Count counts the lines that hold all the words.
func (l *Log) Count(words ...string) (n int) {
	for line := range strings.Lines(l.String()) {
		has := true
		for _, w := range words {
			has = has && strings.Contains(line, w)
		}
		if has {
			n++
		}
	}
	return n
}
