package agent

import (
	"context"
	"fmt"
	"strings"

	"switchboard/agent/tools"
)

// workerTries is how often the worker is asked for a text that is not empty.
const workerTries = 2

// runMsg writes a msg task, once. The plan's last one ends the turn in the same
// commit.
func (r *run) runMsg(ctx context.Context, plan *PlanRow, i int) error {
	task := &plan.Tasks[i]
	if task.State == TaskDone {
		return nil
	}
	var step Step
	text := ""
	if task.Answer != nil {
		text = *task.Answer
	} else {
		call, err := r.write(ctx, plan, i)
		if err != nil {
			return err
		}
		if !r.answered(call.Step) {
			step.Calls = []Call{call}
		}
		text = call.Answer
	}
	step.Tasks = change(plan, i, TaskDone, &tools.Result{End: tools.EndOK, Taint: r.taint}).Tasks
	say := Say{Attempt: plan.Attempt, Position: i, Text: text, Choices: task.Choices, Taint: r.taint}
	if i < len(plan.Tasks)-1 {
		step.Say = []Say{say}
		return r.stage(ctx, step)
	}
	say.Final = r.reached(plan)
	for _, task := range plan.Tasks {
		if task.Result != nil && task.Result.End == tools.EndOK && task.Result.Code != "" {
			say.Made = append(say.Made, task.Result.Code)
		}
	}
	step.End = &End{State: "done", Outcome: "answered"}
	if r.quiet(text) {
		step.End.Outcome = "quiet"
		return r.commit(ctx, step)
	}
	if late := r.turn.Terms.Late; late != "" {
		say.Text += "\n\n" + late
	}
	step.Say = []Say{say}
	switch {
	case len(task.Choices) > 0:
		step.End.Outcome = "asked"
	case !say.Final:
		step.End.Outcome = "not_reached"
	}
	return r.commit(ctx, step)
}

// write has the worker write a msg. Its answer is the caller's to commit,
// together with the message.
func (r *run) write(ctx context.Context, plan *PlanRow, i int) (Call, error) {
	if plan.Tasks[i].State == TaskPending {
		if err := r.stage(ctx, change(plan, i, TaskRunning, nil)); err != nil {
			return Call{}, err
		}
	}
	for try := 1; try <= workerTries; try++ {
		call, err := r.ask(ctx, question{
			step: fmt.Sprintf("worker.%d.%d.%d", plan.Attempt, i, try), role: roleWorker, model: r.modelOf(roleWorker),
			prompt:  func(size int) (string, string) { return r.workerPrompt(plan, i, size) },
			partial: asWritten,
		})
		if err != nil {
			return Call{}, err
		}
		if strings.TrimSpace(call.Answer) != "" {
			return call, nil
		}
		call.Refused = "the answer is empty"
		if err := r.record(ctx, call, false); err != nil {
			return Call{}, err
		}
		if err := r.halted(ctx); err != nil {
			return Call{}, err
		}
	}
	return Call{}, &ending{
		state: "failed", outcome: "model_error",
		text: "I could not write the answer: the language model returned an empty text. Please try again.",
	}
}

// reached says that the plan shows its goal reached: every reviewed task passed.
// After a failure, words alone show nothing: they tell of it, or ask.
func (r *run) reached(plan *PlanRow) bool {
	reviewed := 0
	for _, task := range plan.Tasks {
		if task.Type == TaskMsg {
			continue
		}
		if task.Review == nil || task.Review.Status != "ok" {
			return false
		}
		reviewed++
	}
	return len(r.reasons()) == 0 || reviewed > 0
}
