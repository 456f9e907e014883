package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"switchboard/router/approvals"
	"switchboard/store/database"
)

// listOpen has a row for each question of an approval: the code that is typed stands in the event right before its message.
const listOpen = `
	SELECT a.id, a.turn_id AS turn, s.key AS session, a.person, a.tool, a.shown, a.rule, a.taint, a.data, a.created_at AS asked_at, a.expires_at,
		coalesce(e.data, '') AS asked, coalesce(q.key, '') AS place
	FROM approvals a JOIN sessions s ON s.id = a.session_id
	LEFT JOIN actions x ON x.approval_id = a.id AND x.text = '' LEFT JOIN events m ON m.message_id = x.message_id
	LEFT JOIN events e ON e.session_id = m.session_id AND e.n = m.n - 1 AND e.kind = 'approval' LEFT JOIN sessions q ON q.id = e.session_id
	WHERE a.state = 'proposed' AND a.kind = 'tool' AND a.expires_at > ? AND (? = 0 OR a.turn_id = ?) ORDER BY a.id, x.id`

// OpenApprovals lists the approvals of tools that wait for a decision, of one turn or, where that is 0, of all, the oldest first.
func (r *Store) OpenApprovals(ctx context.Context, turn int64) (list []approvals.Open, err error) {
	type row struct {
		approvals.Open
		Data, Asked, Place string
	}
	err = r.Read(ctx, "list open approvals", func(t *database.Tx) error {
		rows, err := database.Select[row](t, listOpen, t.Now, turn, turn)
		for i := range rows {
			r := &rows[i]
			if len(list) == 0 || list[len(list)-1].ID != r.ID {
				if r.Once, err = (&Row{ID: r.ID, Data: r.Data, Taint: r.Taint}).Once(); err != nil {
					return err
				}
				r.Questions = []approvals.Place{}
				list = append(list, r.Open)
			}
			if r.Asked == "" {
				continue
			}
			var asked approvalData
			if err := json.Unmarshal([]byte(r.Asked), &asked); err != nil {
				return fmt.Errorf("stored question of approval %d: %w", r.ID, err)
			}
			of := &list[len(list)-1]
			of.Questions = append(of.Questions, approvals.Place{Session: r.Place, Code: asked.Code})
		}
		return err
	})
	return list, err
}
