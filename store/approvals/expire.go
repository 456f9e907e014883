package approvals

import (
	"context"
	"fmt"
	"time"

	"switchboard/router/core"
	routeroutbox "switchboard/router/outbox"
	"switchboard/store/audit"
	"switchboard/store/database"
)

const (
	// overdue are open ones whose time is over.
	overdue = `SELECT id FROM approvals WHERE state = 'proposed' AND expires_at <= ? ORDER BY expires_at LIMIT 100`
	// nextOverdue is when the time of the next open one is over.
	nextOverdue = `SELECT coalesce(min(expires_at), 0) FROM approvals WHERE state = 'proposed'`
)

// ExpireApprovals ends those whose time is over, at most 100, and queues their turns.
func (r *Store) ExpireApprovals(ctx context.Context) (expired []int64, next time.Time, err error) {
	var due []int64
	err = r.Read(ctx, "look for approvals that are overdue", func(t *database.Tx) error {
		if due, err = t.IDs(overdue, t.Now); err == nil {
			_, err = t.Row(nextOverdue, nil, &next)
		}
		return err
	})
	for _, id := range due {
		if err == nil {
			err = r.Write(ctx, database.Durable, "expire approval", func(t *database.Tx) error {
				p, err := Find(t, id)
				if err != nil || p.State != routeroutbox.ActionProposed {
					return err
				}
				if err := Settle(t, p, routeroutbox.ActionExpired, "", "", ""); err != nil {
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
