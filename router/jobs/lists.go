package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/router/commands"
)

// list is a page of jobs: "[all] [after NUMBER]".
func (d *Service) list(ctx context.Context, c *commands.Call, args []string) (commands.Answer, error) {
	a, command := calling(c), "jobs"
	of := a.person.Name
	if len(args) > 0 && args[0] == "all" {
		if !a.sees() {
			return commands.Says("Only admins can list everybody's jobs, and only in a direct chat."), nil
		}
		of, command, args = "", "jobs all", args[1:]
	}
	shown, more, text, err := d.page(ctx, a, of, numberBehind("after", args), commands.Rows)
	if err != nil {
		return commands.Answer{}, err
	}
	answer := commands.Answer{Text: text, Taint: taintOf(a.person.Name, shown...)}
	for i := range shown {
		button := listButton(&shown[i])
		button.Beside = i%5 != 0
		answer.Buttons = append(answer.Buttons, button)
	}
	if more {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: "More", Command: fmt.Sprintf("%s after %d", command, shown[len(shown)-1].ID)})
	}
	return answer, nil
}

// numberBehind is the number in arguments that are a word and a number; 0: they are none.
func numberBehind(word string, args []string) (n int64) {
	if len(args) == 2 && args[0] == word {
		n, _ = strconv.ParseInt(args[1], 10, 64)
	}
	return n
}

// show shows a job or its history, or asks when it is to be.
func (d *Service) show(ctx context.Context, a *caller, id int64, verb, more string) (commands.Answer, error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return says(err, "")
	}
	switch verb {
	case "history":
		before, _ := strconv.ParseInt(strings.TrimPrefix(more, "before "), 10, 64)
		runs, err := d.Store.Runs(ctx, id, before, commands.Rows+1)
		if err != nil {
			return commands.Answer{}, err
		}
		shown, more := commands.Shown(runs)
		answer := commands.Answer{Text: runsOf(job, shown, before), Taint: taintOf(a.person.Name, *job)}
		if more {
			answer.Buttons = []commands.Button{{Label: "Earlier", Command: fmt.Sprintf("jobs %d history before %d", id, shown[len(shown)-1].ID)}}
		}
		return answer, nil
	case "when":
		answer := commands.Says("When should it be? Write a time, as in “tomorrow at 10”. \"%sjobs %d text …\" changes what it says.", a.slash, id)
		answer.Buttons = append(jobButtons(job), nextWhen(id))
		return answer, nil
	}
	return commands.Answer{Text: d.detail(ctx, a, job), Taint: taintOf(a.person.Name, *job), Buttons: jobButtons(job)}, nil
}

// notifications lists what jobs told, and marks as read what is shown.
func (d *Service) notifications(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if !c.Direct() {
		return commands.Says("Others would read it here: please ask in a direct chat with me."), nil
	}
	fields := strings.Fields(strings.ToLower(c.Args))
	all := len(fields) > 0 && fields[0] == "all"
	list, err := d.Store.Notifications(ctx, c.Person.Name, numberBehind("before", fields[min(len(fields), 1):]), commands.Rows+1, !all)
	switch {
	case err != nil:
		return commands.Answer{}, err
	case len(list) == 0 && all:
		return commands.Says("There are none."), nil
	case len(list) == 0:
		return commands.Answer{
			Text: "There is nothing that you have not read.", Buttons: []commands.Button{{Label: "Show those I have read", Command: "notifications all"}},
		}, nil
	}
	shown, more := commands.Shown(list)
	var b strings.Builder
	var taint tools.Taint
	read := &NotificationsRead{Person: c.Person.Name}
	for i := range shown {
		mark := ""
		taint = taint.Join(shown[i].Taint)
		if shown[i].Read.IsZero() {
			mark = "**new** "
			read.IDs = append(read.IDs, shown[i].ID)
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", mark, shown[i].At.In(c.Zone()).Format("Mon 2 Jan 15:04 MST"), short(shown[i].Text, 300))
	}
	answer := commands.Answer{Text: b.String(), Taint: taint}
	if len(read.IDs) > 0 {
		answer.Change = read
	}
	if more && all {
		answer.Buttons = []commands.Button{{Label: "Earlier", Command: fmt.Sprintf("notifications all before %d", shown[len(shown)-1].ID)}}
	} else if more {
		answer.Buttons = []commands.Button{{Label: "More", Command: "notifications"}}
	}
	return answer, nil
}
