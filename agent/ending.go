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

func failure(outcome, text string) *ending {
	return &ending{state: "failed", outcome: outcome, text: text}
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
	case end.outcome == "no_model": // every turn fails until somebody fixes the settings
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
	if job := r.turn.Limits.Job; job != 0 && end.state == "failed" { // nobody asked just now
		say.Text = fmt.Sprintf("Job %d (%s): %s", job, label(Task{Detail: r.turn.Message.Text}), say.Text)
	}
	return r.commit(ctx, Step{Say: []Say{say}})
}

// unsaid says that nobody is told of an ending. What is hopeless, or would be done a second time, is not
// tried again, so that a silent turn says it.
func (r *run) unsaid(end *ending) bool {
	limits := &r.turn.Limits
	return end.state == "failed" && (limits.Quiet || limits.Silent && !r.rights.acted() && !Hopeless(end.outcome))
}

// Hopeless says that another try of a turn that failed with this outcome would only repeat it.
func Hopeless(outcome string) bool { return outcome == "over_limit" || outcome == "not_served" }

// account tells in one line what the turn did and what it did not; empty when no
// plan held more than messages.
func (r *record) account() string {
	var done, stopped, open []string
	last := r.lastAttempt()
	for plan, task := range tasksOf(r.Plans) {
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

// giveUp is the honest end: what was tried, and why it failed.
func (r *record) giveUp(outcome, why string) *ending {
	var text strings.Builder
	fmt.Fprintf(&text, "I did not get this done: %s\n\nWhat I tried:\n", clip(r.Plans[0].Goal, 300))
	for _, task := range tasksOf(r.Plans) {
		switch {
		case task.Review == nil:
		case task.Review.Status == "ok":
			fmt.Fprintf(&text, "- %s worked\n", told(task.Task))
		default:
			reason := clip(strings.Join(strings.Fields(task.Review.Reason), " "), 500)
			fmt.Fprintf(&text, "- %s failed: %s\n", told(task.Task), strings.TrimRight(reason, ".!"))
		}
	}
	fmt.Fprintf(&text, "\nI stopped because %s.", why)
	return &ending{state: "failed", outcome: outcome, text: text.String(), whole: true}
}
