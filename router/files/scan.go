package files

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"switchboard/internal/words"
)

// scanTimeout is how long a scanner may look at one file.
const scanTimeout = time.Minute

// A scanner judges files with a command of the operator: its words, split at blanks,
// and the file's path as the last argument; no shell. Exit status 0 says that the
// file is clean. Anything else holds it back, also that the command cannot be run.
type scanner struct {
	command []string // empty: every file is clean
	timeout time.Duration
}

func newScanner(command string) scanner {
	return scanner{command: strings.Fields(command), timeout: scanTimeout}
}

// judge says why the file may not be handed out; empty: it may. An error says that
// ctx ended first.
func (s scanner) judge(ctx context.Context, path string) (reason string, err error) {
	if len(s.command) == 0 {
		return "", nil
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, s.command[0], append(s.command[1:len(s.command):len(s.command)], path)...)
	// The settings' secrets are in our environment, and none of a scanner's business.
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	endAll(cmd)
	cmd.WaitDelay = 2 * time.Second
	out := head{most: 1024} // as far as a person reads
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	switch exit, ended := errors.AsType[*exec.ExitError](err); {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "the scanner did not come to an end within " + s.timeout.String(), nil
	case ended && firstLine(out.bytes) != "":
		return "the scanner says: " + firstLine(out.bytes), nil
	case ended:
		return "the scanner refused it without a word (" + exit.String() + ")", nil
	default: // not started, or its output was held open
		return "the scanner could not be run: " + oneLine(err.Error()), nil
	}
}

// TryScanner has a scan command, as written in the settings, judge the file at path in
// the way of those that come in. Reason says what keeps the file back; empty: nothing
// does. The error is ctx's.
func TryScanner(ctx context.Context, command, path string) (reason string, err error) {
	return newScanner(command).judge(ctx, path)
}

// firstLine is the first line that is not blank.
func firstLine(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if line = oneLine(line); line != "" {
			return line
		}
	}
	return ""
}

// oneLine makes words of others fit for a sentence of ours.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return words.OneLine(text, 200)
}
