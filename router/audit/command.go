package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/words"
	"switchboard/router/commands"
)

// A Log lists its newest rows before a number; 0: from the newest of all.
type Log interface {
	Audit(ctx context.Context, f Filter, before int64, limit int) ([]Record, error)
}

const usage = "/audit shows the newest rows of the audit log. To pick some, add `person NAME`, `kind KIND` (turn, person, approval, tool, delivery …), `turn NUMBER` or `before NUMBER`."

// Command is the row of /audit.
func Command(log Log) commands.Command {
	return commands.Command{
		Name: "audit", Admin: true, Args: "[person|kind|turn|before …]", About: commands.Text{
			EN: "who did and decided what", DE: "wer was getan und entschieden hat", ES: "quién hizo y decidió qué",
			FR: "qui a fait et décidé quoi", IT: "chi ha fatto e deciso che cosa",
		},
		Run: func(ctx context.Context, c *commands.Call) (commands.Answer, error) {
			f, before, ok := filterOf(c.Args)
			if !ok {
				return commands.Says(usage), nil
			}
			rows, err := log.Audit(ctx, f, before, commands.Rows+1)
			if err != nil {
				return commands.Answer{}, err
			}
			return answerOf(rows, f, c), nil
		},
	}
}

// filterOf reads pairs of a word and what it picks.
func filterOf(args string) (f Filter, before int64, ok bool) {
	fields := strings.Fields(args)
	if len(fields)%2 != 0 {
		return f, 0, false
	}
	for i := 0; i < len(fields); i += 2 {
		value := fields[i+1]
		n, err := strconv.ParseInt(value, 10, 64)
		number := err == nil && n > 0
		switch strings.ToLower(fields[i]) {
		case "person":
			f.Person = value
		case "kind":
			f.Kind = strings.ToLower(value)
		case "turn":
			if f.Turn = n; !number {
				return f, 0, false
			}
		case "before":
			if before = n; !number {
				return f, 0, false
			}
		default:
			return f, 0, false
		}
	}
	return f, before, true
}

func answerOf(rows []Record, f Filter, c *commands.Call) commands.Answer {
	if len(rows) == 0 {
		return commands.Says("There is no such row in the audit log.")
	}
	rows, more := commands.Shown(rows)
	var b strings.Builder
	for i := range rows {
		b.WriteString("- " + lineOf(&rows[i], c) + "\n")
	}
	a := commands.Answer{Text: b.String(), Taint: tools.Label} // targets and reasons are in others' words
	if more {
		a.Buttons = []commands.Button{{Label: "Earlier", Command: commandOf(f) + fmt.Sprintf(" before %d", rows[len(rows)-1].ID)}}
	}
	return a
}

// commandOf is the command that has a filter.
func commandOf(f Filter) string {
	command := "audit"
	for _, pick := range []struct{ word, value string }{{"person", f.Person}, {"kind", f.Kind}} {
		if pick.value != "" {
			command += " " + pick.word + " " + pick.value
		}
	}
	if f.Turn != 0 {
		command += fmt.Sprintf(" turn %d", f.Turn)
	}
	return command
}

func lineOf(r *Record, c *commands.Call) string {
	short := func(s string) string { return render.Escape(words.OneLine(s, 80)) }
	line := r.At.In(c.Zone()).Format("2006-01-02 15:04 MST") + " "
	if r.Person != "" {
		line += short(r.Person) + " "
	}
	line += short(did(r, c.Conversation()))
	if end := end(r); end != "" {
		line += ": " + short(end)
	}
	if r.Turn != 0 && !strings.HasPrefix(r.Target, "turn ") {
		line += fmt.Sprintf(", turn %d", r.Turn)
	}
	if r.Cost > 0 {
		line += fmt.Sprintf(", cost %.4g", r.Cost)
	}
	return line
}
