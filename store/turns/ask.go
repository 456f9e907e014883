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

// Ask is Commit of a step that parks its turn, with the questions whether its task may run.
func (r *Store) Ask(ctx context.Context, ref core.TurnRef, step agent.Step, asked routerapprovals.Asked) (*core.Claimed, error) {
	if step.Ask == nil || step.End == nil || step.End.State != string(turns.TurnWaiting) || len(step.Say) > 0 {
		return nil, fmt.Errorf("ask: the turn has to wait, and to say nothing else: %w", core.ErrConflict)
	}
	bodies := packCalls(step.Calls)
	var chats []channels.Conversation
	for i := range asked.Questions {
		chats = append(chats, asked.Questions[i].Conversation)
	}
	return database.Write(ctx, r.DB, database.Durable, "ask for an approval", func(t *database.Tx) (*core.Claimed, error) {
		if err := sessions.LockInOrder(t, chats, nil); err != nil {
			return nil, err
		}
		conversation, err := sessions.Holding(t, ref)
		if err != nil {
			return nil, err
		}
		if err := goesOn(t, ref.TurnID); err != nil {
			return nil, err
		}
		if asked.MostOpen > 0 {
			if err := approvals.MayAsk(t, ref.TurnID, asked.MostOpen); err != nil {
				return nil, err
			}
		}
		q := step.Ask
		id, err := t.Insert(approvals.InsertApproval, q.Attempt, q.Position, q.Tool, q.Shown, q.Hash, q.Rule, q.Taint,
			database.JSONText(approvals.Terms{Once: q.Loads != nil}), t.Now, asked.ExpiresAt, ref.TurnID)
		if err != nil {
			return nil, err
		}
		if err := approvals.AuditAsk(t, q, id, ref); err != nil {
			return nil, err
		}
		for i := range asked.Questions {
			if err := approvals.Ask(t, ref, conversation, id, &asked.Questions[i]); err != nil {
				return nil, err
			}
		}
		return writeStep(t, ref, &step, bodies, nil)
	})
}

// ExpireApprovals ends those whose time is over, at most 100, and queues their turns.
func (r *Store) ExpireApprovals(ctx context.Context) (expired []int64, next time.Time, err error) {
	var due []int64
	err = r.Read(ctx, "look for approvals that are overdue", func(t *database.Tx) error {
		if due, err = t.IDs(approvals.Overdue, t.Now); err == nil {
			_, err = t.Row(approvals.NextOverdue, nil, &next)
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
