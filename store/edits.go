package store

import (
	"slices"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/ledger"
)

// What an edit does to a running turn: AsEdit.OnEdit.
const (
	onEditSteer   = "steer"
	onEditRestart = "restart"
	onEditIgnore  = "ignore"
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
	forgetText    = `UPDATE messages SET text = '', said = NULL, quote = '', forwarded_from = '', attachments = 0 WHERE id = ?`
	forgetFiles   = `UPDATE attachments SET state = 'gone', name = '', blob = '' WHERE message_id = ?`
	countMessages = `SELECT count(*) FROM messages WHERE turn_id = ? AND direction = 'in' AND (text <> '' OR attachments > 0)`
)

// shown is one state of a message, with the turn that answers it.
type shown struct {
	ID          int64
	Class, Text string
	First       int64 // the row of the message as first taken
	Count       int
	TurnID      int64 `db:"turn_id"` // 0: none
	State       string
	Outcome     string // of the turn
	Person      string
	Rank        int64 // of the turn; above 0 it has not begun
	Ordered     bool  // of the turn
}

// worked says that its turn runs, or is put off until its model is back.
func (s *shown) worked() bool {
	return s.State == string(ledger.TurnRunning) || s.State == string(ledger.TurnQueued) && s.Outcome == agent.OutcomeModelAway
}

func (t *tx) shown(conversation int64, id channels.MessageID) (states []shown, err error) {
	err = t.All(&states, shownMessages, conversation, clean(string(id)))
	return states, err
}

// acceptEdited decides what the new state of a message does. The session is locked,
// so that its turns stay as they are.
func (t *tx) acceptEdited(owner int64, e *ledger.Entry, as *ledger.AsEdit, a *ledger.Accepted, conversation int64) error {
	states, err := t.shown(conversation, e.Event.Message.ID)
	if err != nil {
		return err
	}
	// What was overheard was not taken; the first state that is meant for us is new.
	seen := len(states) > 0
	states = slices.DeleteFunc(states, func(s shown) bool { return s.Class == string(ledger.AuditOverheard) })
	if len(states) == 0 {
		a.Edited = ledger.EditNew
		return t.acceptTurn(owner, e, as.Turn, a, conversation, form{class: classTurn, known: seen})
	}
	now := &states[0]
	same, err := t.same(now, &e.Event.Message)
	if err != nil {
		return err
	}
	if same {
		a.Edited, a.MessageID = ledger.EditSame, now.ID
		return nil
	}
	if now.Class == string(ledger.AuditStranger) {
		a.Edited = ledger.EditRevised
		a.MessageID, err = t.incoming(e, now.Class, conversation, 0)
		return err
	}
	// The newest state that belongs to a turn: a revision after its end does not.
	of := now
	if i := slices.IndexFunc(states, func(s shown) bool { return s.TurnID != 0 }); i >= 0 {
		of = &states[i]
	}
	revision := form{class: classRevision, replaces: now.First}
	switch {
	case of.Rank > 0 && of == now:
		a.Edited, a.MessageID, a.TurnID = ledger.EditReplaced, now.ID, of.TurnID
		return t.replace(e, as.Turn, now.ID, a.SessionID)
	case of.worked() && !of.Ordered && of.Person == clean(e.Sender.Person) && as.OnEdit != onEditIgnore && as.OnEdit != "":
		steering := as.Turn
		steering.Mode, steering.Ordered = modeSteer, false
		a.Edited = ledger.EditSteers
		if as.OnEdit == onEditRestart {
			a.Edited = ledger.EditRestarts
		}
		return t.queueTurn(owner, e, steering, a, conversation, revision)
	}
	a.Edited = ledger.EditRevised
	if a.MessageID, _, err = t.untaken(e, revision, conversation, a.SessionID); err != nil {
		return err
	}
	events := []event{{Kind: "message", Message: a.MessageID}}
	if of == now { // and not after each further edit
		a.Situation = map[string]ledger.Situation{
			"done": ledger.EditTooLate, "waiting": ledger.EditAsked, "queued": ledger.EditAsked, // or was decided just now
		}[of.State]
		switch {
		case of.Ordered && of.worked():
			a.Situation = ledger.EditTooLate
		case of.worked(): // also one that is put off, which asked nothing
			a.Situation = ""
		}
		if reply := e.Replies[a.Situation]; reply != nil {
			notice, err := t.outgoing(conversation, a.SessionID, 0, reply, nil)
			if err != nil {
				return err
			}
			events = append(events, event{Kind: "message", Message: notice})
		}
	}
	a.Event, err = t.emit(a.SessionID, events...)
	return err
}

// same says that an edit changed neither text nor attachments.
func (t *tx) same(was *shown, m *channels.Message) (bool, error) {
	if was.Text != clean(m.Text) || was.Count != len(m.Attachments) {
		return false, nil
	}
	if was.Count == 0 {
		return true, nil
	}
	var files []struct {
		PlatformID       string `db:"platform_id"`
		Kind, Name, Type string
		Size             int64
	}
	if err := t.All(&files, storedFiles, was.ID); err != nil || len(files) != was.Count {
		return false, err
	}
	for i, a := range m.Attachments {
		f := channels.Attachment{Kind: channels.AttachmentKind(files[i].Kind), Name: files[i].Name, Type: files[i].Type, Size: files[i].Size}
		looks := channels.Attachment{Kind: a.Kind, Name: clean(a.Name), Type: clean(a.Type), Size: a.Size}
		// A platform may give a file another reference each time it tells of it.
		if files[i].PlatformID != clean(a.ID) && (a.Size == 0 || f != looks) {
			return false, nil
		}
	}
	return true, nil
}

// replace gives a message that waits its new state.
func (t *tx) replace(e *ledger.Entry, turn ledger.AsTurn, id, session int64) error {
	m := &e.Event.Message
	_, err := t.Exec(replaceText, clean(m.Text), clean(m.Quote), m.Outside(), clean(m.Origin), clean(string(e.Taint)), len(m.Attachments), id)
	if err == nil {
		_, err = t.Exec(reorder, turn.Ordered, id)
	}
	if err == nil && turn.Retry == nil {
		_, err = t.Exec(forgetRetry, id) // it says something of its own now
	}
	if err == nil {
		_, err = t.Exec(deleteFiles, id)
	}
	if err != nil {
		return err
	}
	return t.attach(e, id, session)
}

// acceptDeleted forgets a message that was taken back, and stops the work on it.
// Where nothing is known it makes nothing.
func (t *tx) acceptDeleted(e *ledger.Entry, a *ledger.Accepted) error {
	if _, known, err := t.find(cleanConversation(e.Event.Conversation)); err != nil || !known {
		return err
	}
	conversation, _, err := t.conversation(e.Event.Conversation)
	if err != nil {
		return err
	}
	if a.SessionID, _, _, err = t.sessionOf(conversation); err != nil {
		return err
	}
	states, err := t.shown(conversation, e.Event.Message.ID)
	if err != nil {
		return err
	}
	var stopped []int64
	for i := range states {
		s := &states[i]
		if _, err := t.each([]string{forgetText, forgetFiles}, []any{s.ID}); err != nil {
			return err
		}
		if s.TurnID == 0 || slices.Contains(stopped, s.TurnID) {
			continue
		}
		if !ledger.TurnState(s.State).Open() {
			if err := t.takeBackRetry(s.TurnID, a); err != nil {
				return err
			}
			continue
		}
		stopped = append(stopped, s.TurnID)
		if err := t.takeBack(s, a); err != nil {
			return err
		}
	}
	return nil
}

// takeBack ends the turn of a message that was taken back, when nothing else is
// left of it to answer, or asks it to stop.
func (t *tx) takeBack(s *shown, a *ledger.Accepted) error {
	if s.Rank > 0 {
		var left int
		if _, err := t.Row(countMessages, []any{s.TurnID}, &left); err != nil || left > 0 {
			return err
		}
	}
	return t.stop(s.TurnID, a)
}

// stop ends a turn of which nothing is left to answer, or asks it to stop.
func (t *tx) stop(turn int64, a *ledger.Accepted) error {
	a.TurnID = turn
	ended, err := t.cancel(turn)
	if err != nil {
		return err
	}
	if !ended {
		a.CancelTurn = turn
		return nil
	}
	a.Dropped, a.Waiting = []int64{turn}, true // it may have waited for a decision, and what stood behind it may begin
	_, err = t.emit(a.SessionID, turnEvent(turn, "cancelled", cancelled))
	return err
}
