// Package doctor says how the program and its channels are, to admins in a chat.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// A Finding is one line of what was looked at.
type Finding struct {
	Check string
	OK    bool
	Warn  bool // fine, but worth a second look
	Text  string
	Fix   string // what to do about it
}

// well says that a finding asks nothing of anybody.
func (f *Finding) well() bool { return f.OK && !f.Warn }

// line is a finding with what is to be done about it.
func (f *Finding) line() string {
	text := "- "
	switch {
	case !f.OK:
		text += "**FAIL** "
	case f.Warn:
		text += "**WARN** "
	}
	if f.Check != "" {
		text += f.Check + ": "
	}
	text += render.Escape(words.OneLine(f.Text, 300))
	if f.Fix != "" && !f.well() {
		text += " – fix: " + render.Escape(words.OneLine(f.Fix, 300))
	}
	return text
}

// Command is the row of /doctor. Examine looks at everything that the program needs, and says
// whether it came to the end before ctx did.
func Command(examine func(ctx context.Context) (found []Finding, whole bool)) commands.Command {
	return commands.Command{
		Name: "doctor", Admin: true, Args: "[all]", About: commands.Text{
			EN: "what is missing or not working", DE: "was ich brauche und nicht in Ordnung ist", ES: "lo que necesito y no está bien",
			FR: "ce dont j'ai besoin et qui ne va pas", IT: "ciò che mi serve e non va bene",
		},
		Run: func(_ context.Context, c *commands.Call) (commands.Answer, error) {
			all := strings.EqualFold(c.Args, "all")
			if c.Args != "" && !all {
				return commands.Says("`%[1]sdoctor` says what is not well, `%[1]sdoctor all` everything.", c.Slash), nil
			}
			return commands.Answer{
				Text: "Checking; I'll report here in a minute.",
				Background: func(ctx context.Context) commands.Answer {
					found, whole := examine(ctx)
					answer := commands.Answer{Text: report(found, whole, all), Taint: tools.Label}
					if !all {
						answer.Buttons = []commands.Button{{Label: "List all", Command: "doctor all"}}
					}
					return answer
				},
			}, nil
		},
	}
}

func report(found []Finding, whole, all bool) string {
	var b strings.Builder
	well := 0
	for i := range found {
		f := &found[i]
		if f.well() {
			well++
		}
		if all || !f.well() {
			b.WriteString(f.line() + "\n")
		}
	}
	said := fmt.Sprintf("%s, all ok.", words.Count(len(found), "check"))
	if well < len(found) {
		said = fmt.Sprintf("%s, %d ok.", words.Count(len(found), "check"), well)
	}
	if !whole {
		said += " Not everything answered in time."
	}
	b.WriteString("\n" + said)
	return b.String()
}
