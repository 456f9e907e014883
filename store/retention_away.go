package store

import (
	"context"
	"time"

	"switchboard/store/database"
	"switchboard/store/outbox"
)

const (
	// awayAfter is how old the oldest part is that waits for a channel which counts as away, unless this
	// engine is connected to it: what waits for a platform that takes messages is sent or dead by then.
	awayAfter = time.Hour
	awayKept  = 7 * 24 * time.Hour

	waitingParts = `
		SELECT channel, count(*) AS parts, min(created_at) AS oldest FROM deliveries
		WHERE settled = FALSE AND state = 'pending' GROUP BY channel ORDER BY channel`
	// oldestWaiting are the messages of the oldest parts that wait for a channel, of the conversation with
	// the most of them first, so that a flood in one takes nothing from others. They are few rows, which are sorted.
	oldestWaiting = `
		SELECT message_id AS id FROM (
			SELECT message_id, id, row_number() OVER (PARTITION BY conversation_id ORDER BY id DESC) AS behind
			FROM deliveries WHERE channel = ? AND settled = FALSE AND state = 'pending' AND created_at <= ?
		) AS waiting ORDER BY behind DESC, id LIMIT ?`
	// dropWaiting drops all of a message that waits: half of it would be worth little. Notices are not
	// named, as nobody misses them.
	dropWaiting = `
		UPDATE deliveries SET state = 'dropped', settled = TRUE, outcome = 'away', updated_at = ?,
			unnamed = CASE WHEN (SELECT m.notice FROM messages m WHERE m.id = deliveries.message_id) THEN FALSE ELSE TRUE END
		WHERE settled = FALSE AND state = 'pending' AND message_id IN (`
)

// away drops the oldest of what waits for channels that are away.
func (s *sweeper) away(ctx context.Context) error {
	type channel struct {
		Channel       string
		Parts, Oldest int64
	}
	rows, err := database.List[channel](ctx, s.db.DB, "look at what waits for channels", waitingParts)
	for _, row := range rows {
		if err != nil {
			break
		}
		if row.Oldest > s.before(awayAfter) || s.keep.Connected != nil && s.keep.Connected(row.Channel) {
			continue
		}
		err = s.dropOldest(ctx, row.Channel, row.Parts)
	}
	return err
}

// dropOldest drops what is too old of the parts that wait for a channel, and of the others what is
// too much.
func (s *sweeper) dropOldest(ctx context.Context, channel string, parts int64) error {
	var dropped int64
	drop := func(limit, before int64) (n int64, err error) {
		return s.batch(ctx, func(t *database.Tx) (int64, error) {
			var fence int64
			if _, err := t.Row(t.Locked(outbox.LockLease), []any{channel}, &fence); err != nil {
				return 0, err
			}
			ids, err := t.IDs(oldestWaiting, channel, before, limit)
			if err != nil || len(ids) == 0 {
				return 0, err
			}
			marks, args := database.In(ids)
			return t.Exec(dropWaiting+marks+`)`, append([]any{t.Now}, args...)...)
		})
	}
	n, err := int64(batchRows), error(nil)
	for err == nil && n >= batchRows {
		n, err = drop(batchRows, s.before(awayKept))
		dropped += n
	}
	for most := int64(s.keep.AwayLimit); err == nil && most > 0 && parts-dropped > most; dropped += n {
		if n, err = drop(min(parts-dropped-most, batchRows), s.before(0)); n == 0 {
			break
		}
	}
	if dropped > 0 && s.keep.DroppedFor != nil {
		s.keep.DroppedFor(channel, dropped)
	}
	return err
}
