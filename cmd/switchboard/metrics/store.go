package metrics

import (
	"context"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/router"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
)

// A ledger counts what the router has stored.
type ledger struct {
	router.Store
	*Metrics
}

// Store is a database of which is counted what it has taken.
func (m *Metrics) Store(of router.Store) router.Store { return ledger{of, m} }

// said counts messages of ours. On a channel whose clients read for themselves they are sent with that.
func (m *Metrics) said(channel string, n int) {
	if n == 0 {
		return
	}
	m.messages.WithLabelValues(channel, "out").Add(float64(n))
	if access.BuiltIn(channel) {
		m.deliveries.WithLabelValues(channel, string(outbox.DeliverySent)).Add(float64(n))
	}
}

// Accept implements router.Intake.
func (l ledger) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	accepted, err := l.Store.Accept(ctx, owner, entries)
	for i := range accepted {
		l.accepted(&entries[i], &accepted[i])
	}
	return accepted, err
}

// accepted counts one entry that was committed.
func (l ledger) accepted(e *intake.Entry, a *intake.Accepted) {
	if a.Duplicate || a.Outcome == intake.CommandPressed { // which comes again, as the command
		return
	}
	channel, refused, says := e.Event.Conversation.Channel, "", false
	switch as := e.Intent.(type) {
	case *intake.AuditIntent:
		switch as.Why {
		case intake.AuditStranger:
			refused = stageStranger
		case intake.AuditRejected:
			refused = stageUnreadable
			l.defects.WithLabelValues(channel).Inc()
		case intake.AuditOverheard, intake.AuditNote:
		}
	case *intake.ControlIntent:
		says = a.Outcome == "" && (as.Reply != nil || as.Say != nil)
		if as.Refused {
			refused = stageMessage
		}
	}
	if a.Outcome == intake.OutcomeBusy {
		refused = stageQueue
	}
	if refused != "" {
		l.refused.WithLabelValues(refused).Inc()
	} else if e.Event.Kind == channels.EventMessage {
		l.messages.WithLabelValues(channel, "in").Inc()
	}
	if says || a.Outcome != "" && e.Said(a) != nil {
		l.said(channel, 1)
	}
	if a.Elsewhere.ID != "" {
		l.said(a.Elsewhere.Channel, 1)
	}
}

// Settle implements delivery.Deliveries.
func (l ledger) Settle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) (bool, error) {
	more, err := l.Store.Settle(ctx, hold, d, s)
	if err == nil {
		l.deliveries.WithLabelValues(d.Conversation.Channel, string(s.State)).Inc()
	}
	return more, err
}

// Submit implements router.Submissions.
func (l ledger) Submit(ctx context.Context, owner int64, s jobs.Submission, turn intake.TurnIntent, say *outbox.Reply) (intake.Accepted, error) {
	a, err := l.Store.Submit(ctx, owner, s, turn, say)
	if err == nil && say != nil && a.MessageID != 0 {
		l.said(s.To.Channel, 1)
		if s.Run != 0 { // it is done with that
			l.runs.WithLabelValues(string(scheduler.RunDone)).Inc()
		}
	}
	return a, err
}

// Ask implements turns.Approvals.
func (l ledger) Ask(ctx context.Context, ref core.TurnRef, step agent.Step, asked approvals.Asked) (*core.Claimed, error) {
	next, err := l.Store.Ask(ctx, ref, step, asked)
	if err == nil {
		for i := range asked.Questions {
			l.said(asked.Questions[i].Conversation.Channel, 1)
		}
	}
	return next, err
}

// Name implements delivery.Unnamed.
func (l ledger) Name(ctx context.Context, hold outbox.Lease, lost []outbox.Unnamed, reply outbox.Reply) error {
	err := l.Store.Name(ctx, hold, lost, reply)
	if err == nil {
		l.said(hold.Channel, 1)
	}
	return err
}

// Tell implements router.Submissions.
func (l ledger) Tell(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply, missed []int64) error {
	err := l.Store.Tell(ctx, key, conv, reply, missed)
	if err == nil {
		l.said(conv.Channel, 1)
	}
	return err
}

// Notify implements delivery.Notices.
func (l ledger) Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (bool, error) {
	return l.notified(conv)(l.Store.Notify(ctx, key, conv, reply))
}

// NotifyFor implements delivery.Notices.
func (l ledger) NotifyFor(ctx context.Context, key []byte, quiet time.Duration, conv channels.Conversation, reply outbox.Reply) (bool, error) {
	return l.notified(conv)(l.Store.NotifyFor(ctx, key, quiet, conv, reply))
}

func (l ledger) notified(conv channels.Conversation) func(bool, error) (bool, error) {
	return func(notified bool, err error) (bool, error) {
		if notified && err == nil {
			l.said(conv.Channel, 1)
		}
		return notified, err
	}
}

// A timetable counts runs of jobs.
type timetable struct {
	scheduler.Store
	*Metrics
}

// Jobs are jobs whose runs are counted.
func (m *Metrics) Jobs(of scheduler.Store) scheduler.Store { return timetable{of, m} }

// Claim implements scheduler.Jobs.
func (t timetable) Claim(ctx context.Context, claims []scheduler.Claim) error {
	err := t.Store.Claim(ctx, claims)
	if err == nil {
		for i := range claims {
			for _, run := range claims[i].Runs {
				t.ended(run.State)
			}
		}
	}
	return err
}

// DueRuns implements scheduler.Runs.
func (t timetable) DueRuns(ctx context.Context, limit int, of scheduler.Reach) ([]scheduler.DueRun, time.Time, error) {
	runs, next, err := t.Store.DueRuns(ctx, limit, of)
	if err == nil {
		oldest := int64(0)
		if len(runs) > 0 {
			oldest = runs[0].Run.StartAt.UnixNano()
		}
		t.oldest.Store(oldest)
	}
	return runs, next, err
}

// Settle implements scheduler.Runs.
func (t timetable) Settle(ctx context.Context, settled []scheduler.Settled) error {
	err := t.Store.Settle(ctx, settled)
	if err == nil {
		for i := range settled {
			t.ended(settled[i].State)
		}
	}
	return err
}

// ended counts a run that is over; one that is tried again is not.
func (t timetable) ended(state scheduler.RunState) {
	if state != scheduler.RunDue && state != scheduler.RunRunning {
		t.runs.WithLabelValues(string(state)).Inc()
	}
}
