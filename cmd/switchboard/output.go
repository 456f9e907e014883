package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"

	"switchboard/channels/console"
	"switchboard/internal/words"
	"switchboard/scheduler"
)

// jsonFlag is the flag of commands whose output programs can read.
type jsonFlag struct {
	JSON bool `name:"json" help:"As JSON."`
}

// printJSON writes value with all in escapes that could command a terminal or turn the
// direction of its text: it says the same to programs.
func printJSON(w io.Writer, value any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	var safe bytes.Buffer
	for _, r := range out.String() {
		if r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	_, err := w.Write(safe.Bytes())
	return err
}

// printRows prints rows in columns, or as JSON.
func printRows[T any](w io.Writer, asJSON bool, head string, rows []T, cells func(T) []any) error {
	if asJSON && rows == nil {
		rows = []T{} // not null
	}
	if asJSON {
		return printJSON(w, rows)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, head)
	for _, row := range rows {
		columns := cells(row)
		fmt.Fprintf(tw, strings.Repeat("%v\t", len(columns)-1)+"%v\n", columns...)
	}
	return tw.Flush()
}

// inZone is a time on the clock of a zone, which it says.
func inZone(t time.Time, zone string) string {
	of, err := scheduler.Zone(zone)
	if err != nil {
		of = time.UTC
	}
	return t.In(of).Format(words.Stamp)
}

// oneLine puts text on one line of at most n runes.
func oneLine(text string, n int) string {
	return words.OneLine(console.Printable(text), n)
}

// onTerminal says whether a person sits in front of this command. The terminal of a job
// in the background is for others.
func (a *app) onTerminal() bool {
	return isTerminal(a.in) && isTerminal(a.out) && console.InForeground(a.in)
}

// isFed says that somebody else's output or a file is the input: neither a terminal
// nor a device such as /dev/null.
func isFed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
