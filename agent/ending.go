package agent

import (
	"context"
	"fmt"
	"strings"

	"switchboard/agent/tools"
)

// An ending is how a turn ends other than by its plan's last message. It travels
// as an error to Run, which writes it.
type ending struct {
	state, outcome string
	text           string // for the person
	err            error  // for the operator; may be nil
	// whole: text says already what was done and what was not.
	whole bool
	// clean: the text and what led to it hold nothing of outside text.
	clean bool
}

func (e *ending) Error() string {
	if e.err != nil {
		return fmt.Sprintf("turn ends %s: %v", e.outcome, e.err)
	}
	return "turn ends " + e.outcome
}

func (e *ending) Unwrap() error { return e.err }

// close ends the turn in one commit: what is staged, the tasks that were still
// running, the notice, the end.
func (r *run) close(ctx context.Context, end *ending) error {
	switch {
	case end.outcome == "no_model": // every turn fails until somebody mends the settings
		r.log.ErrorContext(ctx, "turn failed", "outcome", end.outcome, "error", end)
	case end.state == "failed":
		r.log.WarnContext(ctx, "turn failed", "outcome", end.outcome, "error", end)
	}
	step := Step{Tasks: r.leftRunning(), End: &End{State: end.state, Outcome: end.outcome}}
	if err := r.stage(ctx, step); err != nil {
		return err
	}
	if r.unsaid(end) {
		return r.flush(ctx)
	}
	say := Say{Attempt: r.lastAttempt(), Position: -1, Notice: true, Text: end.text, Taint: r.taint}
	if end.clean {
		say.Taint = tools.Clean
	}
	if !end.whole {
		say.Text += r.account()
	}
	if job := r.turn.Terms.Job; job != 0 && end.state == "failed" { // nobody asked just now
		say.Text = fmt.Sprintf("Job %d (%s): %s", job, label(Task{Detail: r.turn.Message.Text}), say.Text)
	}
	return r.commit(ctx, Step{Say: []Say{say}})
}

// leftRunning settles tasks that an earlier process left running.
func (r *run) leftRunning() []TaskChange {
	var changes []TaskChange
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			if task.State != TaskRunning {
				continue
			}
			change := TaskChange{Attempt: plan.Attempt, Position: task.Position, Type: task.Type, State: TaskCancelled}
			if task.Type != TaskMsg {
				change.State, change.Result = TaskInterrupted, interrupted(r.taint)
			}
			changes = append(changes, change)
		}
	}
	return changes
}

// did: a task that is no message is done, or was begun.
func (r *run) did() bool {
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			if task.Type != TaskMsg && (task.State == TaskDone || task.State == TaskInterrupted) {
				return true
			}
		}
	}
	return false
}

// account tells in one line what the turn did and what it did not; empty when no
// plan held more than messages.
func (r *run) account() string {
	var done, stopped, open []string
	last := r.lastAttempt()
	for _, plan := range r.state.Plans {
		for _, task := range plan.Tasks {
			switch {
			case task.Type == TaskMsg:
			case task.State == TaskDone:
				done = append(done, told(task.Task))
			case task.State == TaskInterrupted || task.State == TaskCancelled && task.Result != nil:
				stopped = append(stopped, told(task.Task))
			case plan.Attempt == last:
				open = append(open, told(task.Task))
			}
		}
	}
	if len(done)+len(stopped)+len(open) == 0 {
		return ""
	}
	if len(done) == 0 {
		done = []string{"nothing"}
	}
	text := " Done: " + strings.Join(done, ", ")
	if len(stopped) > 0 {
		text += "; stopped midway: " + strings.Join(stopped, ", ")
	}
	if len(open) > 0 {
		text += "; not done: " + strings.Join(open, ", ")
	}
	return text + "."
}

// told names a task in a line for people.
func told(task Task) string {
	if task.Type == TaskTool && task.Detail != "" {
		task.Tool = nil
		task.Detail = strings.TrimSuffix(task.Detail, ".")
	}
	return label(task)
}

// label names a task in a line of a prompt.
func label(task Task) string {
	text := task.Detail
	if task.Type == TaskTool && task.Tool != nil {
		text = *task.Tool + ": " + text
	}
	text = strings.ReplaceAll(clip(strings.Join(strings.Fields(text), " "), 80), "`", "'")
	return "`" + text + "`"
}

// clip shortens text to about limit bytes: its beginning, a mark, its end.
func clip(text string, limit int) string {
	if limit < 200 {
		if len(text) <= limit {
			return text
		}
		return strings.ToValidUTF8(text[:limit*2/3], "") + " …"
	}
	return tools.Shorten(text, limit*2/3, limit/3)
}
