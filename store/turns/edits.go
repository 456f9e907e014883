package turns

import (
	"slices"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

// What an edit does to a running turn: EditIntent.OnEdit.
const (
	OnEditSteer   = "steer"
	OnEditRestart = "restart"
	OnEditIgnore  = "ignore"
)

const (
	// shownMessages are the states of one message of a platform, the newest first.
	shownMessages = `
		SELECT m.id, m.class, coalesce(m.said, m.text) AS text, coalesce(m.replaces, m.id) AS first, m.attachments AS count,
			coalesce(t.id, 0) AS turn_id, coalesce(t.state, '') AS state, coalesce(t.outcome, '') AS outcome, coalesce(t.person, '') AS person, coalesce(t.rank, 0) AS rank,
			coalesce(t.ordered, FALSE) AS ordered
		FROM messages m LEFT JOIN turns t ON t.id = m.turn_id
		WHERE m.conversation_id = ? AND m.direction = 'in' AND m.platform_id = ? AND m.platform_id <> '' ORDER BY m.id DESC`
	storedFiles = `SELECT platform_id, kind, name, type, size FROM attachments WHERE message_id = ? ORDER BY position`
	replaceText = `
		UPDATE messages SET text = ?, said = NULL, quote = ?, outside = ?, forwarded_from = ?,
			taint = ?, attachments = ? WHERE id = ?`
	// reorder: what was collected into a turn is none of an order.
	reorder = `
		UPDATE turns SET ordered = ? WHERE message_id = ? AND rank > 0 AND retry_of IS NULL
		AND NOT EXISTS (SELECT 1 FROM turns y WHERE y.merged_into = turns.id)`
	deleteFiles   = `DELETE FROM attachments WHERE message_id = ?`
	forgetText    = `UPDATE messages SET text = '', said = NULL, quote = '', forwarded_from = '', attachments = 0, report = substr(report, 1, 0) WHERE id = ?`
	unfindMessage = `DELETE FROM recalled WHERE kind = 'message' AND ref = ?`
	unfindResults = `DELETE FROM recalled WHERE kind = 'result' AND ref = ?`
	forgetFiles   = `UPDATE attachments SET state = 'gone', name = '', blob = '' WHERE message_id = ?`
	countMessages = `SELECT count(*) FROM messages WHERE turn_id = ? AND direction = 'in' AND (text <> '' OR attachments > 0)`
)

// shown is one state of a message, with the turn that answers it.
type shown struct {
	ID                         int64
	Class, Text, State, Person string
	First                      int64 // the row of the message as first taken
	Count                      int
	TurnID                     int64  // 0: none
	Outcome                    string // of the turn
	Rank                       int64  // of the turn; above 0 it has not begun
	Ordered                    bool   // of the turn
}

// worked says that its turn runs, or is put off until its model is back.
func (s *shown) worked() bool {
	return s.State == string(turns.TurnRunning) || s.State == string(turns.TurnQueued) && s.Outcome == agent.OutcomeModelAway
}

func shownBy(t *database.Tx, conversation int64, id channels.MessageID) (states []shown, err error) {
	return database.Select[shown](t, shownMessages, conversation, id)
}

// AcceptEdited decides what the new state of a message does. The session is locked,
// so that its turns stay as they are.
func AcceptEdited(t *database.Tx, owner int64, e *intake.Entry, as *intake.EditIntent, a *intake.Accepted, conversation int64) error {
	states, err := shownBy(t, conversation, e.Event.Message.ID)
	if err != nil {
		return err
	}
	// What was overheard was not taken; the first state that is meant for us is new.
	seen := len(states) > 0
	states = slices.DeleteFunc(states, func(s shown) bool { return s.Class == string(intake.AuditOverheard) })
	if len(states) == 0 {
		a.Edited = intake.EditNew
		return Accept(t, owner, e, as.Turn, a, conversation, sessions.Form{Class: sessions.ClassTurn, Known: seen})
	}
	now := &states[0]
	same, err := same(t, now, &e.Event.Message)
	if err != nil {
		return err
	}
	if same {
		a.Edited, a.MessageID = intake.EditSame, now.ID
		return nil
	}
	if now.Class == string(intake.AuditStranger) {
		a.Edited = intake.EditRevised
		a.MessageID, err = sessions.Incoming(t, e, now.Class, conversation, 0)
		return err
	}
	// The newest state that belongs to a turn: a revision after its end does not.
	of := now
	if i := slices.IndexFunc(states, func(s shown) bool { return s.TurnID != 0 }); i >= 0 {
		of = &states[i]
	}
	revision := sessions.Form{Class: sessions.ClassRevision, Replaces: now.First}
	switch {
	case of.Rank > 0 && of == now:
		a.Edited, a.MessageID, a.TurnID = intake.EditReplaced, now.ID, of.TurnID
		return replace(t, e, as.Turn, now.ID, a.SessionID)
	case of.worked() && !of.Ordered && of.Person == database.Clean(e.Sender.Person) && as.OnEdit != OnEditIgnore && as.OnEdit != "":
		steering := as.Turn
		steering.Mode, steering.Ordered = ModeSteer, false
		a.Edited = intake.EditSteers
		if as.OnEdit == OnEditRestart {
			a.Edited = intake.EditRestarts
		}
		return Queue(t, owner, e, steering, a, conversation, revision)
	}
	a.Edited = intake.EditRevised
	if a.MessageID, _, err = sessions.Untaken(t, e, revision, conversation, a.SessionID); err != nil {
		return err
	}
	events := []sessions.Event{{Kind: "message", Message: a.MessageID}}
	if of == now { // and not after each further edit
		a.Outcome = map[string]intake.Outcome{
			"done": intake.EditTooLate, "waiting": intake.EditAsked, "queued": intake.EditAsked, // or was decided just now
		}[of.State]
		switch {
		case of.Ordered && of.worked():
			a.Outcome = intake.EditTooLate
		case of.worked(): // also one that is put off, which asked nothing
			a.Outcome = ""
		}
		if reply := e.Said(a); reply != nil {
			notice, err := outbox.Outgoing(t, conversation, a.SessionID, 0, reply, nil)
			if err != nil {
				return err
			}
			events = append(events, sessions.Event{Kind: "message", Message: notice})
		}
	}
	a.Event, err = sessions.Emit(t, a.SessionID, events...)
	return err
}

// same says that an edit changed neither text nor attachments.
func same(t *database.Tx, was *shown, m *channels.Message) (bool, error) {
	if was.Text != database.Clean(m.Text) || was.Count != len(m.Attachments) {
		return false, nil
	}
	if was.Count == 0 {
		return true, nil
	}
	type row struct {
		channels.Attachment
		PlatformID string
	}
	files, err := database.Select[row](t, storedFiles, was.ID)
	if err != nil || len(files) != was.Count {
		return false, err
	}
	for i, a := range m.Attachments {
		looks := channels.Attachment{Kind: a.Kind, Name: database.Clean(a.Name), Type: database.Clean(a.Type), Size: a.Size}
		// A platform may give a file another reference each time it tells of it.
		if files[i].PlatformID != database.Clean(a.ID) && (a.Size == 0 || files[i].Attachment != looks) {
			return false, nil
		}
	}
	return true, nil
}

// replace gives a message that waits its new state.
func replace(t *database.Tx, e *intake.Entry, turn intake.TurnIntent, id, session int64) error {
	m := &e.Event.Message
	err := t.Run(
		database.Do(replaceText, m.Text, m.Quote, m.Outside(), m.Origin, e.Taint, len(m.Attachments), id),
		database.Do(reorder, turn.Ordered, id),
	)
	if err == nil && turn.Retry == nil {
		err = t.Do(forgetRetry, id) // it says something of its own now
	}
	if err == nil {
		err = t.Run(database.Do(deleteFiles, id), database.Do(unfindMessage, id))
	}
	if err != nil {
		return err
	}
	return sessions.Attach(t, e, id, session)
}

// AcceptDeleted forgets a message that was taken back, and stops the work on it.
// Where nothing is known it makes nothing.
func AcceptDeleted(t *database.Tx, e *intake.Entry, a *intake.Accepted) error {
	if _, known, err := sessions.FindPlace(t, sessions.CleanConversation(e.Event.Conversation)); err != nil || !known {
		return err
	}
	conversation, _, err := sessions.Arrived(t, e.Event.Conversation)
	if err != nil {
		return err
	}
	if a.SessionID, _, _, err = sessions.SessionOf(t, conversation); err != nil {
		return err
	}
	states, err := shownBy(t, conversation, e.Event.Message.ID)
	if err != nil {
		return err
	}
	var stopped []int64
	for i := range states {
		s := &states[i]
		if _, err := t.Each([]string{forgetText, forgetFiles, unfindMessage}, []any{s.ID}); err != nil {
			return err
		}
		if err := t.Do(unfindResults, s.TurnID); err != nil {
			return err
		}
		if s.TurnID == 0 || slices.Contains(stopped, s.TurnID) {
			continue
		}
		if !turns.TurnState(s.State).Open() {
			if err := takeBackRetry(t, s.TurnID, a); err != nil {
				return err
			}
			continue
		}
		stopped = append(stopped, s.TurnID)
		if err := takeBack(t, s, a); err != nil {
			return err
		}
	}
	return nil
}

// takeBack ends the turn of a message that was taken back, when nothing else is
// left of it to answer, or asks it to stop.
func takeBack(t *database.Tx, s *shown, a *intake.Accepted) error {
	if s.Rank > 0 {
		var left int
		if _, err := t.Row(countMessages, []any{s.TurnID}, &left); err != nil || left > 0 {
			return err
		}
	}
	return stop(t, s.TurnID, a)
}
