package commands

import (
	"strings"

	"switchboard/channels/render"
	"switchboard/router/ledger"
)

// A Button gives a command when it is pressed, once.
type Button = ledger.Button

// TypedOut are buttons as lines that say what to type instead. Those that do the same to several
// things, and are labelled by them, are one line.
func TypedOut(buttons []Button) string {
	var lines []string
	at := map[string]int{} // by the command without the thing
	for _, b := range buttons {
		thing := b.Command[strings.LastIndexByte(b.Command, ' ')+1:]
		verb, several := strings.CutSuffix(b.Label, " "+thing)
		stem := strings.TrimSuffix(b.Command, thing)
		if i, ok := at[stem]; ok && several {
			lines[i] += ", " + render.Escape(thing)
			continue
		}
		if several {
			at[stem] = len(lines)
		}
		lines = append(lines, render.Escape(verb)+": /"+render.Escape(b.Command))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}
