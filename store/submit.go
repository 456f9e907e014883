package store

import (
	"context"
	"crypto/sha256"
	"fmt"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	routerjobs "switchboard/router/jobs"
	routeroutbox "switchboard/router/outbox"
	routerpeople "switchboard/router/people"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/outbox"
	"switchboard/store/people"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

const (
	// chatOf is a conversation whether or not anybody wrote in it.
	chatOf = `
		SELECT c.channel, c.conversation, c.kind, c.place, c.title, coalesce(s.person, ''),
			CASE WHEN coalesce(s.person, '') = '' THEN '' ELSE coalesce((SELECT m.identity` + outbox.TheirLast + `), '') END
		FROM conversations c LEFT JOIN sessions s ON s.conversation_id = c.id WHERE c.id = ?`
	isPerson   = `SELECT 1 FROM people WHERE name = ?`
	runsJob    = `SELECT id FROM jobs WHERE id = (SELECT job_id FROM runs WHERE id = ?)`
	dueRun     = `SELECT job_id FROM runs WHERE id = ? AND state = 'due' AND try = ?`
	runBegins  = `UPDATE runs SET state = 'running', turn_id = ?, started_at = coalesce(started_at, ?) WHERE id = ?`
	runSaid    = `UPDATE runs SET state = 'done', message_id = ?, started_at = coalesce(started_at, ?), finished_at = ? WHERE id = ?`
	jobSpoke   = `UPDATE jobs SET failures = 0 WHERE id = ? AND failures > 0`
	keepNotice = `INSERT INTO notifications (person, job_id, run_id, text, taint, created_at) VALUES (?, ?, ?, ?, ?, ?)`
)

// Chat is what is known of the conversation of that channel and ID.
func (r *Router) Chat(ctx context.Context, conv channels.Conversation) (c core.Chat, err error) {
	err = r.db.Read(ctx, "look up a conversation", func(t *database.Tx) error {
		p, _, err := sessions.FindPlace(t, sessions.CleanConversation(conv))
		if err == nil { // no conversation has the number 0
			err = t.Must(core.ErrNotFound, chatOf, []any{p.Id}, &c.Channel, &c.ID, &c.Kind, &c.Place, &c.Title, &c.Person, &c.Identity)
		}
		return err
	})
	return c, err
}

// Submit commits s as turn, or as say, which is nil for a turn, and sets its run running or done, in one
// transaction, durable to power loss.
func (r *Router) Submit(ctx context.Context, owner int64, s routerjobs.Submission, turn intake.TurnIntent, say *routeroutbox.Reply) (intake.Accepted, error) {
	return database.Write(ctx, r.db.DB, database.Durable, "submit", func(t *database.Tx) (a intake.Accepted, err error) {
		return a, submit(t, owner, &s, turn, say, &a)
	})
}

// Tell stores a message of ours, unless its key is known, and marks missed runs as told.
func (r *Router) Tell(ctx context.Context, key []byte, conv channels.Conversation, reply routeroutbox.Reply, missed []int64) error {
	return r.db.Write(ctx, database.Durable, "tell", func(t *database.Tx) error {
		untold, err := jobs.Tell(t, missed)
		if err == nil && untold {
			_, err = outbox.Notify(t, key, sessions.KeysLive, conv, &reply)
		}
		return err
	})
}

func submit(t *database.Tx, owner int64, s *routerjobs.Submission, turn intake.TurnIntent, say *routeroutbox.Reply, a *intake.Accepted) error {
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
	person := database.Clean(s.Person)
	if person != "" {
		if known, err := t.Has(sessions.KeyShared(t, isPerson, ""), person); err != nil {
			return err
		} else if !known {
			if away, err := people.AwayNamed(t, person); err != nil {
				return err
			} else if away != nil {
				return routerpeople.ErrAway
			}
			a.Refusal = routerjobs.RefusedPerson + ": " + person + " is not known any more"
			return nil
		}
	}
	p, found, err := sessions.FindPlace(t, sessions.CleanConversation(s.To))
	switch {
	case err != nil:
		return err
	case !found || p.Gone:
		a.Refusal = fmt.Sprintf("%s: %s is not known, or closed to me", routerjobs.RefusedConversation, core.SessionKey(s.To))
		return nil
	}
	if a.SessionID, err = sessions.FindOrMake(t, p.Id, p.Key, ""); err != nil {
		return err
	}
	if say == nil {
		var queued int
		if _, err := t.Row(turns.CountQueued, []any{a.SessionID}, &queued); err != nil {
			return err
		} else if queued >= max(turn.QueueLimit/2, 1) { // the other half is the people's
			a.Refusal = fmt.Sprintf("%s: %d messages wait in %s already", routerjobs.RefusedBusy, queued, p.Key)
			return nil
		}
	}
	key := sha256.Sum256([]byte("submission\x00" + s.Key))
	if fresh, err := t.Has(sessions.InsertKey, key[:], t.Now+sessions.KeysLive.Microseconds(), t.Now); err != nil || !fresh {
		a.Duplicate = err == nil
		return err
	}
	if say == nil {
		return submitTurn(t, owner, s, job, turn, a, p.Id)
	}
	return submitSaid(t, s, job, say, a, p.Id)
}

// submitTurn queues a turn that nobody typed.
func submitTurn(t *database.Tx, owner int64, s *routerjobs.Submission, job int64, turn intake.TurnIntent, a *intake.Accepted, conversation int64) error {
	e := &intake.Entry{
		Event:  channels.Event{Conversation: s.To, Message: channels.Message{Text: s.Text}},
		Sender: intake.Sender{Person: s.Person, Rule: s.Rule}, Origin: s.Origin, Taint: s.Taint,
	}
	terms := s.Terms
	terms.Run, terms.Job, terms.Seen = s.Run, job, s.Seen
	turn.Mode, turn.Ordered, turn.Terms = turns.ModeQueue, true, &terms
	if err := turns.Queue(t, owner, e, turn, a, conversation, sessions.Form{Class: sessions.ClassTurn}); err != nil || s.Run == 0 {
		return err
	}
	return t.Do(runBegins, a.TurnID, t.Now, s.Run)
}

// submitSaid stores a message of ours, with which its run is done.
func submitSaid(t *database.Tx, s *routerjobs.Submission, job int64, say *routeroutbox.Reply, a *intake.Accepted, conversation int64) (err error) {
	if a.MessageID, err = outbox.Outgoing(t, conversation, a.SessionID, 0, say, nil); err != nil {
		return err
	}
	if s.Notification != "" {
		if err := t.Do(keepNotice, s.Person, sessions.OrNull(job), sessions.OrNull(s.Run), s.Notification, s.Taint, t.Now); err != nil {
			return err
		}
	}
	if s.Run != 0 {
		if err := t.Run(database.Do(runSaid, a.MessageID, t.Now, t.Now, s.Run), database.Do(jobSpoke, job)); err != nil {
			return err
		}
	}
	a.Event, err = sessions.Emit(t, a.SessionID, sessions.Event{Kind: "message", Message: a.MessageID})
	return err
}

// jobOf is the job whose work a turn with these terms is; 0: of none.
func jobOf(terms string) int64 { return turns.TermsOf(terms).Job }
