package turns

import (
	"slices"

	"switchboard/agent"
	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	// formerTurns are a turn and its retries before the turn of the last ?.
	formerTurns = `
		SELECT id, state, outcome, CASE WHEN asked_at > 0 THEN asked_at ELSE created_at END AS asked_at FROM turns WHERE (id = ? OR retry_of = ?) AND id < ? ORDER BY id`
	// loadOriginal is what the person asked in a turn: not a message that only asked for
	// a retry.
	loadOriginal = `SELECT -1 AS merged_from, ` + columnsIncoming + `
		FROM messages m WHERE m.turn_id = ? AND m.direction = 'in' AND NOT EXISTS (
			SELECT 1 FROM turns t WHERE t.message_id = m.id AND t.retry_of IS NOT NULL)
		ORDER BY m.id`
	// loadRevised are the new texts of a message that was edited after its answer.
	loadRevised = `SELECT -1 AS merged_from, ` + columnsIncoming + `
		FROM messages m WHERE m.session_id = (SELECT session_id FROM messages WHERE id = ?) AND m.id > ? AND m.class = 'revision'
		AND m.turn_id IS NULL AND m.replaces = ? ORDER BY m.id`
)

// revise gives a message its new state; it stays in its place.
func (r *incomingRow) revise(by incomingRow) {
	by.ID, by.Replaces, by.PlatformID = r.ID, r.Replaces, r.PlatformID
	*r = by
}

// original reads what was asked in turns, the first of them before all, each message
// as it reads now. Without anything of the first there is nothing.
func original(t *database.Tx, first int64, turns []int64) (rows []incomingRow, err error) {
	for _, turn := range turns {
		more, err := incomings(t, loadOriginal, turn)
		if err != nil || turn == first && len(more) == 0 {
			return nil, err
		}
		rows = append(rows, more...)
	}
	var now []incomingRow
	for _, row := range rows {
		revised, err := incomings(t, loadRevised, row.ID, row.ID, row.ID)
		if err != nil {
			return nil, err
		}
		former := slices.IndexFunc(now, func(r incomingRow) bool { return r.ID == row.Replaces })
		if former < 0 {
			now, former = append(now, row), len(now)
		} else {
			now[former].revise(row)
		}
		for _, r := range revised {
			now[former].revise(r)
		}
	}
	return now, nil
}

// again gives a turn the message of the turn whose work it does, as it reads now, and
// what was done for it before. What was collected while it waited comes behind.
func again(t *database.Tx, d *core.TurnData, first int64) error {
	d.Retry = true
	turns, err := former(t, d, first)
	if err != nil {
		return err
	}
	rows, err := original(t, first, turns)
	if err != nil || len(rows) == 0 {
		return err
	}
	collected, replyTo := d.Turn.Message, d.ReplyTo
	d.Turn.Message = rows[0].incoming()
	d.ReplyTo = rows[0].PlatformID
	for i := range rows[1:] {
		join(d, rows[1+i].incoming(), rows[1+i].PlatformID)
	}
	join(d, collected, replyTo)
	return nil
}

// former reads what was done in a turn and its retries before this one.
func former(t *database.Tx, d *core.TurnData, first int64) (turns []int64, err error) {
	type row struct {
		agent.Former
		ID int64
	}
	rows, err := database.Select[row](t, formerTurns, first, first, d.Turn.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Plans, err = plansOf(t, row.ID); err != nil {
			return nil, err
		}
		turns = append(turns, row.ID)
		d.State.Former = append(d.State.Former, row.Former)
	}
	return turns, nil
}
