package turns

import (
	"context"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	routerapprovals "switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Ask implements router.Approvals.
func (r *Store) Ask(ctx context.Context, ref core.TurnRef, step agent.Step, asked routerapprovals.Asked) (next *core.Claimed, err error) {
	if step.Ask == nil || step.End == nil || step.End.State != string(turns.TurnWaiting) || len(step.Say) > 0 {
		return nil, fmt.Errorf("ask: the turn has to wait, and to say nothing else: %w", core.ErrConflict)
	}
	bodies := packCalls(step.Calls)
	var chats []channels.Conversation
	for i := range asked.Questions {
		chats = append(chats, asked.Questions[i].Conversation)
	}
	err = r.Write(ctx, database.Durable, "ask for an approval", func(t *database.Tx) error {
		if err := sessions.LockInOrder(t, chats, nil); err != nil {
			return err
		}
		conversation, err := sessions.Holding(t, ref)
		if err != nil {
			return err
		}
		if err := goesOn(t, ref.TurnID); err != nil {
			return err
		}
		if asked.MostOpen > 0 {
			if err := approvals.MayAsk(t, ref.TurnID, asked.MostOpen); err != nil {
				return err
			}
		}
		q := step.Ask
		id, err := t.Insert(approvals.InsertApproval, q.Attempt, q.Position, database.Clean(q.Tool), database.Clean(q.Shown), q.Hash, database.Clean(q.Rule), database.Clean(string(q.Taint)),
			database.JSONText(approvals.Terms{Once: q.Loads != nil}), t.Now, database.Micros(asked.ExpiresAt), ref.TurnID)
		if err != nil {
			return err
		}
		if err := approvals.AuditAsk(t, q, id, ref); err != nil {
			return err
		}
		for i := range asked.Questions {
			if err := approvals.Ask(t, ref, conversation, id, &asked.Questions[i]); err != nil {
				return err
			}
		}
		next, err = writeStep(t, ref, &step, bodies, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// use uses up the approval by which a task is set running, or looks whether its grant is
// good still. ErrConflict: it is not.
func (w *stepWriter) use(c *agent.TaskChange) {
	if c.Use == nil || w.err != nil {
		return
	}
	u, good := c.Use, false
	if u.Grant {
		var one int
		good, w.err = w.t.Row(approvals.UseGrant, []any{w.turn, u.Approval, u.Hash, w.session}, &one)
	} else {
		good = w.exec(approvals.UseApproval, w.t.Now, u.Approval, w.turn, c.Attempt, c.Position, u.Hash) > 0
	}
	if w.err == nil && !good {
		w.err = fmt.Errorf("approval %d is not good for this task any more: %w", u.Approval, core.ErrConflict)
	}
}

// ExpireApprovals implements router.Approvals.
func (r *Store) ExpireApprovals(ctx context.Context) (expired []int64, next time.Time, err error) {
	var due []int64
	err = r.Read(ctx, "look for approvals that are overdue", func(t *database.Tx) error {
		var at *int64
		if due, err = t.IDs(approvals.Overdue, t.Now); err != nil {
			return err
		}
		if _, err := t.Row(approvals.NextOverdue, nil, &at); err == nil && at != nil {
			next = database.Instant(*at)
		}
		return err
	})
	for _, id := range due {
		if err == nil {
			err = r.Write(ctx, database.Durable, "expire approval", func(t *database.Tx) error {
				p, err := approvals.Find(t, id)
				if err != nil || p.State != outbox.ActionProposed {
					return err
				}
				if err := approvals.Settle(t, p, outbox.ActionExpired, "", "", ""); err != nil {
					return err
				}
				return audit.Write(t, core.Actor{Person: p.Person, Rule: p.Rule}, audit.Entry{
					Action: "approval.expired", Target: fmt.Sprintf("approval %d", p.ID), Outcome: "done",
					Data: map[string]any{"tool": p.Tool, "kind": p.Kind, "identity": p.Identity}, Session: p.SessionID, Turn: p.TurnID,
				})
			})
		}
		if err == nil {
			expired = append(expired, id)
		}
	}
	return expired, next, err
}
