package turns

import (
	"context"
	"fmt"

	"switchboard/agent"
	"switchboard/channels"
	routerapprovals "switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/turns"
	"switchboard/store/approvals"
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
