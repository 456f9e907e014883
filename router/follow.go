package router

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// A committed is an entry that is committed, with what became of it.
type committed struct {
	*Router
	entry *classified
	acc   *intake.Accepted
}

// follow does what the commit made possible. stops is how many stops were missed
// before it.
func (r *committed) follow(ctx context.Context, stops int64) channels.Receipt {
	line, conv, turn := r.entry.line, r.entry.Event.Conversation, r.entry.Turn()
	if turn != nil && turn.MayClaim && r.acc.Claimed == nil {
		r.turns.GiveWorker(r.entry.Sender.Person)
	}
	if len(r.entry.Button) > 0 && r.acc.Action != outbox.ActionAccepted { // it was used meanwhile, so nothing was done
		r.entry.Intent, r.entry.background = &intake.ActionIntent{Code: r.entry.Button}, nil
	}
	r.followCode(ctx)
	r.followRequest(ctx)
	r.followApprovals(ctx)
	r.followSecret()
	r.followChange(ctx)
	if !r.acc.Duplicate {
		r.Connections.Active()
		r.rates.count(r.entry.charge)
		if !r.entry.kept(intake.AuditRejected) {
			r.failed.took()
		}
		if r.acc.Rejected != "" {
			r.Log.WarnContext(ctx, "event rejected", "channel", conv.Channel, "reason", r.acc.Rejected)
		}
		if r.entry.kept(intake.AuditStranger) {
			r.logStranger(ctx)
		}
		if r.entry.Sender.Rule == audit.RuleTooEarly {
			r.logTooEarly(ctx, conv.Channel)
		}
		if r.entry.Sender.New {
			r.People.Learn(ctx, r.entry.Sender.Person)
		}
	}
	r.notifyAside(ctx)
	if r.entry.background != nil && !r.acc.Duplicate {
		r.runBackground()
	}
	if r.acc.Claimed != nil {
		r.turns.Begin(*r.acc.Claimed, stops, r.entry.Sender.Person)
	}
	r.followQueue(turn)
	if r.acc.CancelTurn != 0 {
		r.turns.Stop(r.acc.CancelTurn, causeOf(r.entry))
	}
	if _, news := r.entry.Intent.(*intake.NewsIntent); news && r.entry.Event.Kind == channels.EventMoved {
		r.moves.add(line.Name, string(r.entry.Event.Former), string(conv.ID))
		line.Moved(r.entry.Event.Former, conv)
	}
	_, message := r.entry.Intent.(*intake.TurnIntent)
	queued := message && r.acc.Outcome == "" && r.acc.Action == "" // there is nothing to send yet
	if !r.acc.Duplicate && !r.entry.unanswered() && (!queued || line.Reads()) {
		line.Committed(conv)
	}
	receipt := r.acc.Receipt
	switch {
	case r.acc.Outcome == intake.OutcomeTaken:
		receipt.Taken = true
	case r.acc.Outcome == intake.OutcomeBusy && turn != nil && turn.OrNothing:
		receipt.Busy = fmt.Sprintf("%d messages of this session wait already", turn.QueueLimit)
	case r.entry.kept(intake.AuditStranger) || r.entry.kept(intake.AuditOverheard):
		receipt.Silent = true
	case r.entry.Event.Kind == channels.EventAction && !r.acc.Duplicate:
		receipt.Toast = line.pressed(r.entry, r.acc)
	case r.acc.Action == outbox.ActionAccepted && r.acc.Approval == 0: // typed
		line.Unbutton(conv, r.acc.Question)
	}
	return receipt
}

// followQueue does what the commit of a message beside other turns made possible:
// it looks again when a collected turn is due, wakes the runner for one that waits,
// and breaks off what an edit makes worthless.
func (r *committed) followQueue(turn *intake.TurnIntent) {
	switch {
	case !r.acc.NotBefore.IsZero():
		// Counted from here, after the commit: whatever the database's clock says, it
		// is due by then.
		time.AfterFunc(turn.CollectWindow, r.turns.Queued)
	case r.acc.Waiting:
		r.turns.Queued()
	}
	switch {
	case r.acc.Steers == 0:
	case r.acc.Edited == intake.EditRestarts:
		r.turns.Stop(r.acc.Steers, agent.ErrRestart)
	case r.acc.Edited == intake.EditSteers && !r.turns.MarkEdited(r.acc.Steers):
		r.Connections.Wake(core.Wake{Kind: core.WakeEdit, Turn: r.acc.Steers})
	}
}

// followApprovals does what the commit of an entry that decides made possible.
func (r *committed) followApprovals(ctx context.Context) {
	if r.acc.Approval != 0 && r.acc.Action != "" && !r.acc.Duplicate {
		r.approvals.Decided(ctx, r.acc.Approval)
	}
	for _, turn := range r.acc.Dropped {
		r.approvals.Close(ctx, turn)
	}
	if r.acc.Decided != 0 {
		r.Log.InfoContext(ctx, "an approval was decided", "approval_id", r.acc.Approval, "turn_id", r.acc.Decided, "person", r.entry.Sender.Person, "state", r.acc.Action)
		r.turns.Queued()
	}
}

// followChange does what the commit of a command's change made possible.
func (r *committed) followChange(ctx context.Context) {
	if as, ok := r.entry.Intent.(*intake.ControlIntent); ok && as.Change != nil && r.acc.Refusal == "" && !r.acc.Duplicate {
		r.changed(ctx, as.Change)
	}
}

// followSecret deletes a message that brought a secret, where that can be, and has all engines
// go on with what was set.
func (r *committed) followSecret() {
	conv, line := r.entry.Event.Conversation, r.entry.line
	if r.entry.secret.value != "" && r.entry.Sender.Person != "" && line.Removes(conv) {
		line.Remove(conv, r.entry.Event.Message.ID, func(ctx context.Context) {
			notice := line.Notice(r.entry.Event, "I could not delete your message with the secret. Please delete it yourself, and set a new value for the secret if anybody may have read it.")
			notice.Person = r.entry.Sender.Person
			_ = r.notify(ctx, "undeleted:", notice, "a notice could not be committed")
			line.Committed(conv)
		})
	}
}

// notifyAside says what an entry has to say besides becoming a turn. A key of its own
// makes that happen once, also when the event comes again because this engine
// died in between.
func (r *committed) notifyAside(ctx context.Context) {
	if r.entry.aside == "" || r.acc.Outcome == intake.OutcomeBusy || r.acc.Outcome == intake.OutcomeTaken || r.acc.Edited == intake.EditSame {
		return
	}
	notice := r.entry.line.Notice(r.entry.Event, r.entry.aside)
	notice.Person, notice.Taint = r.entry.Sender.Person, r.entry.Taint // it names the files
	_ = r.notify(ctx, "aside:", notice, "a notice could not be committed")
}

// notify commits a notice about the entry, once by its kind, and logs that it failed.
func (r *committed) notify(ctx context.Context, kind string, notice *outbox.Reply, failed string) error {
	conv, key := r.entry.Event.Conversation, sha256.Sum256(append([]byte(kind), r.entry.Key...))
	_, err := r.Store.Notify(context.WithoutCancel(ctx), key[:], conv, *notice)
	if err != nil {
		r.Log.ErrorContext(ctx, failed, "channel", conv.Channel, "error", err)
	}
	return err
}

// causeOf says why an entry that stops a turn does so.
func causeOf(entry *classified) error {
	switch entry.Intent.(type) {
	case *intake.ControlIntent, *intake.NewsIntent:
		return agent.ErrCancelled
	}
	return agent.ErrInterrupted
}
