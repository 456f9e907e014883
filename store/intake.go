package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router"
	"switchboard/router/files"
	"switchboard/router/ledger"
	"switchboard/store/database"
	"switchboard/store/engines"
)

// Router is the database as the router needs it. Its methods may be called from
// several goroutines at once.
type Router struct{ db *DB }

// Router gives the router's view of the database.
func (db *DB) Router() *Router { return &Router{db} }

var (
	_ router.Ledger    = (*Router)(nil)
	_ router.Directory = (*Router)(nil)
	_ files.Ledger     = (*Router)(nil)
)

const (
	// A key that has expired is as good as unknown.
	insertKey = `
		INSERT INTO event_keys (key, expires_at) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at WHERE event_keys.expires_at <= ?
		RETURNING 1`
	knownKeys      = `SELECT key FROM event_keys WHERE expires_at > ? AND key IN (%s)`
	insertRejected = `INSERT INTO rejected (channel, conversation, reason, raw, created_at) VALUES (?, ?, ?, ?, ?)`
	insertTurn     = `
		INSERT INTO turns (session_id, message_id, person, state, absorb, not_before, asked_at, retry_of, ordered, terms, created_at)
		VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?) RETURNING id`
	answeredBy = `UPDATE messages SET turn_id = ? WHERE id = ?`
	// countQueued counts those that have not begun.
	countQueued = `SELECT count(*) FROM turns WHERE session_id = ? AND rank > 0`
	// openTurn is what a person means by "cancel": the turn that runs, else the one
	// that is next. With none it is the newest that waits, waitingTurn.
	openTurn = `
		SELECT id FROM turns WHERE session_id = ? AND rank IS NOT NULL AND (? OR person = ?) ORDER BY rank LIMIT 1`
	waitingTurn = `
		SELECT id FROM turns WHERE session_id = ? AND parked_at IS NOT NULL AND state = 'waiting' AND (? OR person = ?) ORDER BY id DESC LIMIT 1`
	askedTurns = `
		SELECT id FROM turns WHERE session_id = ? AND parked_at IS NOT NULL AND state = 'waiting'
		AND EXISTS (SELECT 1 FROM approvals p WHERE p.turn_id = turns.id AND p.state = 'proposed') ORDER BY id`
	personOf     = `SELECT person FROM turns WHERE id = ?`
	resetSession = `
		UPDATE sessions SET summary = '', summary_taint = '', reset_message = ?,
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0)
		WHERE id = ?`
)

// Accept implements router.Intake.
func (r *Router) Accept(ctx context.Context, owner int64, entries []ledger.Entry) ([]ledger.Accepted, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	for i := range entries {
		if err := acceptable(&entries[i]); err != nil {
			return nil, fmt.Errorf("accept: entry %d: %w", i, err)
		}
		for _, reply := range replies(&entries[i]) {
			reply.Person = entries[i].Sender.Person
		}
	}
	if r.db.PG() && !slices.ContainsFunc(entries, unusual) {
		if out, err := r.db.callAccept(ctx, owner, entries); !isOpenQuestion(err) {
			return out, err
		}
	}
	var out []ledger.Accepted
	err := r.db.write(ctx, full, "accept", func(t *tx) error {
		out = make([]ledger.Accepted, len(entries)) // anew when PostgreSQL asks for another try
		if err := t.lockDecided(entries); err != nil {
			return err
		}
		unsaid := false
		for i := range entries {
			if err := t.note(&entries[i]); err != nil {
				return err
			}
			if err := t.accept(owner, &entries[i], &out[i]); err != nil {
				return err
			}
			_, said := entries[i].Replies[out[i].Situation]
			unsaid = unsaid || out[i].Situation != "" && !said
		}
		if unsaid {
			return ledger.ErrUnsaid
		}
		return nil
	})
	if err != nil && !errors.Is(err, ledger.ErrUnsaid) {
		return nil, err
	}
	return out, err
}

// Known implements router.Intake.
func (r *Router) Known(ctx context.Context, keys [][]byte) (known map[string]bool, err error) {
	err = r.db.read(ctx, "look for known events", func(t *tx) error {
		var rows []struct{ Key []byte }
		marks, args := database.In(keys)
		if err := t.All(&rows, fmt.Sprintf(knownKeys, marks), append([]any{t.now}, args...)...); err != nil {
			return err
		}
		known = make(map[string]bool, len(rows))
		for _, row := range rows {
			known[string(row.Key)] = true
		}
		return nil
	})
	return known, err
}

func (t *tx) accept(owner int64, e *ledger.Entry, a *ledger.Accepted) error {
	var one int
	fresh, err := t.Row(insertKey, []any{e.Key, t.now + keysLive.Microseconds(), t.now}, &one)
	if err != nil {
		return err
	}
	if !fresh {
		a.Duplicate = true
		return nil
	}
	if _, news := e.As.(*ledger.AsNews); news {
		return t.acceptNews(e, a)
	}
	audit, audited := e.As.(*ledger.AsAudit)
	if audited && audit.Why == ledger.AuditRejected {
		return t.reject(e, audit.Reason, a)
	}
	conversation, key, err := t.conversation(e.Event.Conversation)
	if err != nil {
		return err
	}
	if audited && audit.Why != ledger.AuditNote {
		a.MessageID, err = t.incoming(e, string(audit.Why), conversation, 0)
		return err
	}
	if e.Sender.New {
		if err := t.newPerson(e.Sender.Person, e.Sender.Identity); err != nil {
			return err
		}
	}
	switch as := e.As.(type) {
	case *ledger.AsCode:
		if e, err = t.useCode(e, as, a); err != nil {
			return err
		} else if e.Sender.Person == "" {
			return t.acceptStranger(e, a, conversation, key)
		}
	case *ledger.AsPairing:
		if err := t.askPairing(e, as, a); err != nil {
			return err
		}
		return t.acceptStranger(e, a, conversation, key)
	}
	person := ""
	if e.Event.Conversation.Kind == channels.Direct {
		person = clean(e.Sender.Person)
	}
	if a.SessionID, err = t.session(conversation, key, person); err != nil {
		return err
	}
	if len(e.Button) > 0 {
		if used, err := t.useButton(e, a); err != nil || !used {
			return err
		}
	}
	switch as := e.As.(type) {
	case *ledger.AsTurn:
		if said, err := t.acceptConsent(e, as.Says, a, conversation); err != nil || said {
			return err
		}
		switch {
		case as.Retry != nil:
			return t.acceptRetry(owner, e, *as, a, conversation, form{class: classTurn}, 0)
		case as.Choice:
			return t.acceptAction(owner, e, nil, *as, a, conversation)
		}
		return t.acceptTurn(owner, e, *as, a, conversation, form{class: classTurn})
	case *ledger.AsEdit:
		return t.acceptEdited(owner, e, as, a, conversation)
	case *ledger.AsAction:
		return t.acceptAction(owner, e, as.Code, as.Turn, a, conversation)
	case *ledger.AsCode:
		return t.say(e, a, conversation, classControl, a.Situation)
	case *ledger.AsDecision:
		return t.acceptDecision(e, as, a, conversation)
	case *ledger.AsRevoke:
		return t.acceptRevoke(e, as, a, conversation)
	case *ledger.AsControl:
		return t.acceptControl(e, as, a, conversation)
	}
	_, err = t.answer(e, a, conversation, string(audit.Why), nil)
	return err
}

// acceptNews follows what a platform says of a conversation, or of a message.
func (t *tx) acceptNews(e *ledger.Entry, a *ledger.Accepted) error {
	switch e.Event.Kind {
	case channels.EventMoved:
		return t.acceptMoved(e, a)
	case channels.EventMember:
		return t.acceptMember(e)
	}
	return t.acceptDeleted(e, a)
}

func (t *tx) reject(e *ledger.Entry, reason string, a *ledger.Accepted) error {
	a.Rejected = reason
	c := e.Event.Conversation
	_, err := t.Exec(insertRejected, clean(c.Channel), clean(string(c.ID)), clean(reason), rawOf(e), t.now)
	return err
}

// rawOf is what came, never NULL.
func rawOf(e *ledger.Entry) []byte { return append([]byte{}, e.Event.Raw...) }

// acceptTurn queues a message as a turn, and takes the session for the owner
// when it is idle and there is a worker.
func (t *tx) acceptTurn(owner int64, e *ledger.Entry, turn ledger.AsTurn, a *ledger.Accepted, conversation int64, f form) error {
	if turn.Ordered {
		turn = alone(turn)
	}
	if turn.Mode == modeCollect {
		if merged, err := t.collect(e, turn, a, conversation, f); err != nil || merged {
			return err
		}
	}
	var queued int
	if _, err := t.Row(countQueued, []any{a.SessionID}, &queued); err != nil {
		return err
	}
	if queued >= turn.QueueLimit {
		return t.say(e, a, conversation, classNotice, ledger.SituationBusy)
	}
	return t.queueTurn(owner, e, turn, a, conversation, f)
}

func (t *tx) queueTurn(owner int64, e *ledger.Entry, turn ledger.AsTurn, a *ledger.Accepted, conversation int64, f form) (err error) {
	var taken bool
	if a.MessageID, taken, err = t.untaken(e, f, conversation, a.SessionID); err != nil {
		return err
	}
	if taken {
		*a = duplicate
		return nil
	}
	notBefore := t.until(turn)
	a.NotBefore = instant(notBefore)
	if a.TurnID, err = t.Insert(insertTurn, a.SessionID, a.MessageID, clean(e.Sender.Person), turn.Mode == modeSteer, notBefore,
		micros(turn.Asked), orNull(f.retryOf), turn.Ordered, termsText(turn.Terms), t.now); err != nil {
		return err
	}
	if _, err = t.Exec(answeredBy, a.TurnID, a.MessageID); err != nil {
		return err
	}
	if err = t.meet(e, turn, a); err != nil {
		return err
	}
	events := []event{{Kind: "message", Turn: a.TurnID, Message: a.MessageID}, turnEvent(a.TurnID, "queued", "")}
	if turn.MayClaim {
		var began []event
		if a.Claimed, began, err = t.claim(owner, a.SessionID, nil); err != nil {
			return err
		}
		events = append(events, began...)
		if c := a.Claimed; c != nil {
			// What cannot be read now is read, and complained of, by who runs the turn.
			if c.Data, err = t.load(c.TurnRef); err != nil {
				c.Data = nil
			}
		}
	} else {
		held, err := t.Held(engines.Session, name(a.SessionID))
		if err != nil {
			return err
		}
		a.Waiting = !held && notBefore == 0
	}
	a.Event, err = t.emit(a.SessionID, events...)
	return err
}

// acceptControl does what a command does, and answers it.
func (t *tx) acceptControl(e *ledger.Entry, as *ledger.AsControl, a *ledger.Accepted, conversation int64) error {
	switch {
	case as.Effect == ledger.EffectCancel:
		return t.acceptCancel(e, as, a, conversation)
	case as.Change != nil:
		return t.acceptChange(e, as, a, conversation)
	}
	reply := as.Reply
	if as.Effect == ledger.EffectReset {
		var err error
		if a.Dropped, err = t.ids(askedTurns, a.SessionID); err != nil {
			return err
		}
		if len(a.Dropped) > 0 {
			a.Situation, reply = ledger.ResetAsked, e.Replies[ledger.ResetAsked]
		}
	}
	newest, err := t.answer(e, a, conversation, controlClass(as), reply)
	if err != nil {
		return err
	}
	if as.Effect == ledger.EffectLink {
		_, err := t.Exec(cancelLinks, t.now, clean(e.Sender.Person), newest)
		return err
	}
	if as.Effect == ledger.EffectReset {
		// Up to the newest message, so that the command and its reply are
		// forgotten too.
		if err := t.run(statement{resetSession, []any{newest, a.SessionID}}, statement{revokeSession, []any{t.now, a.SessionID}}); err != nil {
			return err
		}
		if err := t.endAsked(e, a); err != nil {
			return err
		}
		return t.audit(handOf(e), audited{action: "session.reset", target: "session " + ledger.SessionKey(e.Event.Conversation), outcome: "done", session: a.SessionID})
	}
	return nil
}

// endAsked ends the turns that wait for a decision, a.Dropped.
func (t *tx) endAsked(e *ledger.Entry, a *ledger.Accepted) error {
	for _, turn := range a.Dropped {
		if _, err := t.cancel(turn); err != nil {
			return err
		}
		if err := t.auditOther(e, turn, a.SessionID); err != nil {
			return err
		}
		if _, err := t.emit(a.SessionID, turnEvent(turn, "cancelled", cancelled)); err != nil {
			return err
		}
	}
	return nil
}

// acceptCancel ends the open turn when nobody works on it, and else asks it to stop.
func (t *tx) acceptCancel(e *ledger.Entry, as *ledger.AsControl, a *ledger.Accepted, conversation int64) error {
	var turn int64
	args := []any{a.SessionID, as.AnyPerson, clean(e.Sender.Person)}
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
		return t.say(e, a, conversation, classControl, ledger.SituationIdle)
	}
	ended, err := t.cancel(turn)
	if err == nil && as.AnyPerson {
		err = t.auditOther(e, turn, a.SessionID)
	}
	if err != nil {
		return err
	}
	if !ended {
		a.CancelTurn = turn
		_, err := t.answer(e, a, conversation, classControl, nil)
		return err
	}
	a.Waiting = !waits // what stood behind it may begin
	if waits {
		a.Dropped = []int64{turn}
	}
	if err := t.say(e, a, conversation, classControl, ledger.SituationDropped); err != nil {
		return err
	}
	// Behind the command's own event, from which a client reads on.
	_, err = t.emit(a.SessionID, turnEvent(turn, "cancelled", cancelled))
	return err
}

// handOf is who sent an entry.
func handOf(e *ledger.Entry) ledger.Hand {
	return ledger.Hand{Person: clean(e.Sender.Person), Rule: e.Sender.Rule, Button: len(e.Button) > 0}
}

// approverOf is who sent an entry that approvers may send.
func approverOf(e *ledger.Entry) ledger.Hand {
	by := handOf(e)
	by.Rule = ledger.RuleApprover
	return by
}

// auditOther writes that somebody stopped another person's turn.
func (t *tx) auditOther(e *ledger.Entry, turn, session int64) error {
	var person string
	if _, err := t.Row(personOf, []any{turn}, &person); err != nil || person == clean(e.Sender.Person) {
		return err
	}
	return t.auditCancel(approverOf(e), session, turn)
}

// say answers an entry with what is said in a situation.
func (t *tx) say(e *ledger.Entry, a *ledger.Accepted, conversation int64, class string, s ledger.Situation) error {
	a.Situation = s
	_, err := t.answer(e, a, conversation, class, e.Replies[s])
	return err
}

// answer stores the message of an entry and a reply to it, which may be nil, and
// returns the newest of the two.
func (t *tx) answer(e *ledger.Entry, a *ledger.Accepted, conversation int64, class string, reply *ledger.Reply) (newest int64, err error) {
	if a.MessageID, err = t.incoming(e, class, conversation, a.SessionID); err != nil {
		return 0, err
	}
	newest = a.MessageID
	events := []event{{Kind: "message", Message: a.MessageID}}
	if reply != nil {
		if newest, err = t.outgoing(conversation, a.SessionID, 0, reply, nil); err != nil {
			return 0, err
		}
		events = append(events, event{Kind: "message", Message: newest})
	}
	a.Event, err = t.emit(a.SessionID, events...)
	return newest, err
}
