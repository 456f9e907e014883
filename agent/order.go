package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// An Order is a tool that the person called by its name. It is the one task of its turn, which no
// model plans, reviews or tells of; the gate, approvals and the journal treat it like any other.
type Order struct {
	Tool string // a registry name, or tools.ExecName
	Args string // JSON
}

// obey is answer for a turn with an order.
func (r *run) obey(ctx context.Context) error {
	if r.planRow(0) == nil {
		row := PlanRow{Goal: "/tool " + r.turn.Order.Tool, Tasks: []TaskRow{{Task: r.tasks.ordered(), State: TaskPending}}}
		if err := r.stage(ctx, Step{Plan: &row}); err != nil {
			return err
		}
	}
	plan := r.planRow(0)
	if err := r.halted(ctx); err != nil {
		return err
	}
	if err := r.served(ctx, plan, 0); err != nil {
		return err
	}
	if err := r.tasks.act(ctx, plan, 0); err != nil {
		return err
	}
	task := &plan.Tasks[0]
	end := End{State: "done", Outcome: "not_reached"}
	if task.State == TaskDone {
		end.Outcome = "answered"
	}
	return r.commit(ctx, Step{
		Say: []Say{{Text: report(task), Final: task.State == TaskDone, Taint: r.taint}}, End: &end,
	})
}

// ordered is the task of an order. Faults in its arguments, or a tool that is gone, refuse it as it runs.
func (t *tasks) ordered() Task {
	o := *t.turn.Order
	if complete, _, fault := t.rights.toolbox.Typed(o.Tool, json.RawMessage(o.Args)); fault == nil {
		o.Args = string(complete)
	}
	if o.Tool == tools.ExecName {
		return Task{Type: TaskExec, Detail: argument(o.Args, "command")}
	}
	return Task{Type: TaskTool, Detail: "Use the tool " + o.Tool, Tool: &o.Tool, Args: &o.Args}
}

// report tells what became of an ordered task.
func report(task *TaskRow) string {
	name, result := tools.ExecName, task.Result
	if task.Type == TaskTool {
		name = deref(task.Tool)
	}
	name = words.Escape(name)
	output, hint := verbatim(task, result.Output), words.Escape(result.Hint)
	var b strings.Builder
	switch {
	case task.State == TaskInterrupted:
		fmt.Fprintf(&b, "%s was cut off.", name)
	case result.End == tools.EndRefused:
		fmt.Fprintf(&b, "I did not run %s", name)
		if result.Rule != "" {
			fmt.Fprintf(&b, " (rule %s)", words.Escape(result.Rule))
		}
		b.WriteString(".")
	case result.End != tools.EndOK:
		fmt.Fprintf(&b, "%s did not work (%s).", name, words.Escape(strings.ReplaceAll(result.Code, "_", " ")))
	case output == "":
		fmt.Fprintf(&b, "%s is done, and it printed nothing.", name)
	}
	for _, text := range []string{output, hint} {
		if text != "" && b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	return b.String()
}

// verbatim is an output in Markdown that shows it as it is: JSON and what is laid out by spaces as code.
func verbatim(task *TaskRow, output string) string {
	output = strings.TrimRight(output, " \t\r\n")
	var indented bytes.Buffer
	switch {
	case strings.TrimSpace(output) == "":
		return ""
	case strings.ContainsAny(output[:1], "{[") && json.Indent(&indented, []byte(output), "", "  ") == nil:
		return words.Fenced("json", indented.String())
	case task.Type == TaskExec, strings.Contains(output, "\n "), strings.Contains(output, "\t"):
		return words.Fenced("", output)
	case task.Result.Taint == tools.Clean && strings.Contains(output, "](attachment:"): // the file goes along
		return output
	}
	return words.Escape(output)
}
