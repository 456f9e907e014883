package turns

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/agent"
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
	// unclear: it, or an earlier one, may have been committed and its answer lost.
	unclear bool
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
		step.Calls[i].Day = j.runner.settings().Budget.Day(time.Now())
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
	next, err := j.put(ctx, step, says, opened)
	if errors.Is(err, core.ErrStopped) {
		err = agent.ErrCancelled
	}
	if errors.Is(err, core.ErrFenced) {
		if j.unclear && len(says) > 0 {
			j.line.Committed(j.data.Conversation)
		}
		return agent.ErrHandBack
	}
	if errors.Is(err, core.ErrNotAway) { // it is claimed again, by who knows that they are back
		return agent.ErrHandBack
	}
	if err != nil {
		j.unwritten = !errors.Is(err, core.ErrConflict) && !errors.Is(err, agent.ErrCancelled) && !errors.Is(err, agent.ErrTooManyAsked)
		return err
	}
	j.unwritten = false
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
		return agent.ErrHandBack // committed, but nothing may be done outside any more
	}
	return nil
}

// Absorb implements agent.Journal. After a try that failed the turn is read again: what
// that one merged all the same is handed over with the rest, and not twice.
func (j *journal) Absorb(ctx context.Context, from int) (added []agent.Incoming, err error) {
	unclear := false
	j.runner.running.markEdited(j.ref.TurnID, false) // first: what comes from now on is merged, or said again
	err = j.patiently(ctx, "messages could not be merged", func() (err error) {
		added, err = j.runner.Ledger.Absorb(context.WithoutCancel(ctx), j.ref, from)
		if err == nil && unclear {
			added, err = j.missed(ctx)
		}
		unclear = unclear || err != nil
		return err
	})
	if errors.Is(err, core.ErrFenced) {
		return nil, agent.ErrHandBack
	} else if err != nil {
		j.unwritten = !core.IsFinal(err)
		return nil, err
	}
	for _, m := range added {
		j.merged = append(j.merged, m.ID)
	}
	return added, nil
}

// Edited implements agent.Journal.
func (j *journal) Edited() bool { return j.runner.running.wasEdited(j.ref.TurnID) }

// missed are the messages that were merged into the turn and that the agent does not know.
func (j *journal) missed(ctx context.Context) (list []agent.Incoming, err error) {
	data, err := j.runner.Ledger.Load(context.WithoutCancel(ctx), j.ref)
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

// put commits a step, or asks what it asks for.
func (j *journal) put(ctx context.Context, step agent.Step, says []outbox.Reply, opened *delivery.Opened) (*claimed, error) {
	if step.Ask != nil {
		return j.ask(ctx, step)
	}
	return j.write(ctx, step, says, opened)
}

// write commits the step, again and again while the database cannot take it. Only the
// first try begins what it says: the conversation is not to wait for the others.
func (j *journal) write(ctx context.Context, step agent.Step, says []outbox.Reply, opened *delivery.Opened) (next *claimed, err error) {
	if opened != nil {
		says[0].Open = &opened.Opening
	}
	// A cancelled turn still has to be written down; only the engine's own end
	// stops the tries.
	ctx = context.WithoutCancel(ctx)
	err = j.patiently(ctx, "a step could not be committed", func() error {
		stops, called := j.runner.running.stops(), time.Now()
		c, err := j.commit(ctx, step, says)
		if c != nil {
			next = &claimed{*c, stops}
		}
		if err != nil && opened != nil {
			opened.Begun, says[0].Open = nil, nil
			opened.MarkUnknown(called, err)
			opened.Close()
		}
		j.unclear = j.unclear || err != nil && !core.IsFinal(err)
		return err
	})
	return next, err
}

// patiently is Insist, which says why it tries again.
func (j *journal) patiently(ctx context.Context, failed string, do func() error) error {
	return core.Retry(j.runner.work, func() error {
		err := do()
		if err != nil && !core.IsFinal(err) {
			j.runner.Log.WarnContext(ctx, failed+", trying again", "turn_id", j.ref.TurnID, "error", err)
		}
		return err
	})
}

// commit writes a step as the ledger takes it: an offer merges what it is made for, and
// its choices do more than say something.
func (j *journal) commit(ctx context.Context, step agent.Step, says []outbox.Reply) (*core.Claimed, error) {
	switch {
	case step.End != nil && step.End.State == string(TurnQueued):
		return j.runner.Ledger.PutOff(ctx, j.ref, step, says)
	case j.merge == nil:
		return j.runner.Ledger.Commit(ctx, j.ref, step, says)
	}
	for i, does := range []outbox.Does{outbox.DoesRetry, outbox.DoesLeave} {
		says[0].Actions[i].Does = does
	}
	return j.runner.Ledger.Offer(ctx, j.ref, j.merge, step, says[0])
}
