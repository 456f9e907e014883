package router

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// Accept implements channels.Sink, the one way in. Each event is classified (who is
// speaking, may they, what is it), then all are committed in one transaction,
// and only then does anything happen.
func (r *Router) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	if !r.enter() {
		// The channel's connection stays open for sending, and what it sent us stays
		// unacknowledged.
		retry.Await(ctx, r.stopped, math.MaxInt64)
		return nil, errStopping
	}
	defer r.accepts.Done()
	ctx, end := r.untilHandBack(ctx)
	defer end()
	entries, err := r.classifyBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	receipts := make([]channels.Receipt, len(batch))
	switch err := r.commit(ctx, entries, receipts); {
	case err == nil:
		return receipts, nil
	case isNobodysFault(ctx, err):
		return nil, fmt.Errorf("take events in: %w", err)
	}
	return receipts, r.commitEach(ctx, entries, receipts)
}

// enter begins an Accept, unless the engine stops: then all that have begun are waited
// for, and none begins any more.
func (r *Router) enter() bool {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.turns.Ends() {
		return false
	}
	r.accepts.Add(1)
	return true
}

// untilHandBack is ctx, which ends as well when what runs is handed back at a stop: a
// database that hangs does not keep the engine.
func (r *Router) untilHandBack(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	stop := context.AfterFunc(r.work, end)
	return ctx, func() { stop(); end() }
}

// commit takes entries in, in one transaction, and does what that made possible. The
// workers reserved for it are given back where nothing came of them.
func (r *Router) commit(ctx context.Context, entries []classified, receipts []channels.Receipt) error {
	r.reserve(entries)
	stops := r.turns.Stops()
	plain := make([]intake.Entry, len(entries))
	for i := range entries {
		plain[i] = entries[i].Entry
		plain[i].Say = func(acc *intake.Accepted) *outbox.Reply { return r.say(&entries[i], acc) }
	}
	accepted, err := r.Ledger.Accept(ctx, r.Engine.ID(), plain)
	if err != nil {
		r.unreserve(entries)
		r.turns.Compare() // it may be committed all the same
		return err
	}
	for i := range accepted {
		if accepted[i].Outcome == intake.CommandPressed {
			err = errors.Join(err, r.commitPressed(ctx, entries[i], &accepted[i], receipts[i:i+1]))
			continue
		}
		receipts[i] = r.follow(ctx, &entries[i], &accepted[i], stops)
	}
	return err
}

// commitPressed takes in the command that a button gives, or what was typed in its place.
func (r *Router) commitPressed(ctx context.Context, e classified, acc *intake.Accepted, receipt []channels.Receipt) error {
	given := []classified{e}
	r.unreserve(given)
	var err error
	if given[0], err = r.give(ctx, given[0], acc.Command, acc.Button); err != nil {
		return err
	}
	return r.commit(ctx, given, receipt)
}

// reserve reserves a worker for each entry that may begin a turn at once.
func (r *Router) reserve(entries []classified) {
	for i := range entries {
		e := &entries[i]
		if turn := e.Turn(); turn != nil && turn.CollectWindow == 0 { // what waits for more is not run now
			turn.MayClaim = r.turns.MayBegin(e.Sender.Person)
		}
	}
}

func (r *Router) unreserve(entries []classified) {
	for i := range entries {
		if turn := entries[i].Turn(); turn != nil && turn.MayClaim {
			turn.MayClaim = false
			r.turns.GiveWorker(entries[i].Sender.Person)
		}
	}
}

// follow does what the commit made possible. stops is how many stops were missed
// before it.
func (r *Router) follow(ctx context.Context, entry *classified, acc *intake.Accepted, stops int64) channels.Receipt {
	line := entry.line
	turn := entry.Turn()
	if turn != nil && turn.MayClaim && acc.Claimed == nil {
		r.turns.GiveWorker(entry.Sender.Person)
	}
	if len(entry.Button) > 0 && acc.Action != outbox.ActionAccepted { // it was used meanwhile, so nothing was done
		entry.Intent, entry.beside = &intake.ActionIntent{Code: entry.Button}, nil
	}
	r.followCode(ctx, entry, acc)
	r.followRequest(ctx, entry, acc)
	r.followApprovals(ctx, entry, acc)
	r.followSecret(ctx, entry, acc)
	r.followChange(ctx, entry, acc)
	if !acc.Duplicate {
		r.rates.count(entry.charge)
		if !entry.kept(intake.AuditRejected) {
			r.failed.took()
		}
	}
	if acc.Rejected != "" && !acc.Duplicate {
		r.Log.WarnContext(ctx, "event rejected", "channel", entry.Event.Conversation.Channel, "reason", acc.Rejected)
	}
	if entry.kept(intake.AuditStranger) && !acc.Duplicate {
		r.logStranger(ctx, entry)
	}
	if entry.Sender.Rule == audit.RuleTooEarly && !acc.Duplicate {
		r.logTooEarly(ctx, entry.Event.Conversation.Channel)
	}
	if entry.Sender.New && !acc.Duplicate {
		r.People.Learn(ctx, entry.Sender.Person)
	}
	r.notifyAside(ctx, entry, acc)
	if entry.beside != nil && !acc.Duplicate {
		r.goBeside(entry)
	}
	if acc.Claimed != nil {
		r.turns.Begin(*acc.Claimed, stops, entry.Sender.Person)
	}
	r.followQueue(turn, acc)
	if acc.CancelTurn != 0 {
		r.turns.Stop(acc.CancelTurn, causeOf(entry))
	}
	if _, news := entry.Intent.(*intake.NewsIntent); news && entry.Event.Kind == channels.EventMoved {
		r.moves.add(line.Name, string(entry.Event.Former), string(entry.Event.Conversation.ID))
		line.Moved(entry.Event.Former, entry.Event.Conversation)
	}
	_, message := entry.Intent.(*intake.TurnIntent)
	queued := message && acc.Outcome == "" && acc.Action == "" // there is nothing to send yet
	if !acc.Duplicate && !entry.unanswered() && (!queued || line.Reads()) {
		line.Committed(entry.Event.Conversation)
	}
	receipt := acc.Receipt
	switch {
	case entry.kept(intake.AuditStranger) || entry.kept(intake.AuditOverheard):
		receipt.Silent = true
	case entry.Event.Kind == channels.EventAction && !acc.Duplicate:
		receipt.Toast = line.pressed(entry, acc)
	case acc.Action == outbox.ActionAccepted && acc.Approval == 0: // typed
		line.Unbutton(entry.Event.Conversation, acc.Question)
	}
	return receipt
}

// followQueue does what the commit of a message beside other turns made possible:
// it looks again when a collected turn is due, wakes the runner for one that waits,
// and breaks off what an edit makes worthless.
func (r *Router) followQueue(turn *intake.TurnIntent, acc *intake.Accepted) {
	switch {
	case !acc.NotBefore.IsZero():
		// Counted from here, after the commit: whatever the database's clock says, it
		// is due by then.
		time.AfterFunc(turn.CollectWindow, r.turns.Queued)
	case acc.Waiting:
		r.turns.Queued()
	}
	switch {
	case acc.Steers == 0:
	case acc.Edited == intake.EditRestarts:
		r.turns.Stop(acc.Steers, agent.ErrRestart)
	case acc.Edited == intake.EditSteers && !r.turns.MarkEdited(acc.Steers):
		r.Lines.Wake(core.Wake{Kind: core.WakeEdit, Turn: acc.Steers})
	}
}

// kept says that an entry is kept for that reason, and nobody is answered.
func (e *classified) kept(why intake.Audit) bool {
	audit, ok := e.Intent.(*intake.AuditIntent)
	return ok && audit.Why == why
}

// unanswered says that an entry brings nothing that is sent or read: a flood of them costs
// its own row each and no look at what is to be sent.
func (e *classified) unanswered() bool {
	return e.kept(intake.AuditStranger) || e.kept(intake.AuditOverheard) || e.kept(intake.AuditRejected)
}

// causeOf says why an entry that stops a turn does so.
func causeOf(entry *classified) error {
	switch entry.Intent.(type) {
	case *intake.ControlIntent, *intake.NewsIntent:
		return agent.ErrCancelled
	}
	return agent.ErrInterrupted
}

// eventKey makes the key under which an event is remembered: a hash, so that it
// outlives what it came with.
func eventKey(event channels.Event) []byte {
	key := sha256.Sum256([]byte(event.Conversation.Channel + "\x00" + string(event.Key)))
	return key[:]
}
