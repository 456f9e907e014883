package console

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// historyLines is how many lines are remembered.
const historyLines = 1000

// lineBreak stands for a line break within an entry of the file: U+2028.
const lineBreak = "\u2028"

// history keeps what was written in a file that only its owner can read. It is used
// by one goroutine.
type history struct {
	lines []string // oldest first
	file  *os.File // nil: not kept
}

// openHistory reads the file at path and keeps it open for more; an empty path
// keeps nothing. On an error the history works in memory.
func openHistory(path string) (*history, error) {
	h := &history{}
	if path == "" {
		return h, nil
	}
	var kept []byte
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		h.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err == nil {
		err = h.file.Chmod(0o600)
	}
	if err == nil {
		kept, err = io.ReadAll(h.file)
	}
	for text := range strings.SplitSeq(string(kept), "\n") {
		if text != "" {
			h.lines = append(h.lines, strings.ReplaceAll(Printable(text), lineBreak, "\n"))
		}
	}
	if err != nil {
		h.close()
		h.file = nil
		return h, fmt.Errorf("keep the history: %w", err)
	}
	h.lines = slices.Clone(h.lines[max(0, len(h.lines)-historyLines):])
	return h, nil
}

// add remembers a line, unless it repeats the last one.
func (h *history) add(entry string) {
	if strings.TrimSpace(entry) == "" || (len(h.lines) > 0 && h.lines[len(h.lines)-1] == entry) {
		return
	}
	if h.lines = append(h.lines, entry); len(h.lines) > historyLines {
		h.lines = h.lines[1:]
	}
	// A full disk costs the history, not the talk; where nothing is kept, this does nothing.
	_, _ = h.file.WriteString(strings.ReplaceAll(entry, "\n", lineBreak) + "\n")
}

func (h *history) close() { _ = h.file.Close() }
