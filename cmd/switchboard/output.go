package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
	"unicode"

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
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			fmt.Fprint(tw, cell)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// stamp is how a time is written.
const stamp = "2006-01-02 15:04:05 MST"

// inZone is a time on the clock of a zone, which it says.
func inZone(t time.Time, zone string) string {
	of, err := scheduler.Zone(zone)
	if err != nil {
		of = time.UTC
	}
	return t.In(of).Format(stamp)
}

func at(t time.Time) string { return t.Local().Format(stamp) }

// oneLine puts text on one line of at most n runes.
func oneLine(text string, n int) string {
	return words.OneLine(console.Printable(text), n)
}
