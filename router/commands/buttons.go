package commands

import (
	"fmt"
	"slices"
	"strings"

	"switchboard/channels/render"
	"switchboard/router/core"
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

// Shown is as much of a list as an answer has; more: there are others.
func Shown[T any](list []T) (shown []T, more bool) {
	return list[:min(len(list), Rows)], len(list) > Rows
}

// A Button gives a command when it is pressed, once.
type Button = core.Button

// typedLeads begin the lines that stand for buttons, by their labels, or by how those begin.
var typedLeads = map[string]string{
	"More": "To see more", "Earlier": "To see earlier ones", "History": "To see its history", "List all": "To list all",
	"Show those I have read": "To see those you have read",
	"Change":                 "To be asked for another time", "Cancel": "To cancel it", "Pause": "To pause it", "Resume": "To resume it", "Run now": "To run it now",
	"Skip next": "To skip the next time", "Delete": "To delete it", "Test": "To test it", "Enable": "To switch it on", "Disable": "To switch it off",
	"Confirm": "To confirm it", "Undo": "To undo it", "Retry": "To retry", "Drop": "To drop", "Remove": "To remove", "Allow": "To allow",
	"Job": "More about",
}

// typedChoices begin the line that stands for the values of a command.
var typedChoices = map[string]string{"mode": "To switch", "model": "To switch", "timezone": "To set your time zone"}

// typedLine is a line that stands for the buttons that do the same to several things.
type typedLine struct {
	lead, stem string
	things     []string
	choice     string // the line is this; empty: it is made of the others
}

// TypedOut are buttons as lines that say what to type instead: of a choice its number. Those that do the same to several
// things, and are labelled by them, are one line.
func TypedOut(buttons []Button) string {
	var lines []*typedLine
	at := map[string]*typedLine{} // by the command without the thing
	for i, b := range buttons {
		if b.Asks {
			continue
		} else if b.Either {
			lines = append(lines, &typedLine{choice: fmt.Sprintf("%d. %s", i+1, render.Escape(b.Label))})
			continue
		}
		l := typedOf(b)
		if of := at[l.stem]; of != nil && len(l.things) > 0 {
			of.things = append(of.things, l.things...)
			continue
		}
		if len(l.things) > 0 {
			at[l.stem] = l
		}
		lines = append(lines, l)
	}
	var b strings.Builder
	for i, l := range lines {
		b.WriteString(map[bool]string{true: "\n\n", false: "\n"}[i == 0] + l.String())
	}
	return b.String()
}

// typedOf is the line that stands for a button alone.
func typedOf(b Button) *typedLine {
	word, rest, _ := strings.Cut(b.Command, " ")
	if lead := typedChoices[word]; lead != "" && typedLeads[b.Label] == "" {
		return &typedLine{lead: lead, stem: word + " ", things: []string{rest}}
	}
	thing := b.Command[strings.LastIndexByte(b.Command, ' ')+1:]
	if strings.HasSuffix(b.Command, " "+b.Label) { // of several words
		thing = b.Label
	}
	if verb, ok := strings.CutSuffix(b.Label, " "+thing); ok {
		return &typedLine{lead: typedLead(verb), stem: strings.TrimSuffix(b.Command, thing), things: []string{thing}}
	}
	return &typedLine{lead: typedLead(b.Label), stem: b.Command}
}

func typedLead(label string) string {
	if lead := typedLeads[label]; lead != "" {
		return lead
	}
	for verb, lead := range typedLeads {
		if rest, ok := strings.CutPrefix(label, verb+" "); ok {
			return lead + " " + rest
		}
	}
	return label
}

func (l *typedLine) String() string {
	if l.choice != "" {
		return l.choice
	}
	lead, command := l.lead, l.stem
	choice := strings.TrimSpace(l.stem)
	switch n := len(l.things); {
	case typedChoices[choice] == lead && n > 1:
		command += "and one of " + strings.Join(l.things, ", ")
	case typedChoices[choice] == lead && n == 1:
		command += l.things[0]
	case n == 1:
		lead, command = lead+" "+l.things[0], command+l.things[0]
	case n > 1 && strings.Contains(l.things[0], ":"):
		lead, command = lead+" one", command+"IDENTITY"
	case n > 1 && strings.Trim(l.things[0], "0123456789") == "":
		lead, command = lead+" one", command+"NUMBER"
	case n > 1:
		lead, command = lead+" one", command+"NAME"
	}
	return render.Escape(lead) + ": /" + render.Escape(command)
}
