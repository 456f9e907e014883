package agent

import (
	"cmp"
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

// errParked is how the work on a turn ends that waits, for a decision, a model or its person: another
// Run goes on.
var errParked = errors.New("the turn waits")

// A writer commits what the turn adds, a step at a time.
type writer struct {
	*record
	journal Journal
	log     *slog.Logger
	// staged rides on the next commit. Nothing in it may be lost by a crash that
	// could not be had again from what is committed.
	staged   Step
	streamed string // what the person sees of the next message already
}

// stage adds step to what rides on the next commit, and to the mirror.
func (w *writer) stage(ctx context.Context, step Step) error {
	if (step.Plan != nil && w.staged.Plan != nil) || (step.Review != nil && w.staged.Review != nil) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.mirror(step)
	s := &w.staged
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
		s.Plan = new(clonePlan(step.Plan))
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
func (w *writer) commit(ctx context.Context, step Step) error {
	if err := w.stage(ctx, step); err != nil {
		return err
	}
	return w.flush(ctx)
}

// flush commits what is staged, if anything.
func (w *writer) flush(ctx context.Context) error {
	s := w.staged
	if s.Plan == nil && s.Review == nil && s.End == nil && len(s.Calls)+len(s.Tasks)+len(s.Say) == 0 {
		return nil
	}
	if released(ctx) {
		return ErrReleased
	}
	writing, done := journalContext(ctx)
	defer done()
	if err := w.journal.Commit(writing, s); err != nil {
		return fmt.Errorf("commit turn %d: %w", w.turn.ID, err)
	}
	if len(s.Say) > 0 {
		w.streamed = "" // the message stands in its place
	}
	w.staged = Step{}
	return nil
}

// settle stages a task's result.
func (w *writer) settle(ctx context.Context, plan *PlanRow, i int, state TaskState, result *tools.Result) error {
	return w.stage(ctx, Step{Tasks: []TaskChange{change(plan, i, state, result)}})
}

// keep makes sure that an answer is committed before anything follows from it.
// With ride it is only staged: all that follows is in the same commit.
func (w *writer) keep(ctx context.Context, call Call, ride bool) error {
	if w.answered(call.Step) {
		return nil
	}
	step := Step{Calls: []Call{call}}
	if ride {
		return w.stage(ctx, step)
	}
	return w.commit(ctx, step)
}

// park commits a step with which the work on the turn ends for now.
func (w *writer) park(ctx context.Context, step Step) error {
	if err := w.halted(ctx); err != nil {
		return err
	}
	err := w.commit(ctx, step)
	if errors.Is(err, ErrCancelled) {
		w.staged = Step{}
		return cmp.Or(w.halted(ctx), cancelled())
	}
	return cmp.Or(err, errParked)
}

// unserved ends a turn whose person is not served, or parks it until they are back.
func (w *writer) unserved(ctx context.Context, d tools.Decision) error {
	if d.Rule == tools.PersonAway {
		return w.park(ctx, Step{End: &End{State: "waiting", Outcome: OutcomePersonAway}})
	}
	return failure("not_served", "I stopped: you are not served here any more.")
}

// maxAdded is how many messages are merged into one turn. What comes after them
// becomes turns of its own, so that no turn is kept from its end for ever.
const maxAdded = 10

// absorb merges what the person sent meanwhile into the turn, to be heeded from
// the attempt from on.
func (w *writer) absorb(ctx context.Context, from int) error {
	if len(w.Added) >= maxAdded {
		return nil
	}
	if len(w.staged.Say) > 0 { // what was written before it is said before it
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if released(ctx) {
		return ErrReleased
	}
	merging, done := journalContext(ctx)
	defer done()
	messages, err := w.journal.Absorb(merging, from)
	if err != nil {
		return fmt.Errorf("absorb into turn %d: %w", w.turn.ID, err)
	}
	for _, m := range messages {
		w.Added = append(w.Added, Added{Incoming: m, From: from})
		w.taint = w.taint.Join(incomingTaint(m))
	}
	return nil
}

// stream shows what the turn's next message says so far, and reports whether that is
// anything.
func (w *writer) stream(ctx context.Context, text string) bool {
	text = tidy(text)
	if blankText(text) {
		text = ""
	}
	if text != w.streamed && !released(ctx) {
		w.streamed = text
		w.journal.Stream(text)
	}
	return w.streamed != ""
}

// retract shows no longer what was streamed, because it is not what is said.
func (w *writer) retract(ctx context.Context) { w.stream(ctx, "") }

// halted says how the turn ends when its context has ended, nil while it lives.
func (w *writer) halted(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case released(ctx):
		return ErrReleased
	case errors.Is(context.Cause(ctx), ErrCancelled):
		return cancelled()
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return &ending{state: "cancelled", outcome: "interrupted", text: "Stopped for your newer message."}
	case errors.Is(context.Cause(ctx), ErrRestart):
		return ErrRestart
	default:
		return failure("timeout", fmt.Sprintf("I stopped: this took longer than the %s that one request may take.", w.timeout))
	}
}

func cancelled() error {
	return &ending{state: "cancelled", outcome: "cancelled", text: "Cancelled."}
}

// released says that ctx ended for a reason after which nothing may be written.
func released(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	cause := context.Cause(ctx)
	return !slices.ContainsFunc([]error{ErrCancelled, ErrInterrupted, ErrRestart, errTurnTimeout}, func(known error) bool {
		return errors.Is(cause, known)
	})
}

// journalContext returns a context for the journal: it outlives a person's cancel, what
// else people stop a turn for, and the turn's timeout, so that neither tears a commit, but not a release.
func journalContext(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	stop := context.AfterFunc(ctx, func() {
		if released(ctx) {
			cancel()
		}
	})
	return kept, func() { stop(); cancel() }
}
