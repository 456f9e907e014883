package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"switchboard/agent/tools"
)

// commitTimeout is when a read or write of the journal is asked to end; a journal may go on
// with a commit that began.
const commitTimeout = time.Minute

// errTurnTimeout is the cause with which turn_timeout ends a turn's context.
var errTurnTimeout = errors.New("the turn took too long")

// A run is one Run: the turn, and a mirror of its rows. The mirror is what the
// journal holds plus what is staged, so the code asks it alone whether something
// was done already, in this process or in an earlier one.
type run struct {
	*Agent
	turn    Turn
	journal Journal
	log     *slog.Logger

	state *State
	calls map[string]Call // state.Calls by step
	taint tools.Taint     // of the turn so far
	// staged rides on the next commit. Nothing in it may be lost by a crash that
	// could not be had again from what is committed.
	staged Step

	streamed string // what the person sees of the next message already
}

func newRun(a *Agent, turn Turn, journal Journal, resumed *State) *run {
	state := *resumed // the mirror is ours, the journal's state is not
	state.Plans, state.Said, state.Added = nil, slices.Clone(resumed.Said), slices.Clone(resumed.Added)
	for _, plan := range resumed.Plans {
		state.Plans = append(state.Plans, *clonePlan(&plan))
	}
	r := &run{
		Agent: a, turn: turn, journal: journal, state: &state,
		log:   a.log.With("turn_id", turn.ID, "session_id", turn.Session.ID),
		calls: make(map[string]Call, len(state.Calls)),
	}
	if r.turn.StartedAt.IsZero() {
		r.turn.StartedAt = a.opts.Now()
	}
	for _, call := range state.Calls {
		r.calls[call.Step] = call
	}
	r.taint = contextTaint(turn, &state).Join(formerTaint(state.Former))
	for _, plan := range state.Plans {
		for _, task := range plan.Tasks {
			r.inherit(task.Result)
		}
	}
	return r
}

// contextTaint is the taint of what the planner reads: its plan derives from it.
func contextTaint(turn Turn, state *State) tools.Taint {
	taint := incomingTaint(turn.Message)
	for _, added := range state.Added {
		taint = taint.Join(incomingTaint(added.Incoming))
	}
	if turn.Session.Summary != "" {
		taint = taint.Join(turn.Session.SummaryTaint)
	}
	for _, fact := range state.Facts {
		taint = taint.Join(fact.Taint)
	}
	for _, question := range state.Questions {
		taint = taint.Join(question.Taint)
	}
	for i := range state.Recent {
		line := &state.Recent[i]
		taint = taint.Join(lineTaint(line, turn.Person.Name))
		if len(line.Attachments) > 0 { // their names are outside text
			taint = taint.Join("file")
		}
	}
	return taint
}

// inherit taints the turn by a task's result.
func (r *run) inherit(result *tools.Result) {
	if result != nil {
		r.taint = r.taint.Join(result.Taint)
	}
}

func (r *run) timeLeft() time.Duration {
	return r.turn.StartedAt.Add(r.timeout()).Sub(r.opts.Now())
}

// stage adds step to what rides on the next commit, and to the mirror.
func (r *run) stage(ctx context.Context, step Step) error {
	if (step.Plan != nil && r.staged.Plan != nil) || (step.Review != nil && r.staged.Review != nil) {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.mirror(step)
	s := &r.staged
	s.Calls = append(s.Calls, step.Calls...)
	for _, change := range step.Tasks {
		s.Tasks = slices.DeleteFunc(s.Tasks, func(c TaskChange) bool {
			return c.Attempt == change.Attempt && c.Position == change.Position
		})
		s.Tasks = append(s.Tasks, change)
	}
	s.Say = append(s.Say, step.Say...)
	s.Redact = append(s.Redact, step.Redact...)
	if step.Plan != nil {
		s.Plan = clonePlan(step.Plan)
	}
	if step.Review != nil {
		s.Review = step.Review
	}
	if step.End != nil {
		s.End, s.Ask = step.End, step.Ask
	}
	return nil
}

// commit writes step together with what is staged.
func (r *run) commit(ctx context.Context, step Step) error {
	if err := r.stage(ctx, step); err != nil {
		return err
	}
	return r.flush(ctx)
}

// flush commits what is staged, if anything.
func (r *run) flush(ctx context.Context) error {
	s := r.staged
	if s.Plan == nil && s.Review == nil && s.End == nil && len(s.Calls)+len(s.Tasks)+len(s.Say) == 0 {
		return nil
	}
	if handedBack(ctx) {
		return ErrHandBack
	}
	writing, done := steadfast(ctx)
	defer done()
	if err := r.journal.Commit(writing, s); err != nil {
		return fmt.Errorf("commit turn %d: %w", r.turn.ID, err)
	}
	if len(s.Say) > 0 {
		r.streamed = "" // the message stands in its place
	}
	r.staged = Step{}
	return nil
}

// mirror does to the mirror what the journal will do to the rows.
func (r *run) mirror(step Step) {
	for _, call := range step.Calls {
		r.calls[call.Step] = call
	}
	if step.Plan != nil {
		r.state.Plans = append(r.state.Plans, *clonePlan(step.Plan))
	}
	for _, change := range step.Tasks {
		task := r.task(change.Attempt, change.Position)
		task.State = change.State
		if change.Result != nil {
			task.Result = change.Result
			r.inherit(change.Result)
		}
	}
	if step.Review != nil {
		r.task(step.Review.Attempt, step.Review.Position).Review = step.Review
	}
	r.state.Said = append(r.state.Said, step.Say...)
}

// clonePlan copies a plan row so that the mirror's states do not show in the
// staged row, whose tasks are all pending.
func clonePlan(plan *PlanRow) *PlanRow {
	clone := *plan
	clone.Tasks = append([]TaskRow(nil), plan.Tasks...)
	return &clone
}

// planRow is the plan of that attempt; nil while there is none.
func (r *run) planRow(attempt int) *PlanRow {
	for i := range r.state.Plans {
		if r.state.Plans[i].Attempt == attempt {
			return &r.state.Plans[i]
		}
	}
	return nil
}

// task is a task of a plan that exists.
func (r *run) task(attempt, position int) *TaskRow {
	return &r.planRow(attempt).Tasks[position]
}

// lastAttempt is the newest plan's; 0 while there is none.
func (r *run) lastAttempt() int {
	last := 0
	for _, plan := range r.state.Plans {
		last = max(last, plan.Attempt)
	}
	return last
}

// halted says how the turn ends when its context has ended, nil while it lives.
func (r *run) halted(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case handedBack(ctx):
		return ErrHandBack
	case errors.Is(context.Cause(ctx), ErrCancelled):
		return &ending{state: "cancelled", outcome: "cancelled", text: "Cancelled."}
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return &ending{state: "cancelled", outcome: "interrupted", text: "Stopped for your newer message."}
	case errors.Is(context.Cause(ctx), ErrRestart):
		return ErrRestart
	default:
		return &ending{state: "failed", outcome: "timeout", text: fmt.Sprintf(
			"I stopped: this took longer than the %s that one request may take.", r.timeout())}
	}
}

// handedBack says that ctx ended for a reason after which nothing may be written.
func handedBack(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	cause := context.Cause(ctx)
	return !slices.ContainsFunc([]error{ErrCancelled, ErrInterrupted, ErrRestart, errTurnTimeout}, func(known error) bool {
		return errors.Is(cause, known)
	})
}

// steadfast returns a context for the journal: it outlives a person's cancel, what
// else people stop a turn for, and the turn's timeout, so that neither tears a commit, but not a hand-back.
func steadfast(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	stop := context.AfterFunc(ctx, func() {
		if handedBack(ctx) {
			cancel()
		}
	})
	return kept, func() { stop(); cancel() }
}
