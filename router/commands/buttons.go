package commands

import (
	"fmt"
	"slices"
	"strings"

	"switchboard/channels/render"
	"switchboard/router/ledger"
)

// Rows is how many rows of a list one answer has; a button goes on to the others.
const Rows = 10

// Page is as many names of a list as an answer has, from the one behind after on; where that is
// none of them, from the first. Last is the last of them if more follow.
func Page(list []string, after string) (page []string, last string) {
	page = list[slices.Index(list, after)+1:]
	if len(page) <= Rows {
		return page, ""
	}
	return page[:Rows], page[Rows-1]
}

// A Button gives a command when it is pressed, once.
type Button = ledger.Button

// TypedOut are buttons as lines that say what to type instead: of a choice its number. Those that do the same to several
// things, and are labelled by them, are one line.
func TypedOut(buttons []Button) string {
	var lines []string
	at := map[string]int{} // by the command without the thing
	for i, b := range buttons {
		if b.Asks {
			continue
		} else if b.Either {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, render.Escape(b.Label)))
			continue
		}
		thing := b.Command[strings.LastIndexByte(b.Command, ' ')+1:]
		if strings.HasSuffix(b.Command, " "+b.Label) { // of several words
			thing = b.Label
		}
		verb, several := strings.CutSuffix(" "+b.Label, " "+thing)
		stem := strings.TrimSuffix(b.Command, thing)
		if i, ok := at[stem]; ok && several {
			lines[i] += ", " + render.Escape(thing)
			continue
		}
		if several {
			at[stem] = len(lines)
		}
		lines = append(lines, strings.TrimPrefix(render.Escape(strings.TrimSpace(verb))+": /", ": ")+render.Escape(b.Command))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\n" + strings.Join(lines, "\n")
}
