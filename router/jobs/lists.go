package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/commands"
	"switchboard/scheduler"
)

// list is a page of jobs: "[all] [after NUMBER]".
func (d *Service) list(ctx context.Context, c *commands.Call, args []string) (commands.Answer, error) {
	a, command := asked(c), "jobs"
	of := a.person.Name
	if len(args) > 0 && args[0] == "all" {
		if !a.sees() {
			return commands.Says("Only admins can list everybody's jobs, and only in a direct chat."), nil
		}
		of, command, args = "", "jobs all", args[1:]
	}
	var after int64
	if len(args) == 2 && args[0] == "after" {
		after, _ = strconv.ParseInt(args[1], 10, 64)
	}
	shown, more, err := d.some(ctx, a, of, after, commands.Rows)
	if err != nil {
		return commands.Answer{}, err
	}
	answer := commands.Answer{Text: d.listed(shown, of == "" || a.conv.Kind != channels.Direct, after), Taint: taintOf(a.person.Name, shown...)}
	for i := range shown {
		answer.Buttons = append(answer.Buttons, commands.Button{
			Label: fmt.Sprint("Job ", shown[i].ID), Command: fmt.Sprint("jobs ", shown[i].ID), Beside: i%5 != 0,
		})
	}
	if more {
		answer.Buttons = append(answer.Buttons, commands.Button{Label: "More", Command: fmt.Sprintf("%s after %d", command, shown[len(shown)-1].ID)})
	}
	return answer, nil
}

// listed are jobs for people to read.
func (d *Service) listed(list []scheduler.Job, owners bool, after int64) string {
	var b strings.Builder
	switch {
	case len(list) == 0 && after > 0:
		b.WriteString("There are no others.\n")
	case len(list) == 0:
		b.WriteString("No reminders yet. Try: `remind me tomorrow at 9 to call Ann`.\n")
	}
	for i := range list {
		b.WriteString(line(&list[i], owners))
	}
	if off := d.WhenOff(); off != "" {
		b.WriteString("\n" + render.Escape(off))
	}
	return b.String()
}

func (d *Service) show(ctx context.Context, a *asking, id int64) (commands.Answer, error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return says(err, "")
	}
	return commands.Answer{Text: d.detail(job, a.owners(job), d.where(ctx, a, job)), Taint: taintOf(a.person.Name, *job), Buttons: jobButtons(job)}, nil
}

func (d *Service) history(ctx context.Context, a *asking, id, before int64) (commands.Answer, error) {
	job, err := d.job(ctx, a, id)
	if err != nil {
		return says(err, "")
	}
	runs, err := d.Ledger.Runs(ctx, id, before, commands.Rows+1)
	if err != nil {
		return commands.Answer{}, err
	}
	shown := runs[:min(len(runs), commands.Rows)]
	answer := commands.Answer{Text: runsOf(job, shown, before), Taint: taintOf(a.person.Name, *job)}
	if len(runs) > len(shown) {
		answer.Buttons = []commands.Button{{Label: "Earlier", Command: fmt.Sprintf("jobs %d history before %d", id, shown[len(shown)-1].ID)}}
	}
	return answer, nil
}

func runsOf(job *scheduler.Job, runs []scheduler.Run, before int64) string {
	if len(runs) == 0 && before == 0 {
		return fmt.Sprintf("Job %d has not run yet.", job.ID)
	} else if len(runs) == 0 {
		return "There are no earlier ones."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Job %d, times in %s:\n", job.ID, render.Escape(job.Spec.Zone))
	for i := range runs {
		b.WriteString(runLine(&runs[i], job.Spec.Zone))
	}
	return b.String()
}

// notifications lists what jobs told, and marks as read what is shown.
func (d *Service) notifications(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	if c.Conversation().Kind != channels.Direct {
		return commands.Says("Others would read it here: please ask in a direct chat with me."), nil
	}
	fields := strings.Fields(strings.ToLower(c.Args))
	all := len(fields) > 0 && fields[0] == "all"
	var before int64
	if len(fields) == 3 && fields[1] == "before" {
		before, _ = strconv.ParseInt(fields[2], 10, 64)
	}
	list, err := d.Ledger.Notifications(ctx, c.Person.Name, before, commands.Rows+1, !all)
	if err != nil {
		return commands.Answer{}, err
	}
	if len(list) == 0 && !all {
		return commands.Answer{
			Text: "There is nothing that you have not read.", Buttons: []commands.Button{{Label: "Show those I have read", Command: "notifications all"}},
		}, nil
	} else if len(list) == 0 {
		return commands.Says("There are none."), nil
	}
	shown := list[:min(len(list), commands.Rows)]
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
	if len(list) > len(shown) && all {
		answer.Buttons = []commands.Button{{Label: "Earlier", Command: fmt.Sprintf("notifications all before %d", shown[len(shown)-1].ID)}}
	} else if len(list) > len(shown) {
		answer.Buttons = []commands.Button{{Label: "More", Command: "notifications"}}
	}
	return answer, nil
}
