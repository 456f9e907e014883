package store

import (
	"context"
	"fmt"
	"slices"

	"switchboard/channels"
	"switchboard/router"
)

// Router is the database as the router needs it. Its methods may be called from
// several goroutines at once.
type Router struct{ db *DB }

// Router gives the router's view of the database.
func (db *DB) Router() *Router { return &Router{db} }

var (
	_ router.Intake    = (*Router)(nil)
	_ router.Turns     = (*Router)(nil)
	_ router.Outbox    = (*Router)(nil)
	_ router.Directory = (*Router)(nil)
	_ router.Files     = (*Router)(nil)
	_ router.Views     = (*Router)(nil)
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
		INSERT INTO turns (session_id, message_id, person, state, absorb, not_before, asked_at, retry_of, created_at)
		VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?) RETURNING id`
	answeredBy = `UPDATE messages SET turn_id = ? WHERE id = ?`
	// countQueued, like all that is asked often of open turns, is worded so that
	// SQLite reads the index of these alone, and not a session's whole history.
	countQueued = `
		SELECT count(*) FROM turns WHERE session_id = ? AND id > 0 AND state IN ('queued', 'running') AND state = 'queued'`
	// openTurn is what a person means by "cancel": the turn that runs, else the one
	// that is next.
	openTurn = `
		SELECT id FROM turns WHERE session_id = ? AND id > 0 AND state IN ('queued', 'running') AND (? OR person = ?)
		ORDER BY CASE state WHEN 'running' THEN 0 ELSE 1 END, id LIMIT 1`
	resetSession = `
		UPDATE sessions SET summary = '', summary_taint = '', reset_message = ?,
			reset_turn = coalesce((SELECT max(id) FROM turns WHERE session_id = sessions.id), 0)
		WHERE id = ?`
)

// Accept implements router.Intake.
func (r *Router) Accept(ctx context.Context, owner int64, entries []router.Entry) ([]router.Accepted, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	for i := range entries {
		if err := acceptable(&entries[i]); err != nil {
			return nil, fmt.Errorf("accept: entry %d: %w", i, err)
		}
	}
	if r.db.pg != nil && !slices.ContainsFunc(entries, unusual) {
		if out, err := r.db.callAccept(ctx, owner, entries); !isOpenQuestion(err) {
			return out, err
		}
	}
	var out []router.Accepted
	err := r.db.write(ctx, full, "accept", func(t *tx) error {
		out = make([]router.Accepted, len(entries)) // anew when PostgreSQL asks for another try
		for i := range entries {
			if err := t.accept(owner, &entries[i], &out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Known implements router.Intake.
func (r *Router) Known(ctx context.Context, keys [][]byte) (known map[string]bool, err error) {
	err = r.db.read(ctx, "look for known events", func(t *tx) error {
		var rows []struct{ Key []byte }
		marks, args := in(keys)
		if err := t.all(&rows, fmt.Sprintf(knownKeys, marks), append([]any{t.now}, args...)...); err != nil {
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

func (t *tx) accept(owner int64, e *router.Entry, a *router.Accepted) error {
	var one int
	fresh, err := t.row(insertKey, []any{e.Key, t.now + keysLive.Microseconds(), t.now}, &one)
	if err != nil {
		return err
	}
	if !fresh {
		a.Duplicate = true
		return nil
	}
	switch e.Class {
	case router.ClassRejected:
		return t.reject(e, a)
	case router.ClassMoved:
		return t.acceptMoved(e, a)
	case router.ClassMember:
		return t.acceptMember(e)
	case router.ClassDeleted:
		return t.acceptDeleted(e, a)
	}
	conversation, key, err := t.conversation(e.Event.Conversation)
	if err != nil {
		return err
	}
	if e.Class == router.ClassStranger || e.Class == router.ClassOverheard {
		a.MessageID, err = t.incoming(e, e.Class, conversation, 0)
		return err
	}
	if e.NewPerson {
		if err := t.newPerson(e.Person, e.Identity, e.Event.Sender.Team); err != nil {
			return err
		}
	}
	person := ""
	if e.Event.Conversation.Kind == channels.Direct {
		person = clean(e.Person)
	}
	if a.SessionID, err = t.session(conversation, key, person); err != nil {
		return err
	}
	switch e.Class {
	case router.ClassTurn:
		if e.Retry != nil {
			return t.acceptRetry(owner, e, a, conversation, letter{class: string(router.ClassTurn)}, 0)
		}
		if e.ActionText {
			return t.acceptAction(owner, e, a, conversation)
		}
		return t.acceptTurn(owner, e, a, conversation, letter{class: string(router.ClassTurn)})
	case router.ClassEdited:
		return t.acceptEdited(owner, e, a, conversation)
	case router.ClassAction:
		return t.acceptAction(owner, e, a, conversation)
	}
	return t.acceptAnswered(e, a, conversation)
}

func (t *tx) reject(e *router.Entry, a *router.Accepted) error {
	raw := e.Event.Raw
	if raw == nil {
		raw = []byte{} // NULL would say something else
	}
	a.Rejected = e.Reject
	c := e.Event.Conversation
	_, err := t.exec(insertRejected, clean(c.Channel), clean(string(c.ID)), clean(e.Reject), raw, t.now)
	return err
}

// acceptTurn queues a message as a turn, and takes the session for the owner
// when it is idle and there is a worker.
func (t *tx) acceptTurn(owner int64, e *router.Entry, a *router.Accepted, conversation int64, l letter) error {
	if e.Mode == modeCollect {
		if merged, err := t.collect(e, a, conversation, l); err != nil || merged {
			return err
		}
	}
	if e.Busy != nil {
		var queued int
		if _, err := t.row(countQueued, []any{a.SessionID}, &queued); err != nil {
			return err
		}
		if queued >= e.QueueLimit {
			a.Busy = true
			_, err := t.answer(e, a, conversation, router.ClassNotice, e.Busy)
			return err
		}
	}
	return t.queueTurn(owner, e, a, conversation, l)
}

func (t *tx) queueTurn(owner int64, e *router.Entry, a *router.Accepted, conversation int64, l letter) (err error) {
	var taken bool
	if a.MessageID, taken, err = t.untaken(e, l, conversation, a.SessionID); err != nil {
		return err
	}
	if taken {
		*a = duplicate
		return nil
	}
	notBefore := t.until(e)
	a.NotBefore = instant(notBefore)
	if a.TurnID, err = t.insert(insertTurn, a.SessionID, a.MessageID, clean(e.Person), e.Mode == modeSteer, notBefore,
		micros(e.Asked), orNull(l.retryOf), t.now); err != nil {
		return err
	}
	if _, err = t.exec(answeredBy, a.TurnID, a.MessageID); err != nil {
		return err
	}
	if err = t.meet(e, a); err != nil {
		return err
	}
	events := []event{{Kind: "message", Turn: a.TurnID, Message: a.MessageID}, turnEvent(a.TurnID, "queued", "")}
	if e.MayClaim {
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
		held, err := t.held(leaseSession, name(a.SessionID))
		if err != nil {
			return err
		}
		a.Waiting = !held && notBefore == 0
	}
	a.Event, err = t.emit(a.SessionID, events...)
	return err
}

// acceptAnswered applies a control entry, or keeps a notice.
func (t *tx) acceptAnswered(e *router.Entry, a *router.Accepted, conversation int64) error {
	if e.Class == router.ClassControl && e.Effect == router.EffectCancel {
		return t.acceptCancel(e, a, conversation)
	}
	newest, err := t.answer(e, a, conversation, e.Class, e.Reply)
	if err != nil {
		return err
	}
	if e.Class == router.ClassControl && e.Effect == router.EffectReset {
		// Up to the newest message, so that the command and its reply are
		// forgotten too.
		_, err := t.exec(resetSession, newest, a.SessionID)
		return err
	}
	return nil
}

// acceptCancel ends the open turn when it has not begun, and asks it to stop when
// it has.
func (t *tx) acceptCancel(e *router.Entry, a *router.Accepted, conversation int64) error {
	var turn int64
	var ended bool
	reply := e.Reply
	found, err := t.row(openTurn, []any{a.SessionID, e.AnyPerson, clean(e.Person)}, &turn)
	if err == nil && found {
		reply = nil
		if ended, err = t.cancel(turn); ended {
			reply = e.Dropped
		} else {
			a.CancelTurn = turn
		}
	}
	if err != nil {
		return err
	}
	if _, err := t.answer(e, a, conversation, e.Class, reply); err != nil || !ended {
		return err
	}
	// Behind the command's own event, from which a client reads on.
	_, err = t.emit(a.SessionID, turnEvent(turn, "cancelled", cancelled))
	return err
}

// answer stores the message of an entry and a reply to it, which may be nil, and
// returns the newest of the two.
func (t *tx) answer(e *router.Entry, a *router.Accepted, conversation int64, class router.Class, reply *router.Reply) (newest int64, err error) {
	if a.MessageID, err = t.incoming(e, class, conversation, a.SessionID); err != nil {
		return 0, err
	}
	newest = a.MessageID
	events := []event{{Kind: "message", Message: a.MessageID}}
	if reply != nil {
		to := *reply
		to.Person = e.Person
		if newest, err = t.outgoing(conversation, a.SessionID, 0, &to, nil); err != nil {
			return 0, err
		}
		events = append(events, event{Kind: "message", Message: newest})
	}
	a.Event, err = t.emit(a.SessionID, events...)
	return newest, err
}
