package store

import (
	"cmp"
	"context"

	agentmemory "switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/router/intake"
	routermoney "switchboard/router/money"
	routerturns "switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/memory"
	"switchboard/store/money"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

const (
	conversationByID = `SELECT id, conversation FROM conversations WHERE channel = ? AND conversation = ?`
	rename           = `
		UPDATE conversations SET conversation = ?, kind = ?, place = ?, title = CASE WHEN ? = '' THEN title ELSE ? END,
			gone_at = 0, gone_notified = FALSE
		WHERE id = ?`
	renameSession = `UPDATE sessions SET key = ? WHERE conversation_id = ?`
	// Threads in what moved name the group around them.
	renamePlaces = `UPDATE conversations SET place = ? WHERE channel = ? AND place = ?`
	insertMoved  = `
		INSERT INTO moved (channel, former, conversation_id, moved_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, former) DO UPDATE SET conversation_id = excluded.conversation_id, moved_at = excluded.moved_at`
	forgetMoved = `DELETE FROM moved WHERE channel = ? AND former = ?`
	listMoved   = `
		SELECT m.channel, m.former, c.conversation AS current FROM moved m JOIN conversations c ON c.id = m.conversation_id
		ORDER BY m.moved_at, m.former`
)

// The platform counts messages again under the new ID: the IDs of those before would
// name others.
var forgetPlatformIDs = []string{
	`UPDATE messages SET platform_id = '', reply_to = '' WHERE conversation_id = ?`,
	`UPDATE deliveries SET platform_id = '', reply_to = '' WHERE conversation_id = ?`,
}

// mergeConversation and mergeSession empty one row into another; the arguments are
// the elder and the younger.
var (
	mergeConversation = []string{
		`UPDATE messages SET conversation_id = ? WHERE conversation_id = ?`,
		`UPDATE moved SET conversation_id = ? WHERE conversation_id = ?`,
		`UPDATE jobs SET conversation_id = ? WHERE conversation_id = ?`,
	}
	mergeSession = []string{
		`UPDATE messages SET session_id = ? WHERE session_id = ?`,
		`UPDATE attachments SET session_id = ? WHERE session_id = ?`,
		`UPDATE memories SET session_id = ? WHERE session_id = ?`,
		`UPDATE recalled SET session_id = ? WHERE session_id = ?`,
		`UPDATE actions SET session_id = ? WHERE session_id = ?`,
		`UPDATE approvals SET session_id = ? WHERE session_id = ?`,
	}
)

const (
	moveDeliveries = `
		UPDATE deliveries SET conversation_id = ?, seq = seq + (SELECT next_seq FROM conversations WHERE id = ?) WHERE conversation_id = ?`
	addSeqs = `
		UPDATE conversations SET next_seq = next_seq + (SELECT y.next_seq FROM conversations y WHERE y.id = ?) WHERE id = ?`
	runningHere = `SELECT id FROM turns WHERE session_id = ? AND rank IS NOT NULL AND state = 'running'`
	// Those that go ahead of the queue stay behind those that do so in the elder session.
	moveTurns = `
		UPDATE turns SET session_id = ?, ahead = ahead + (
			SELECT coalesce(min(q.rank), 0) FROM turns q WHERE q.session_id = ? AND q.rank < 0 AND q.state = 'queued')
		WHERE session_id = ?`
	moveEvents = `
		UPDATE events SET session_id = ?, n = n + (SELECT next_event FROM sessions WHERE id = ?) WHERE session_id = ?`
	addEvents = `
		UPDATE sessions SET used_at = ?,
			next_event = next_event + (SELECT y.next_event FROM sessions y WHERE y.id = ?) WHERE id = ?`
	// joinRest: what of either was not looked at, summed up or indexed is so yet; what one kept private stays so.
	joinRest = `
		UPDATE sessions SET restless = TRUE, rest_after = 0, private = CASE WHEN sessions.private = '' THEN y.private ELSE sessions.private END,
			looked_to = CASE WHEN y.looked_to < sessions.looked_to THEN y.looked_to ELSE sessions.looked_to END,
			summed_to = CASE WHEN y.summed_to < sessions.summed_to THEN y.summed_to ELSE sessions.summed_to END,
			reported_to = CASE WHEN y.reported_to < sessions.reported_to THEN y.reported_to ELSE sessions.reported_to END,
			indexed_to = CASE WHEN y.indexed_to < sessions.indexed_to THEN y.indexed_to ELSE sessions.indexed_to END,
			indexed_turn = CASE WHEN y.indexed_turn < sessions.indexed_turn THEN y.indexed_turn ELSE sessions.indexed_turn END,
			left_turn = CASE WHEN y.left_turn > sessions.left_turn THEN y.left_turn ELSE sessions.left_turn END
		FROM sessions y WHERE y.id = ? AND sessions.id = ?`
	dropSummary = `DELETE FROM recalled WHERE kind = 'summary' AND ref = ?`
	// Whoever runs a turn of the younger session finds that its lease is gone, and
	// the turn is taken up where it now belongs. No session has its number again.
	dropLease          = `DELETE FROM leases WHERE kind = 'session' AND name = ?`
	deleteSession      = `DELETE FROM sessions WHERE id = ?`
	deleteConversation = `DELETE FROM conversations WHERE id = ?`
	moveSession        = `UPDATE sessions SET conversation_id = ? WHERE id = ?`
)

// acceptMoved gives a conversation its new ID. Repeating it changes nothing.
func acceptMoved(t *database.Tx, e *intake.Entry, a *intake.Accepted) error {
	c := sessions.CleanConversation(e.Event.Conversation)
	former := channels.ConversationID(database.Clean(string(e.Event.Former)))
	if former == c.ID {
		return nil
	}
	elder, found, err := known(t, c.Channel, former)
	if err != nil {
		return err
	}
	younger, both, err := known(t, c.Channel, c.ID)
	switch {
	case err != nil:
		return err
	case found && both && elder != younger:
		err = mergeInto(t, elder, younger, a)
	case !found && both:
		elder = younger
	case !found: // nothing of it is known but that it moved, which the settings have to know
		elder, _, err = sessions.Arrived(t, c)
	}
	if err != nil {
		return err
	}
	if found && (!both || elder == younger) { // else it was done before the two became one
		if _, err := t.Each(forgetPlatformIDs, []any{elder}); err != nil {
			return err
		}
	}
	return renameTo(t, elder, c, former)
}

// known finds a conversation by exactly this ID.
func known(t *database.Tx, channel string, id channels.ConversationID) (row int64, found bool, err error) {
	var is string
	found, err = t.Row(conversationByID, []any{channel, id}, &row, &is)
	return row, found, err
}

func renameTo(t *database.Tx, id int64, c channels.Conversation, former channels.ConversationID) error {
	place := cmp.Or(c.Place, string(c.ID))
	if c.Kind == channels.Group {
		if err := memory.Rescope(t, agentmemory.OfGroup(c.Channel, string(former)), agentmemory.OfGroup(c.Channel, place)); err != nil {
			return err
		}
	}
	return t.Run(
		database.Do(rename, c.ID, c.Kind, place, c.Title, c.Title, id),
		database.Do(renameSession, sessions.SessionKey(c.Channel, c.ID), id),
		database.Do(renamePlaces, place, c.Channel, former),
		database.Do(forgetMoved, c.Channel, c.ID),
		database.Do(insertMoved, c.Channel, former, id, t.Now),
	)
}

// mergeInto empties the younger conversation into the elder.
func mergeInto(t *database.Tx, elder, younger int64, a *intake.Accepted) error {
	// The elder's alone: the younger's are those of the new ID.
	if _, err := t.Each(forgetPlatformIDs, []any{elder}); err != nil {
		return err
	}
	if err := mergeSessions(t, elder, younger, a); err != nil {
		return err
	}
	if _, err := t.Each(mergeConversation, []any{elder, younger}); err != nil {
		return err
	}
	return t.Run(
		database.Do(moveDeliveries, elder, elder, younger),
		database.Do(addSeqs, younger, elder),
		database.Do(deleteConversation, younger),
	)
}

// mergeSessions does the same with their sessions, of which there may be one or
// none.
func mergeSessions(t *database.Tx, elder, younger int64, a *intake.Accepted) error {
	into, _, found, err := sessions.SessionOf(t, elder)
	if err != nil {
		return err
	}
	from, _, some, err := sessions.SessionOf(t, younger)
	if err != nil || !some {
		return err
	}
	if !found {
		return t.Do(moveSession, elder, from)
	}
	if err := t.Run(database.Do(joinRest, from, into), database.Do(dropSummary, from)); err != nil {
		return err
	}
	if _, err := t.Each(mergeSession, []any{into, from}); err != nil {
		return err
	}
	var running int64 // one of each may be
	if some, err = t.Row(runningHere, []any{from}, &running); err == nil && some {
		err = t.Do(sessions.QueueAhead, t.Now, t.Now, running, routerturns.TurnRunning)
	}
	if err != nil {
		return err
	}
	if err := memory.Rescope(t, agentmemory.OfSession(from), agentmemory.OfSession(into)); err != nil {
		return err
	}
	if err := t.Run(
		database.Do(moveTurns, into, into, from),
		database.Do(moveEvents, into, into, from),
		database.Do(addEvents, t.Now, from, into),
		database.Do(dropLease, database.Digits(from)),
		database.Do(deleteSession, from),
	); err != nil {
		return err
	}
	if err := money.JoinSpending(t, routermoney.SpentInSession, database.Digits(into), database.Digits(from)); err != nil {
		return err
	}
	if some, err = t.Has(turns.HasOpenTurn, into); err != nil || !some {
		return err
	}
	held, err := engines.Held(t, engines.Session, database.Digits(into))
	a.SessionID, a.Waiting = into, !held
	return err
}

// Moved lists every conversation that got a new ID, in order, so that settings written with a former one
// (allow_conversations) go on to mean it.
func (r *Router) Moved(ctx context.Context) ([]intake.Moved, error) {
	return database.List[intake.Moved](ctx, r.db.DB, "list moved conversations", listMoved)
}
