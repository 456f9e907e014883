package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/ledger"
)

const (
	// chatOf is a conversation whether or not anybody wrote in it.
	chatOf = `
		SELECT c.channel, c.conversation, c.kind, c.place, c.title, coalesce(s.person, ''),
			CASE WHEN coalesce(s.person, '') = '' THEN '' ELSE coalesce((SELECT m.identity` + theirLast + `), '') END
		FROM conversations c LEFT JOIN sessions s ON s.conversation_id = c.id WHERE c.id = ?`
	isPerson   = `SELECT 1 FROM people WHERE name = ?`
	runsJob    = `SELECT id FROM jobs WHERE id = (SELECT job_id FROM runs WHERE id = ?)`
	dueRun     = `SELECT job_id FROM runs WHERE id = ? AND state = 'due' AND try = ?`
	runBegins  = `UPDATE runs SET state = 'running', turn_id = ?, started_at = coalesce(started_at, ?) WHERE id = ?`
	runSaid    = `UPDATE runs SET state = 'done', message_id = ?, started_at = coalesce(started_at, ?), finished_at = ? WHERE id = ?`
	jobSpoke   = `UPDATE jobs SET failures = 0 WHERE id = ? AND failures > 0`
	keepNotice = `INSERT INTO notifications (person, job_id, run_id, text, taint, created_at) VALUES (?, ?, ?, ?, ?, ?)`
	turnTerms  = `SELECT coalesce(terms, '') FROM turns WHERE id = ?`
)

// Chat implements router.Submissions.
func (r *Router) Chat(ctx context.Context, conv channels.Conversation) (c ledger.Chat, err error) {
	err = r.db.read(ctx, "look up a conversation", func(t *tx) error {
		p, found, err := t.find(cleanConversation(conv))
		if err == nil && found {
			found, err = t.Row(chatOf, []any{p.id}, &c.Channel, &c.ID, &c.Kind, &c.Place, &c.Title, &c.Person, &c.Identity)
		}
		if err == nil && !found {
			err = ledger.ErrNotFound
		}
		return err
	})
	return c, err
}

// Submit implements router.Submissions.
func (r *Router) Submit(ctx context.Context, owner int64, s ledger.Submission, turn ledger.AsTurn, say *ledger.Reply) (a ledger.Accepted, err error) {
	err = r.db.write(ctx, full, "submit", func(t *tx) error {
		a = ledger.Accepted{}
		return t.submit(owner, &s, turn, say, &a)
	})
	if err != nil {
		return ledger.Accepted{}, err
	}
	return a, nil
}

// Tell implements router.Submissions.
func (r *Router) Tell(ctx context.Context, key []byte, conv channels.Conversation, reply ledger.Reply, missed []int64) error {
	return r.db.write(ctx, full, "tell", func(t *tx) error {
		untold, err := t.tell(missed)
		if err == nil && untold {
			_, err = t.notify(key, keysLive, conv, &reply)
		}
		return err
	})
}

func (t *tx) submit(owner int64, s *ledger.Submission, turn ledger.AsTurn, say *ledger.Reply, a *ledger.Accepted) error {
	job := int64(0)
	if s.Run != 0 {
		if _, err := t.Row(t.Locked(runsJob), []any{s.Run}, &job); err != nil { // before its runs
			return err
		}
		if due, err := t.Row(t.Locked(dueRun), []any{s.Run, s.Try}, &job); err != nil || !due {
			a.Duplicate = err == nil
			return err
		}
	}
	person := clean(s.Person)
	if person != "" {
		var one int
		if known, err := t.Row(t.kept(isPerson, ""), []any{person}, &one); err != nil {
			return err
		} else if !known {
			if away, err := t.awayNamed(person); err != nil {
				return err
			} else if away != nil {
				return ledger.ErrPersonAway
			}
			a.Refusal = ledger.RefusedPerson + ": " + person + " is not known any more"
			return nil
		}
	}
	p, found, err := t.find(cleanConversation(s.To))
	switch {
	case err != nil:
		return err
	case !found || p.gone:
		a.Refusal = fmt.Sprintf("%s: %s is not known, or closed to me", ledger.RefusedConversation, ledger.SessionKey(s.To))
		return nil
	}
	if a.SessionID, err = t.session(p.id, p.key, ""); err != nil {
		return err
	}
	if say == nil {
		var queued int
		if _, err := t.Row(countQueued, []any{a.SessionID}, &queued); err != nil {
			return err
		} else if queued >= max(turn.QueueLimit/2, 1) { // the other half is the people's
			a.Refusal = fmt.Sprintf("%s: %d messages wait in %s already", ledger.RefusedBusy, queued, p.key)
			return nil
		}
	}
	key := sha256.Sum256([]byte("submission\x00" + s.Key))
	var one int
	if fresh, err := t.Row(insertKey, []any{key[:], t.now + keysLive.Microseconds(), t.now}, &one); err != nil || !fresh {
		a.Duplicate = err == nil
		return err
	}
	if say == nil {
		return t.submitTurn(owner, s, job, turn, a, p.id)
	}
	return t.submitSaid(s, job, say, a, p.id)
}

// submitTurn queues a turn that nobody typed.
func (t *tx) submitTurn(owner int64, s *ledger.Submission, job int64, turn ledger.AsTurn, a *ledger.Accepted, conversation int64) error {
	e := &ledger.Entry{
		Event:  channels.Event{Conversation: s.To, Message: channels.Message{Text: s.Text}},
		Sender: ledger.Sender{Person: s.Person, Rule: s.Rule}, Origin: s.Origin, Taint: s.Taint,
	}
	terms := s.Terms
	terms.Run, terms.Job, terms.Seen = s.Run, job, s.Seen
	turn.Mode, turn.Ordered, turn.Terms = modeQueue, true, &terms
	if err := t.queueTurn(owner, e, turn, a, conversation, form{class: classTurn}); err != nil || s.Run == 0 {
		return err
	}
	_, err := t.Exec(runBegins, a.TurnID, t.now, s.Run)
	return err
}

// submitSaid stores a message of ours, with which its run is done.
func (t *tx) submitSaid(s *ledger.Submission, job int64, say *ledger.Reply, a *ledger.Accepted, conversation int64) (err error) {
	if a.MessageID, err = t.outgoing(conversation, a.SessionID, 0, say, nil); err != nil {
		return err
	}
	if s.Notification != "" {
		if _, err := t.Exec(keepNotice, clean(s.Person), orNull(job), orNull(s.Run), clean(s.Notification), clean(string(s.Taint)), t.now); err != nil {
			return err
		}
	}
	if s.Run != 0 {
		if err := t.run(statement{runSaid, []any{a.MessageID, t.now, t.now, s.Run}}, statement{jobSpoke, []any{job}}); err != nil {
			return err
		}
	}
	a.Event, err = t.emit(a.SessionID, event{Kind: "message", Message: a.MessageID})
	return err
}

// termsText is the column terms of a turn.
func termsText(terms *agent.Terms) any {
	if terms == nil {
		return nil
	}
	return jsonText(terms)
}

// jobOf is the job whose work a turn with these terms is; 0: of none.
func jobOf(terms string) int64 { return termsOf(terms).Job }

func termsOf(text string) (t agent.Terms) {
	_ = json.Unmarshal([]byte(text), &t) // where it cannot be read, who runs the turn complains of it
	return t
}

// terms reads what narrows a turn of which the message is not merged: one that nobody typed
// has terms, and calls no tool by name.
func (t *tx) terms(d *ledger.TurnData) error {
	var text string
	if _, err := t.Row(turnTerms, []any{d.Turn.ID}, &text); err != nil || text == "" {
		return err
	}
	d.Ordered, d.Submitted = false, true
	return json.Unmarshal([]byte(text), &d.Turn.Terms)
}
