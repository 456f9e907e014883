package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/store/database"
)

const (
	// branchesOf are a session and its branches, those used last first.
	branchesOf = `
		SELECT s.key, c.conversation, s.person FROM sessions s JOIN conversations c ON c.id = s.conversation_id WHERE s.key = ?
		UNION ALL SELECT * FROM (SELECT s.key, c.conversation, s.person FROM sessions s JOIN conversations c ON c.id = s.conversation_id
			WHERE s.branch_of = (SELECT id FROM sessions WHERE key = ?) ORDER BY s.used_at DESC LIMIT ?) AS branches`
	// linesOf is what people wrote and were answered, the newest first: not what jobs asked for, nor what came of that.
	linesOf = `
		SELECT m.id, m.direction = 'out' AS out, m.text, m.taint FROM sessions s JOIN messages m ON m.session_id = s.id
		WHERE s.key = ? AND m.id > s.reset_message AND m.id <= ? AND m.origin <> 'job' AND (m.class IN ('turn', 'note', 'control')
			OR m.class IN ('say', 'reply') AND NOT EXISTS (SELECT 1 FROM turns t JOIN messages y ON y.id = t.message_id WHERE t.id = m.turn_id AND y.origin = 'job'))
		ORDER BY m.session_id DESC, m.id DESC LIMIT ?`
	sessionFork = `SELECT id, summary, summary_taint, summed_to, mode, model, language, timezone, instructions, private FROM sessions WHERE key = ?`
	setFork     = `
		UPDATE sessions SET summary = ?, summary_taint = ?, mode = ?, model = ?, language = ?, timezone = ?, instructions = ?, private = ? WHERE id = ?`
	historyRow = `
		INSERT INTO messages (conversation_id, session_id, direction, class, origin, person, author, text, quote, outside, forwarded_from, taint, attachments,
			happened_at, created_at) `
	copyLine  = historyRow + `SELECT ?, ?, direction, 'note', origin, person, author, text, quote, outside, forwarded_from, taint, attachments, happened_at, created_at FROM messages WHERE id = ? RETURNING id`
	toldLine  = historyRow + `VALUES (?, ?, ?, 'note', 'api', ?, ?, ?, '', FALSE, '', ?, 0, 0, ?) RETURNING id`
	copyFiles = `
		INSERT INTO attachments (message_id, session_id, position, platform_id, kind, name, type, size, state, reason, blob, taint, created_at, used_at)
		SELECT ?, ?, position, platform_id, kind, name, type, size, state, reason, blob, taint, created_at, used_at FROM attachments WHERE message_id = ?`
	lastOfTurn      = `SELECT m.id FROM sessions s JOIN messages m ON m.session_id = s.id WHERE s.key = ? AND m.turn_id = ? ORDER BY m.id DESC LIMIT 1`
	isEmpty         = `SELECT 1 FROM sessions WHERE id = ? AND next_event = 0`
	setBranch       = `UPDATE sessions SET branch_of = (SELECT id FROM sessions WHERE key = ?) WHERE id = ?`
	setInstructions = `UPDATE sessions SET instructions = ? WHERE id = ? AND instructions <> ?`

	chatCall = `SELECT generation, conversation, heard, created_at FROM chat_calls WHERE key = ?`
	putChat  = `
		INSERT INTO chat_calls (key, generation, conversation, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET generation = excluded.generation, conversation = excluded.conversation, heard = FALSE, created_at = excluded.created_at`
	heardChat = `UPDATE chat_calls SET heard = TRUE WHERE key = ? AND generation = ?`
	// DropChats deletes calls that are older than any key of theirs.
	DropChats = `DELETE FROM chat_calls WHERE key IN (SELECT key FROM chat_calls WHERE created_at <= ? ORDER BY created_at LIMIT 500)`
)

const (
	// ChatsLive is how long a call is known.
	ChatsLive = tokenKeysLive + time.Hour
	// maxBranches bounds the branches of a session that are looked at, maxLines the messages of each.
	maxBranches = 20
	maxLines    = 200
)

// everything is a number that no message has reached.
const everything = int64(1) << 62

// Branches are the session with that key and its branches, each with its messages; the session itself is the first. None: there is
// no such session.
func (r *Store) Branches(ctx context.Context, key string) (list []sessions.Branch, err error) {
	err = r.Read(ctx, "look for a session's branches", func(t *database.Tx) error {
		list = nil
		type row struct {
			Key string
			sessions.Branch
		}
		rows, err := database.Select[row](t, branchesOf, database.Clean(key), database.Clean(key), maxBranches)
		for i := range rows {
			b := rows[i].Branch
			if b.Lines, err = lines(t, rows[i].Key, everything); err != nil {
				return err
			}
			list = append(list, b)
		}
		return err
	})
	return list, err
}

// lines reads a session's messages up to one, oldest first.
func lines(t *database.Tx, key string, upto int64) ([]sessions.Line, error) {
	list, err := database.Select[sessions.Line](t, linesOf, database.Clean(key), upto, maxLines)
	slices.Reverse(list)
	return list, err
}

// ChatCall is the newest call with that key; nil: there is none.
func (r *Store) ChatCall(ctx context.Context, key []byte) (*sessions.ChatCall, error) {
	return database.Read(ctx, r.DB, "look for a call", func(t *database.Tx) (*sessions.ChatCall, error) {
		return database.First[sessions.ChatCall](t, chatCall, key)
	})
}

// OpenChat begins a call, with the session in which it is answered. An equal one that goes on, begun by another reader meanwhile, is
// returned in its place. sessions.ErrTaken.
func (r *Store) OpenChat(ctx context.Context, o *sessions.Opening) (*sessions.ChatCall, error) {
	return database.Write(ctx, r.DB, database.Async, "begin a call", func(t *database.Tx) (*sessions.ChatCall, error) {
		conversation, key, err := Arrived(t, o.Conversation)
		if err != nil {
			return nil, err
		}
		id, err := FindOrOwn(t, conversation, key, database.Clean(o.Person))
		if err != nil {
			return nil, err
		}
		was, err := database.First[sessions.ChatCall](t, t.Locked(chatCall), o.Key)
		if err != nil || was != nil && was.GoesOn() {
			return was, err
		}
		call := &sessions.ChatCall{Conversation: o.Conversation.ID, CreatedAt: database.Instant(t.Now)}
		if was != nil {
			call.Generation = was.Generation + 1
		}
		if fresh, err := t.Has(isEmpty, id); err != nil {
			return nil, err
		} else if fresh {
			if err := begin(t, o, conversation, id); err != nil {
				return nil, err
			}
		}
		instructions := database.Clean(o.Instructions)
		return call, t.Run(
			database.Do(setInstructions, instructions, id, instructions),
			database.Do(putChat, o.Key, call.Generation, string(call.Conversation), t.Now),
		)
	})
}

// begin gives a new session its history.
func begin(t *database.Tx, o *sessions.Opening, conversation, id int64) error {
	if o.From != "" {
		if err := Fork(t, o.From, o.Upto, conversation, id); err != nil {
			return err
		}
	}
	if o.Of != "" {
		if err := t.Do(setBranch, database.Clean(o.Of), id); err != nil {
			return err
		}
	}
	var events []Event
	for _, line := range o.Lines[max(0, len(o.Lines)-maxLines):] {
		direction, author := "in", database.Clean(o.Person)
		if line.Out {
			direction, author = "out", "switchboard" // as store/outbox has it
		}
		message, err := t.Insert(toldLine, conversation, id, direction, database.Clean(o.Person), author, database.Clean(line.Text), string(line.Taint), t.Now)
		if err != nil {
			return err
		}
		events = append(events, Event{Kind: "message", Message: message})
	}
	_, err := Emit(t, id, events...)
	return err
}

// ForkSession makes the session of conv, which is person's and has to be new, and gives it what the session with the key from has up to
// the last word of a turn. ErrNotFound: there is no such session, or the turn is not of it; *StateError: conv has a session.
func (r *Store) ForkSession(ctx context.Context, from string, turn int64, conv channels.Conversation, person string) error {
	return r.Write(ctx, database.Durable, "fork a session", func(t *database.Tx) error {
		var upto int64
		if found, err := t.Row(lastOfTurn, []any{database.Clean(from), turn}, &upto); err != nil {
			return err
		} else if !found {
			return core.ErrNotFound
		}
		conversation, key, err := Arrived(t, conv)
		if err != nil {
			return err
		}
		id, err := FindOrOwn(t, conversation, key, database.Clean(person))
		taken := errors.Is(err, sessions.ErrTaken)
		if err != nil && !taken {
			return err
		}
		if fresh, err := t.Has(isEmpty, id); err != nil {
			return err
		} else if taken || !fresh {
			return &core.StateError{Sentence: "there is a session of that name already"}
		}
		return Fork(t, from, upto, conversation, id)
	})
}

// Fork gives the session id, which is new and that of the conversation, what the session with the key from has up to a message of its
// own (0: nothing): messages with their attachments, as history that no turn answers, and what the session goes by. Of many messages
// the newest are taken. ErrNotFound: there is no session from.
func Fork(t *database.Tx, from string, upto, conversation, id int64) error {
	var of, summed int64
	var summary, taint, mode, model, language, zone, instructions, private string
	found, err := t.Row(sessionFork, []any{database.Clean(from)}, &of, &summary, &taint, &summed, &mode, &model, &language, &zone, &instructions, &private)
	if err == nil && !found {
		err = core.ErrNotFound
	}
	if summed > upto { // it tells of what comes later
		summary, taint = "", ""
	}
	if err == nil {
		err = t.Do(setFork, summary, taint, mode, model, language, zone, instructions, private, id)
	}
	if err != nil {
		return err
	}
	list, err := lines(t, from, upto)
	if err != nil {
		return err
	}
	var events []Event
	for _, line := range list {
		message, err := t.Insert(copyLine, conversation, id, line.ID)
		if err != nil {
			return err
		}
		if err := t.Do(copyFiles, message, id, line.ID); err != nil {
			return err
		}
		events = append(events, Event{Kind: "message", Message: message})
	}
	_, err = Emit(t, id, events...)
	return err
}

// ChatHeard notes that somebody got a call's answer whole: an equal call is a new one from now on.
func (r *Store) ChatHeard(ctx context.Context, key []byte, generation int64) error {
	return r.Write(ctx, database.Async, "note that an answer was read", func(t *database.Tx) error {
		return t.Do(heardChat, key, generation)
	})
}
