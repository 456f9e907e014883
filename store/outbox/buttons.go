package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router/outbox"
	"switchboard/store/database"
)

const (
	openCodes = `
		SELECT message_id, code FROM actions WHERE message_id IN (%s) AND state = 'proposed' AND kind IN ('choice', 'command') AND expires_at > ?`
	extraParts = `SELECT message_id, extra FROM deliveries WHERE message_id IN (%s) AND extra IS NOT NULL ORDER BY message_id, part`
)

// Buttons are those under messages that can still be pressed, by the number of the message. Those that decide an approval are not
// among them.
func (r *Store) Buttons(ctx context.Context, messages ...int64) (map[int64][]channels.Button, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	return database.Read(ctx, r.DB, "list buttons", func(t *database.Tx) (map[int64][]channels.Button, error) {
		marks, args := database.In(messages)
		type codeRow struct {
			MessageID int64
			Code      []byte
		}
		codes, err := database.Select[codeRow](t, fmt.Sprintf(openCodes, marks), append(args, t.Now)...)
		if err != nil || len(codes) == 0 {
			return nil, err
		}
		with, open := []int64{}, map[string]bool{}
		for _, c := range codes {
			open[string(c.Code)] = true
			if !slices.Contains(with, c.MessageID) {
				with = append(with, c.MessageID)
			}
		}
		marks, args = database.In(with)
		type partRow struct {
			MessageID int64
			Extra     string
		}
		parts, err := database.Select[partRow](t, fmt.Sprintf(extraParts, marks), args...)
		found := map[int64][]channels.Button{}
		for _, p := range parts {
			var body channels.Body
			if err := json.Unmarshal([]byte(p.Extra), &body); err != nil {
				return nil, fmt.Errorf("stored buttons of message %d: %w", p.MessageID, err)
			}
			for _, b := range body.Buttons {
				if open[string(outbox.HashCode(b.Code))] {
					found[p.MessageID] = append(found[p.MessageID], b)
				}
			}
		}
		return found, err
	})
}
