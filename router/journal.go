package router

import (
	"context"
	"errors"
	"time"

	"switchboard/agent"
)

// commitPatience is how long a commit is tried while the database cannot take
// it (disk full, server gone); what was done must not be lost for a hiccup.
const commitPatience = 2 * time.Minute

// A journal writes one turn's rows for the agent: it renders what is said and
// commits it with its deliveries in the step's own transaction.
type journal struct {
	router *Router
	line   *line
	ref    TurnRef
	data   *TurnData
	shown  *progress
	ended  bool
	next   *Claimed
	// unwritten: the last commit failed for the database's sake.
	unwritten bool
	// unclear: it, or an earlier one, may have been committed and its answer lost.
	unclear bool
	// merge are the turns of a backlog that are offered with this one; nil: nothing is.
	merge []int64
}

// journalOf begins to write a turn, and to show that it is worked on.
func journalOf(l *line, ref TurnRef, data *TurnData) *journal {
	return &journal{router: l.router, line: l, ref: ref, data: data, shown: showProgress(l, ref, data)}
}

// Resume implements agent.Journal.
func (j *journal) Resume(context.Context) (*agent.State, error) {
	return &j.data.State, nil
}

// Commit implements agent.Journal.
func (j *journal) Commit(ctx context.Context, step agent.Step) error {
	says := make([]Reply, len(step.Say))
	for i, say := range step.Say {
		says[i] = j.line.said(ctx, j.data, say)
	}
	var opened *opened
	if len(says) > 0 {
		says[0].Draft = j.shown.take()
		opened = j.line.open(j.data.Conversation.ID)
		defer opened.close()
	}
	next, err := j.write(ctx, step, says, opened)
	if errors.Is(err, ErrFenced) {
		if j.unclear && len(says) > 0 {
			j.line.committed(j.data.Conversation.ID)
		}
		return agent.ErrHandBack
	}
	if err != nil {
		j.unwritten = !errors.Is(err, ErrConflict)
		return err
	}
	j.unwritten = false
	if step.End != nil {
		j.ended, j.next = true, next
	} else {
		j.shown.note(step)
	}
	if began := opened.close(); !began && len(says) > 0 || j.line.reader != nil {
		j.line.committed(j.data.Conversation.ID)
	}
	if len(says) > 0 || step.End != nil {
		j.shown.committed(step.End != nil)
	}
	if !j.router.Engine.Safe() {
		return agent.ErrHandBack // committed, but nothing may be done outside any more
	}
	return nil
}

// Absorb implements agent.Journal.
func (j *journal) Absorb(ctx context.Context, from int) ([]agent.Incoming, error) {
	added, err := j.router.Ledger.Absorb(context.WithoutCancel(ctx), j.ref, from)
	if errors.Is(err, ErrFenced) {
		return nil, agent.ErrHandBack
	}
	return added, err
}

// Stream implements agent.Journal.
func (j *journal) Stream(text string) {
	if text != "" {
		text = j.data.lateLine(j.router.Config.StaleAfter) + text
	}
	j.shown.stream(text)
}

// write commits the step, again and again while the database cannot take it. Only the
// first try begins what it says: the conversation is not to wait for the others.
func (j *journal) write(ctx context.Context, step agent.Step, says []Reply, opened *opened) (*Claimed, error) {
	if opened != nil {
		says[0].Open = &opened.Opening
	}
	// A cancelled turn still has to be written down; only the engine's own end
	// stops the tries.
	ctx = context.WithoutCancel(ctx)
	giveUp := time.Now().Add(commitPatience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		stops, called := j.router.running.stops(), time.Now()
		next, err := j.commit(ctx, step, says)
		if next != nil {
			next.stops = stops
		}
		if err != nil && opened != nil {
			opened.Begun, says[0].Open = nil, nil
			opened.unheard(called, err)
			opened.close()
		}
		if err == nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) || time.Now().After(giveUp) {
			return next, err
		}
		j.unclear = true
		j.router.Log.WarnContext(ctx, "a step could not be committed, trying again", "turn_id", j.ref.TurnID, "error", err)
		if sleep(j.router.work, pause); j.router.work.Err() != nil {
			return nil, err
		}
	}
}
