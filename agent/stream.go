package agent

import "context"

// stream shows what the turn's next message says so far, and reports whether that is
// anything.
func (r *run) stream(ctx context.Context, text string) bool {
	text = tidy(text)
	if blankText(text) {
		text = ""
	}
	if text != r.streamed && !handedBack(ctx) {
		r.streamed = text
		r.journal.Stream(text)
	}
	return r.streamed != ""
}

// takeBack shows no longer what was streamed, because it is not what is said.
func (r *run) takeBack(ctx context.Context) { r.stream(ctx, "") }

// partial reads the beginnings of an answer of the question's role: given one, as much
// of the person's text as stands in it. Nil: nothing of it is for the person.
type partial func(answer string) string

// asWritten is the partial of a worker, who writes nothing but the text.
func asWritten() partial { return func(answer string) string { return answer } }

// readyAnswer is the partial of a planner. Of its plan the person sees the ready
// answer of the only task, and that only when all before it has passed validation:
// what stands behind it can then be no more than the ends of the plan, or a fault.
func (r *run) readyAnswer() partial {
	scan := &answerScan{accept: func(plan string) bool {
		// Read strictly, a plan with secrets is at fault.
		parsed, faults := parsePlan(plan, r.cfg.MaxPlanTasks, false)
		return len(faults) == 0 && ready(parsed) && len(r.validate(parsed)) == 0
	}}
	return scan.read
}
