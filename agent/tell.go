package agent

import (
	"context"
	"fmt"

	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// workerTries is how often the worker is asked for a text that is not empty.
const workerTries = 2

// A teller writes what the turn says.
type teller struct{ *asker }

// tell writes a msg task, once. The plan's last one ends the turn in the same
// commit.
func (t *teller) tell(ctx context.Context, plan *PlanRow, i int) error {
	task := &plan.Tasks[i]
	if task.State == TaskDone {
		return nil
	}
	text := deref(task.Answer)
	if task.Answer == nil {
		var err error
		if text, err = t.write(ctx, plan, i); err != nil {
			return err
		}
	}
	step := Step{Tasks: []TaskChange{change(plan, i, TaskDone, &tools.Result{End: tools.EndOK, Taint: t.taint})}}
	say := Say{Attempt: plan.Attempt, Position: i, Text: text, Choices: task.Choices, Taint: t.taint}
	if i < len(plan.Tasks)-1 {
		step.Say = []Say{say}
		return t.stage(ctx, step)
	}
	say.Final = t.reached(plan)
	for _, task := range plan.Tasks {
		if task.Result != nil && task.Result.End == tools.EndOK && task.Result.Code != "" {
			say.Made = append(say.Made, task.Result.Code)
		}
	}
	step.End = &End{State: "done", Outcome: "answered"}
	if t.quiet(text) {
		step.End.Outcome = "quiet"
		return t.commit(ctx, step)
	}
	if late := t.turn.Limits.Late; late != "" {
		say.Text += "\n\n" + late
	}
	step.Say = []Say{say}
	switch {
	case len(task.Choices) > 0:
		step.End.Outcome = "asked"
	case !say.Final:
		step.End.Outcome = "not_reached"
	}
	return t.commit(ctx, step)
}

// write has the worker write a msg, whose answer is committed together with the message.
func (t *teller) write(ctx context.Context, plan *PlanRow, i int) (text string, err error) {
	if plan.Tasks[i].State == TaskPending {
		if err := t.settle(ctx, plan, i, TaskRunning, nil); err != nil {
			return "", err
		}
	}
	ok, err := t.askUntil(ctx, workerTries, question{
		step: fmt.Sprintf("worker.%d.%d", plan.Attempt, i), role: roleWorker,
		prompt:  func(size int) (string, string) { return t.prompts.workerPrompt(plan, i, size) },
		partial: asWritten,
	}, func(call Call) (faults []string, ride bool, err error) {
		if text = call.Answer; blankText(text) {
			return []string{"the answer is empty"}, false, nil
		}
		return nil, true, nil
	})
	if err == nil && !ok {
		err = failure("model_error", "I could not write the answer: the language model returned an empty text. Please try again.")
	}
	return text, err
}

// quiet says that an answer has nothing to say, and is not sent: however that is written, and
// whatever stands behind it.
func (t *teller) quiet(text string) bool {
	return t.turn.Limits.Quiet && nothingToSay().MatchString(text)
}

var nothingToSay = words.Pattern(`(?i)^[^\pL\pN]*nothing[\s_-]*to[\s_-]*say([^\pL\pN]|$)`)
