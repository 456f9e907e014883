package turns

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// A journal writes one turn's rows for the agent: it renders what is said and
// commits it with its deliveries in the step's own transaction.
type journal struct {
	runner  *Runner
	line    *delivery.Connection
	ref     core.TurnRef
	data    *core.TurnData
	preview *delivery.Preview
	ended   bool
	next    *claimed
	// unwritten: the last commit, or read, failed for the database's sake.
	unwritten bool
	// unknown: it, or an earlier one, may have been committed and its answer lost.
	unknown bool
	// merge are the turns of a backlog that are offered with this one; nil: nothing is.
	merge    []int64
	lateSaid bool
	// merged are the messages that were merged while the agent ran.
	merged []int64
}

// Resume implements agent.Journal.
func (j *journal) Resume(context.Context) (*agent.State, error) {
	return &j.data.State, nil
}

// Commit implements agent.Journal.
func (j *journal) Commit(ctx context.Context, step agent.Step) error {
	says := make([]outbox.Reply, len(step.Say))
	step.Say, step.Calls = slices.Clone(step.Say), slices.Clone(step.Calls)
	for i := range step.Calls {
		step.Calls[i].Day = j.runner.Settings().Budget.Day(time.Now())
	}
	for i := range step.Say {
		step.Say[i] = j.line.Masked(step.Say[i])
	}
	for i := range step.Say {
		var buttons []core.Button
		if made := step.Say[i].Made; len(made) > 0 && j.runner.Made != nil {
			buttons = j.runner.Made(ctx, made, j.data.Turn.Person.Name, j.data.Turn.Session.Language)
		}
		unshown := commands.TypedOut(buttons[j.line.Offers(j.data.Conversation, buttons):])
		says[i] = j.line.Said(ctx, j.data, &step.Say[i], j.lateLine(), buttons, j.runner.AsTyped(j.line.Command(j.data.Conversation), unshown))
		j.lateSaid = true
	}
	var taken int64
	if len(says) > 0 || step.End != nil {
		taken = j.preview.Take()
	}
	var opened *delivery.Opened
	if len(says) > 0 {
		says[0].Draft = taken
		opened = j.line.Open(j.data.Conversation)
		defer opened.Close()
	}
	next, err := j.write(ctx, step, says, opened)
	switch {
	case errors.Is(err, core.ErrFenced):
		if j.unknown && len(says) > 0 {
			j.line.Committed(j.data.Conversation)
		}
		return agent.ErrReleased
	case errors.Is(err, core.ErrNotAway): // it is claimed again, by who knows that they are back
		return agent.ErrReleased
	case errors.Is(err, core.ErrStopped):
		err = agent.ErrCancelled
	}
	if j.unwritten = err != nil && !errors.Is(err, core.ErrConflict) && !errors.Is(err, agent.ErrCancelled) && !errors.Is(err, agent.ErrTooManyAsked); err != nil {
		return err
	}
	j.runner.Connections.Active()
	if step.End != nil {
		j.ended, j.next = true, next
		if wait := step.End.Wait; wait > 0 {
			time.AfterFunc(wait, j.runner.Queued)
		}
	} else {
		j.preview.Note(step)
	}
	if began := opened.Close(); !began && len(says) > 0 || j.line.Reads() {
		j.line.Committed(j.data.Conversation)
	}
	if len(says) > 0 || step.End != nil {
		j.preview.Committed(taken != 0)
	}
	if !j.runner.Engine.Safe() {
		return agent.ErrReleased // committed, but nothing may be done outside any more
	}
	return nil
}

// Absorb implements agent.Journal. After a try that failed the turn is read again: what
// that one merged all the same is handed over with the rest, and not twice.
func (j *journal) Absorb(ctx context.Context, from int) (added []agent.Incoming, err error) {
	unknown := false
	j.runner.running.markEdited(j.ref.TurnID, false) // first: what comes from now on is merged, or said again
	err = j.retry(ctx, "messages could not be merged", func(ctx context.Context) (err error) {
		added, err = j.runner.Store.Absorb(ctx, j.ref, from)
		if err == nil && unknown {
			added, err = j.missed(ctx)
		}
		unknown = unknown || err != nil
		return err
	})
	if err != nil {
		return nil, aborted(err)
	}
	for _, m := range added {
		j.merged = append(j.merged, m.ID)
	}
	return added, nil
}

// Edited implements agent.Journal.
func (j *journal) Edited() (edited bool) {
	j.runner.running.find(j.ref.TurnID, func(turn *runningTurn) { edited = turn.edited })
	return edited
}

// missed are the messages that were merged into the turn and that the agent does not know.
func (j *journal) missed(ctx context.Context) (list []agent.Incoming, err error) {
	data, err := j.runner.Store.Load(ctx, j.ref)
	if err != nil {
		return nil, err
	}
	known := slices.Clone(j.merged)
	for _, m := range j.data.State.Added {
		known = append(known, m.ID)
	}
	for _, m := range data.State.Added {
		if !slices.Contains(known, m.ID) {
			list = append(list, m.Incoming)
		}
	}
	return list, nil
}

// Stream implements agent.Journal.
func (j *journal) Stream(text string) {
	if text != "" {
		text = j.lateLine() + text
	}
	j.preview.Stream(text)
}

// write commits a step, or asks what it asks for, again and again while the database cannot take it. Only the
// first try begins what it says: the conversation is not to wait for the others.
func (j *journal) write(ctx context.Context, step agent.Step, says []outbox.Reply, opened *delivery.Opened) (*claimed, error) {
	if step.Ask != nil {
		return j.ask(ctx, step)
	}
	if opened != nil {
		says[0].Open = &opened.Opening
	}
	return j.put(ctx, "a step could not be committed", func(ctx context.Context) (*core.Claimed, error) {
		called := time.Now()
		c, err := j.commit(ctx, step, says)
		if err != nil && opened != nil {
			opened.Begun, says[0].Open = nil, nil
			opened.MarkUnknown(called, err)
			opened.Close()
		}
		return c, err
	})
}

// put makes a commit, again and again while the database cannot take it.
func (j *journal) put(ctx context.Context, failed string, commit func(context.Context) (*core.Claimed, error)) (next *claimed, err error) {
	err = j.retry(ctx, failed, func(ctx context.Context) error {
		stops := j.runner.running.stops()
		c, err := commit(ctx)
		if c != nil {
			next = &claimed{*c, stops}
		}
		j.unknown = j.unknown || err != nil && !core.IsFinal(err)
		return err
	})
	return next, err
}

// retry is core.Retry, which says why it tries again. A cancelled turn still has to be written down: only the engine's
// own end stops the tries.
func (j *journal) retry(ctx context.Context, failed string, do func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	err := core.Retry(j.runner.work, func() error {
		err := do(ctx)
		if err != nil && !core.IsFinal(err) {
			j.runner.Log.WarnContext(ctx, failed+", trying again", "turn_id", j.ref.TurnID, "error", err)
		}
		return err
	})
	if err != nil {
		j.unwritten = !core.IsFinal(err)
	}
	return err
}

// aborted is an error as the agent knows it: a turn that another engine runs is aborted.
func aborted(err error) error {
	if errors.Is(err, core.ErrFenced) {
		return agent.ErrReleased
	}
	return err
}

// commit writes a step as the database takes it: an offer merges what it is made for, and
// its choices do more than say something.
func (j *journal) commit(ctx context.Context, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	switch {
	case step.End != nil && step.End.State == string(TurnQueued):
		return j.runner.Store.PutOff(ctx, j.ref, step, says)
	case j.merge == nil:
		return j.runner.Store.Commit(ctx, j.ref, step, says)
	}
	says[0].Actions[0].Does, says[0].Actions[1].Does = outbox.DoesRetry, outbox.DoesLeave
	return j.runner.Store.Offer(ctx, j.ref, j.merge, step, says[0])
}

// lateLine opens what a turn says first after nobody worked on it for long; empty: that
// was not so, or is said. A text that is shown before it is said begins with it too.
func (j *journal) lateLine() string {
	away := j.data.Away
	switch {
	case away <= j.runner.Settings().StaleAfter || j.lateSaid:
		return ""
	case away < time.Minute:
		return "This comes late: I was away for a moment.\n\n"
	}
	return "This comes late: I was away for " + words.Span(away) + ".\n\n"
}
