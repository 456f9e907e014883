package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router"
	routerapprovals "switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/intake"
	routerpeople "switchboard/router/people"
	routersessions "switchboard/router/sessions"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

var (
	_ router.Store           = (*Router)(nil)
	_ routerpeople.Directory = (*Router)(nil)
	_ files.Store            = (*Router)(nil)
)

const (
	knownKeys      = `SELECT key FROM event_keys WHERE expires_at > ? AND key IN (%s)`
	insertRejected = `INSERT INTO rejected (channel, conversation, reason, raw, created_at) VALUES (?, ?, ?, ?, ?)`
	// openTurn is what a person means by "cancel": the turn that runs, else the one
	// that is next. With none it is the newest that waits, waitingTurn.
	openTurn = `
		SELECT id FROM turns WHERE session_id = ? AND rank IS NOT NULL AND (? OR person = ?) ORDER BY rank LIMIT 1`
	waitingTurn = `
		SELECT id FROM turns WHERE session_id = ? AND parked_at IS NOT NULL AND state = 'waiting' AND (? OR person = ?) ORDER BY id DESC LIMIT 1`
	askedTurns = `
		SELECT id FROM turns WHERE session_id = ? AND parked_at IS NOT NULL AND state = 'waiting'
		AND EXISTS (SELECT 1 FROM approvals p WHERE p.turn_id = turns.id AND p.state = 'proposed') ORDER BY id`
	resetSession = `
		UPDATE sessions SET summary = '', summary_taint = '', instructions = '', reset_message = ?,
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0)
		WHERE id = ?`
)

// Accept commits all entries in one transaction, durable to power loss, and returns one result an entry, in
// order.
func (r *Router) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	for i := range entries {
		if err := acceptable(&entries[i]); err != nil {
			return nil, fmt.Errorf("accept: entry %d: %w", i, err)
		}
		if as, ok := entries[i].Intent.(*intake.ControlIntent); ok && as.Reply != nil {
			as.Reply.Person = entries[i].Sender.Person
		}
	}
	if r.db.PG() && !slices.ContainsFunc(entries, unusual) {
		if out, err := r.db.callAccept(ctx, owner, entries); !isOpenQuestion(err) {
			return out, err
		}
	}
	return database.Write(ctx, r.db.DB, database.Durable, "accept", func(t *database.Tx) ([]intake.Accepted, error) {
		out := make([]intake.Accepted, len(entries))
		if err := lockDecided(t, entries); err != nil {
			return nil, err
		}
		for i := range entries {
			if err := accept(t, owner, &entries[i], &out[i]); err != nil {
				return nil, err
			}
			if out[i].Outcome == intake.CommandPressed { // it is not taken in yet
				continue
			}
			if err := sessions.Note(t, &entries[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// Known says which of these keys are committed already, by the key.
func (r *Router) Known(ctx context.Context, keys [][]byte) (known map[string]bool, err error) {
	type row struct{ Key []byte }
	marks, args := database.In(keys)
	rows, err := database.List[row](ctx, r.db.DB, "look for known events", fmt.Sprintf(knownKeys, marks), append([]any{r.db.Now()}, args...)...)
	if err != nil {
		return nil, err
	}
	known = make(map[string]bool, len(rows))
	for _, row := range rows {
		known[string(row.Key)] = true
	}
	return known, nil
}

func accept(t *database.Tx, owner int64, e *intake.Entry, a *intake.Accepted) error {
	fresh, err := t.Has(sessions.InsertKey, e.Key, t.Now+sessions.KeyLives(e).Microseconds(), t.Now)
	if err != nil {
		return err
	}
	if !fresh {
		a.Duplicate = true
		return nil
	}
	if _, news := e.Intent.(*intake.NewsIntent); news {
		return acceptNews(t, e, a)
	}
	audit, audited := e.Intent.(*intake.AuditIntent)
	if audited && audit.Why == intake.AuditRejected {
		return reject(t, e, audit.Reason, a)
	}
	conversation, key, err := sessions.Arrived(t, e.Event.Conversation)
	if err != nil {
		return err
	}
	if audited && audit.Why != intake.AuditNote {
		a.MessageID, err = sessions.Incoming(t, e, string(audit.Why), conversation, 0)
		return err
	}
	if e.Sender.New {
		if err := people.NewPerson(t, e.Sender.Person, e.Sender.Identity); err != nil {
			return err
		}
	}
	switch as := e.Intent.(type) {
	case *routerpeople.CodeIntent:
		if e, err = people.UseCode(t, e, as, a); err != nil {
			return err
		} else if e.Sender.Person == "" {
			return people.AcceptStranger(t, e, a, conversation, key)
		}
	case *routerpeople.PairingIntent:
		if err := people.AskPairing(t, e, as, a); err != nil {
			return err
		}
		return people.AcceptStranger(t, e, a, conversation, key)
	}
	person := ""
	if e.Event.Conversation.Kind == channels.Direct {
		person = database.Clean(e.Sender.Person)
	}
	find := sessions.FindOrMake
	if person != "" && e.Event.Sender.Token != "" {
		find = sessions.FindOrOwn
	}
	if a.SessionID, err = find(t, conversation, key, person); errors.Is(err, routersessions.ErrTaken) {
		a.Outcome = intake.OutcomeTaken
		return t.Do(sessions.DropKey, e.Key)
	} else if err != nil {
		return err
	}
	if len(e.Button) > 0 {
		if used, err := outbox.UseButton(t, e, a); err != nil || !used {
			return err
		}
	}
	switch as := e.Intent.(type) {
	case *intake.TurnIntent:
		if said, err := acceptConsent(t, e, as.Says, a, conversation); err != nil || said {
			return err
		}
		switch {
		case as.Retry != nil:
			return turns.AcceptRetry(t, owner, e, *as, a, conversation, sessions.Form{Class: sessions.ClassTurn}, 0)
		case as.Choice:
			row, err := outbox.Action(t, e, nil, a.SessionID)
			if err != nil {
				return err
			}
			return turns.AcceptAction(t, owner, e, row, true, *as, a, conversation)
		}
		return turns.Accept(t, owner, e, *as, a, conversation, sessions.Form{Class: sessions.ClassTurn})
	case *intake.EditIntent:
		return turns.AcceptEdited(t, owner, e, as, a, conversation)
	case *intake.ActionIntent:
		row, err := outbox.Action(t, e, as.Code, a.SessionID)
		if err != nil {
			return err
		}
		if row != nil && row.Approval != 0 {
			return pressDecision(t, e, row, a)
		}
		return turns.AcceptAction(t, owner, e, row, len(as.Code) == 0, as.Turn, a, conversation)
	case *routerpeople.CodeIntent:
		return outbox.Say(t, e, a, conversation, sessions.ClassControl, a.Outcome)
	case *routerapprovals.DecisionIntent:
		return acceptDecision(t, e, as, a, conversation)
	case *routerapprovals.RevokeIntent:
		return approvals.Revoke(t, e, as, a, conversation)
	case *intake.ControlIntent:
		return acceptControl(t, e, as, a, conversation)
	}
	_, err = outbox.Answer(t, e, a, conversation, string(audit.Why), nil)
	return err
}

// acceptNews follows what a platform says of a conversation, or of a message.
func acceptNews(t *database.Tx, e *intake.Entry, a *intake.Accepted) error {
	switch e.Event.Kind {
	case channels.EventMoved:
		return acceptMoved(t, e, a)
	case channels.EventMember:
		return outbox.AcceptMember(t, e)
	}
	return turns.AcceptDeleted(t, e, a)
}

func reject(t *database.Tx, e *intake.Entry, reason string, a *intake.Accepted) error {
	a.Rejected = reason
	c := e.Event.Conversation
	return t.Do(insertRejected, c.Channel, c.ID, reason, rawOf(e), t.Now)
}

// rawOf is what came, never NULL.
func rawOf(e *intake.Entry) []byte { return append([]byte{}, e.Event.Raw...) }

// acceptControl does what a command does, and answers it.
func acceptControl(t *database.Tx, e *intake.Entry, as *intake.ControlIntent, a *intake.Accepted, conversation int64) error {
	switch {
	case as.Effect == intake.EffectCancel:
		return acceptCancel(t, e, as, a, conversation)
	case as.Change != nil:
		return acceptChange(t, e, as, a, conversation)
	}
	reply := as.Reply
	if as.Effect == intake.EffectReset {
		var err error
		if a.Dropped, err = t.IDs(askedTurns, a.SessionID); err != nil {
			return err
		}
		if len(a.Dropped) > 0 {
			a.Outcome = intake.ResetAsked
			reply = e.Said(a)
		}
	}
	newest, err := outbox.Answer(t, e, a, conversation, controlClass(as), reply)
	if err != nil {
		return err
	}
	if as.Effect == intake.EffectLink {
		return t.Do(people.CancelLinks, t.Now, e.Sender.Person, newest)
	}
	if as.Effect == intake.EffectReset {
		// Up to the newest message, so that the command and its reply are
		// forgotten too.
		if err := t.Run(database.Do(resetSession, newest, a.SessionID), database.Do(approvals.RevokeSession, t.Now, a.SessionID)); err != nil {
			return err
		}
		if err := endAsked(t, e, a); err != nil {
			return err
		}
		return audit.Write(t, audit.ActorOf(e), audit.Entry{Action: "session.reset", Target: "session " + core.SessionKey(e.Event.Conversation), Outcome: "done", Session: a.SessionID})
	}
	return nil
}

// endAsked ends the turns that wait for a decision, a.Dropped.
func endAsked(t *database.Tx, e *intake.Entry, a *intake.Accepted) error {
	for _, turn := range a.Dropped {
		if _, err := turns.Cancel(t, turn); err != nil {
			return err
		}
		if err := auditOther(t, e, turn, a.SessionID); err != nil {
			return err
		}
		if _, err := sessions.Emit(t, a.SessionID, sessions.TurnEvent(turn, "cancelled", turns.Cancelled)); err != nil {
			return err
		}
	}
	return nil
}

// acceptCancel ends the open turn when nobody works on it, and else asks it to stop.
func acceptCancel(t *database.Tx, e *intake.Entry, as *intake.ControlIntent, a *intake.Accepted, conversation int64) error {
	var turn int64
	args := []any{a.SessionID, as.AnyPerson, e.Sender.Person}
	waits := false
	found, err := t.Row(openTurn, args, &turn)
	if err == nil && !found {
		found, err = t.Row(waitingTurn, args, &turn)
		waits = found
	}
	if err != nil {
		return err
	}
	if !found {
		return outbox.Say(t, e, a, conversation, sessions.ClassControl, intake.OutcomeIdle)
	}
	ended, err := turns.Cancel(t, turn)
	if err == nil && as.AnyPerson {
		err = auditOther(t, e, turn, a.SessionID)
	}
	if err != nil {
		return err
	}
	if !ended {
		a.CancelTurn = turn
		_, err := outbox.Answer(t, e, a, conversation, sessions.ClassControl, nil)
		return err
	}
	a.Waiting = !waits // what stood behind it may begin
	if waits {
		a.Dropped = []int64{turn}
	}
	if err := outbox.Say(t, e, a, conversation, sessions.ClassControl, intake.OutcomeDropped); err != nil {
		return err
	}
	// Behind the command's own event, from which a client reads on.
	_, err = sessions.Emit(t, a.SessionID, sessions.TurnEvent(turn, "cancelled", turns.Cancelled))
	return err
}

// auditOther writes that somebody stopped another person's turn.
func auditOther(t *database.Tx, e *intake.Entry, turn, session int64) error {
	var person string
	if _, err := t.Row(sessions.PersonOf, []any{turn}, &person); err != nil || person == database.Clean(e.Sender.Person) {
		return err
	}
	return turns.WriteCancel(t, audit.ApproverOf(e), session, turn)
}

// controlClass is how the message of a control entry is kept.
func controlClass(as *intake.ControlIntent) string {
	if as.Refused {
		return sessions.ClassNotice
	}
	return sessions.ClassControl
}

// lockDecided is sessions.LockInOrder for entries of which some decide.
func lockDecided(t *database.Tx, entries []intake.Entry) error {
	var codes [][]byte
	chats := make([]channels.Conversation, len(entries))
	for i := range entries {
		chats[i] = entries[i].Event.Conversation
		switch as := entries[i].Intent.(type) {
		case *routerapprovals.DecisionIntent:
			codes = append(codes, as.Code)
		case *intake.ActionIntent:
			codes = append(codes, as.Code)
		case *routerpeople.CodeIntent:
			codes = append(codes, as.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return sessions.LockInOrder(t, chats, codes)
}
