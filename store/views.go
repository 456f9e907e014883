package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	routersessions "switchboard/router/sessions"
	"switchboard/router/turns"
	"switchboard/store/database"
	storefiles "switchboard/store/files"
	storeoutbox "switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	turnColumns = `
		SELECT t.id, s.key, t.person, t.state, t.outcome, m.text, m.taint, t.created_at, t.started_at, t.finished_at, t.not_before,
			t.calls, t.tokens_in, t.tokens_out, t.cost, coalesce(t.merged_into, 0) AS merged_into, coalesce(t.retry_of, 0) AS retry_of,
			coalesce(t.terms, '') AS terms
		FROM turns t JOIN sessions s ON s.id = t.session_id JOIN messages m ON m.id = t.message_id `
	listTurns   = turnColumns + `WHERE (? = '' OR t.state = ?) AND %s ORDER BY t.id DESC LIMIT ?`
	oneTurn     = turnColumns + `WHERE t.id = ?`
	currentTurn = turnColumns + `WHERE s.key = ? AND t.state <> 'merged'
		ORDER BY CASE WHEN t.rank IS NOT NULL THEN 0 WHEN t.state = 'waiting' THEN 1 ELSE 2 END, t.rank, t.id DESC LIMIT 1`
	countWaiting = `
		SELECT count(*) FROM sessions s JOIN turns t ON t.session_id = s.id WHERE s.key = ? AND t.rank > 0`
	listEvents = `
		SELECT e.n, e.kind, coalesce(e.turn_id, 0) AS turn_id, e.data AS text_data, e.created_at AS at,
			m.id, m.direction, m.text, m.author, m.final, m.notice, m.attachments AS files, m.metadata
		FROM events e JOIN sessions s ON s.id = e.session_id LEFT JOIN messages m ON m.id = e.message_id
		WHERE s.key = ? AND e.n > ? ORDER BY e.n LIMIT ?`
	deliveryColumns = `
		SELECT d.id, d.message_id, coalesce(m.turn_id, 0) AS turn_id, d.channel, c.conversation, d.state, d.outcome, d.detail, d.part, d.tries,
			d.repeated, d.platform_id, d.text, d.updated_at
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id `
	// listDeliveries: a notice is of whoever's session it is in.
	listDeliveries = deliveryColumns + `LEFT JOIN sessions s ON s.id = m.session_id WHERE (? = '' OR d.state = ?) AND %s ORDER BY d.id DESC LIMIT ?`
	// undelivered leaves out drafts that came to an end: the answer is a delivery of its own.
	undelivered = deliveryColumns + `WHERE d.state IN ('dead', 'unknown', 'dropped') AND d.draft = ''
		AND NOT (d.state = 'dropped' AND d.outcome IN ('not_needed', 'taken_back', 'left')) AND (? = 0 OR d.id < ?) ORDER BY d.id DESC LIMIT ?`
	shownIncoming = `
		SELECT coalesce(m.said, m.text), m.taint, m.person FROM conversations c JOIN messages m ON m.conversation_id = c.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND m.platform_id = ? AND m.platform_id <> ''
		AND m.class NOT IN ('stranger', 'overheard') ORDER BY m.id DESC LIMIT 1`
	// shownOutgoing looks at the latest parts alone: nobody means those long before.
	// Of a question that is decided, names in it are left out, as they are of its text.
	shownOutgoing = `
		SELECT CASE WHEN EXISTS (SELECT 1 FROM actions a WHERE a.message_id = m.id AND a.kind = 'approval') THEN m.text ELSE d.text END, m.taint, m.person FROM ` + storeoutbox.LatestParts + `
		JOIN messages m ON m.id = d.message_id
		WHERE c.channel = ? AND c.conversation = ? AND d.platform_id = ? AND d.platform_id <> '' ORDER BY d.seq DESC LIMIT 1`
	turnAsked = `
		SELECT m.turn_id FROM conversations c JOIN messages m ON m.conversation_id = c.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND m.platform_id = ? AND m.platform_id <> ''
		AND m.turn_id IS NOT NULL ORDER BY m.id DESC LIMIT 1`
	turnSaid = `
		SELECT m.turn_id FROM ` + storeoutbox.LatestParts + `
		JOIN messages m ON m.id = d.message_id AND m.turn_id IS NOT NULL
		WHERE c.channel = ? AND c.conversation = ? AND d.platform_id = ? AND d.platform_id <> '' ORDER BY d.seq DESC LIMIT 1`
	// turnNewest is what people saw: not a job's that said nothing.
	turnNewest = `
		SELECT t.id FROM conversations c JOIN sessions s ON s.conversation_id = c.id JOIN turns t ON t.session_id = s.id
		WHERE c.channel = ? AND c.conversation = ? AND t.state <> 'merged'
		AND (t.terms IS NULL OR EXISTS (SELECT 1 FROM messages y WHERE y.turn_id = t.id AND y.class = 'say')) ORDER BY t.message_id DESC LIMIT 1`
	listRejected = `SELECT id, channel, reason, raw, created_at AS at FROM rejected ORDER BY id DESC LIMIT ?`
)

type turnRow struct {
	turns.Turn
	Key       string
	NotBefore time.Time
	Terms     string
}

func (r *turnRow) view() turns.Turn {
	v := r.Turn
	v.Session, v.BilledTokens, v.Cost = r.Key, v.TokensIn+v.TokensOut, database.ShownCost(v.Cost)
	v.Job, v.Terms = jobOf(r.Terms), json.RawMessage(r.Terms)
	if v.State == string(turns.TurnQueued) && v.Outcome == agent.OutcomeModelAway {
		v.NextTry = &r.NotBefore
	}
	return v
}

// Turns lists the newest turns first. State filters; empty: all.
func (r *Router) Turns(ctx context.Context, whose routersessions.Whose, state string, limit int) ([]turns.Turn, error) {
	query, args := listed(listTurns, "t.person", whose, state, limit)
	return database.Listed(ctx, r.db.DB, "list turns", (*turnRow).view, query, args...)
}

// listed completes a list of what is in a state with whose it is.
func listed(query, column string, whose routersessions.Whose, state string, limit int) (string, []any) {
	condition, people := sessions.Of(column, whose)
	return fmt.Sprintf(query, condition), slices.Concat([]any{state, state}, people, []any{limit})
}

// Turn reads one turn whole; prompts adds the bodies of its model calls.
func (r *Router) Turn(ctx context.Context, id int64, prompts bool) (v *turns.Turn, err error) {
	err = r.db.Read(ctx, "show turn", func(t *database.Tx) error {
		if v, err = turn(t, oneTurn, id); err != nil {
			return err
		}
		if err = messageViews(t, v); err != nil {
			return err
		}
		if err = callViews(t, v, prompts); err != nil {
			return err
		}
		if err = holders(t, v); err != nil {
			return err
		}
		audit, err := database.Select[turns.Audit](t, turnAudit, id)
		v.Audit = append([]turns.Audit{}, audit...)
		return err
	})
	return v, err
}

// Current is the turn somebody in the session (key "channel:conversation") means by "now": the running one,
// else the next queued one, else the newest that waits for a decision, else the newest, with its plans and no
// more.
func (r *Router) Current(ctx context.Context, session string) (*turns.Turn, error) {
	return database.Read(ctx, r.db.DB, "current turn", func(t *database.Tx) (*turns.Turn, error) { return turn(t, currentTurn, database.Clean(session)) })
}

// CurrentPerson implements outbox.Notices.
func (r *Router) CurrentPerson(ctx context.Context, session string) (string, error) {
	v, err := r.Current(ctx, session)
	if err != nil {
		return "", err
	}
	return v.Person, nil
}

// turn reads one turn with its plans.
func turn(t *database.Tx, query string, arg any) (*turns.Turn, error) {
	row, err := database.First[turnRow](t, query, arg)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("turn: %w", core.ErrNotFound)
	}
	v := row.view()
	return &v, planViews(t, &v)
}

// Waiting counts the queued turns of a session.
func (r *Router) Waiting(ctx context.Context, session string) (n int, err error) {
	return database.Value[int](ctx, r.db.DB, "count waiting turns", countWaiting, session)
}

type sessionEventRow struct {
	channels.SessionEvent
	TextData                string
	ID                      *int64 // of the message
	Direction, Text, Author *string
	Final, Notice           *bool
	Files                   *int
	Metadata                *string
}

func (e *sessionEventRow) view() channels.SessionEvent {
	if e.TextData != "" {
		e.Data = []byte(e.TextData)
	}
	if e.ID != nil {
		e.Message = &channels.SessionMessage{
			ID: *e.ID, Direction: *e.Direction, Text: *e.Text, Author: *e.Author, Final: *e.Final, Notice: *e.Notice,
		}
		if e.Metadata != nil {
			e.Message.Metadata = []byte(*e.Metadata)
			if !json.Valid(e.Message.Metadata) { // a credential was taken out of it
				e.Message.Metadata = []byte(`"[redacted]"`)
			}
		}
	}
	return e.SessionEvent
}

// Events lists a session's events after number n, oldest first.
func (r *Router) Events(ctx context.Context, session string, n int64, limit int) ([]channels.SessionEvent, error) {
	return database.Read(ctx, r.db.DB, "list events", func(t *database.Tx) ([]channels.SessionEvent, error) {
		with := map[int64]string{} // messages that have files
		list, err := database.Views(t, func(e *sessionEventRow) channels.SessionEvent {
			if e.ID != nil && (*e.Files > 0 || strings.Contains(*e.Text, "](attachment:")) {
				with[*e.ID] = *e.Text
			}
			return e.view()
		}, listEvents, session, n, limit)
		if err != nil || len(with) == 0 {
			return list, err
		}
		files, err := storefiles.OfMessages(t, with)
		for i := range list {
			if m := list[i].Message; m != nil {
				m.Attachments = files[m.ID]
			}
		}
		return list, err
	})
}

// A deliveryRow is a delivery for people to read.
type deliveryRow struct {
	outbox.Info
	MessageID int64
}

// Deliveries lists the newest first. State filters; empty: all.
func (r *Router) Deliveries(ctx context.Context, whose routersessions.Whose, state string, limit int) ([]outbox.Info, error) {
	query, args := listed(listDeliveries, "CASE WHEN m.person = '' THEN s.person ELSE m.person END", whose, state, limit)
	return deliveries(ctx, r.db.DB, query, args...)
}

// Undelivered lists parts that did not arrive, before a number (0: from the newest), the newest first.
func (r *Router) Undelivered(ctx context.Context, before int64, limit int) ([]outbox.Info, error) {
	return deliveries(ctx, r.db.DB, undelivered, before, before, limit)
}

func deliveries(ctx context.Context, db *database.DB, query string, args ...any) ([]outbox.Info, error) {
	return database.Listed(ctx, db, "list deliveries", func(d *deliveryRow) outbox.Info { return d.Info }, query, args...)
}

// KeptOut lists what came from whoever was not served, the newest first.
func (r *Router) KeptOut(ctx context.Context, limit int) ([]turns.Message, error) {
	return database.Listed(ctx, r.db.DB, "list who was kept out", (*messageRow).view, listKeptOut, limit)
}

// Shown is the text of the message, in or out, that the platform knows by that ID in a conversation, and its
// taint for person, to whom the words of others and what was answered to others are tools.Others. Of what we
// said, it knows the latest thousand parts.
func (r *Router) Shown(ctx context.Context, conv channels.Conversation, id channels.MessageID, person string) (text string, taint tools.Taint, err error) {
	err = r.db.Read(ctx, "find message", func(t *database.Tx) error {
		for _, query := range []string{shownIncoming, shownOutgoing} {
			var of string
			found, err := t.Row(query, []any{conv.Channel, conv.ID, id}, &text, &taint, &of)
			if found && of != "" && of != database.Clean(person) {
				taint = taint.Join(tools.Others)
			}
			if err != nil || found {
				return err
			}
		}
		return fmt.Errorf("message: %w", core.ErrNotFound)
	})
	return text, taint, err
}

// Rejected lists what could not be read, the newest first.
func (r *Router) Rejected(ctx context.Context, limit int) ([]intake.Rejected, error) {
	return database.Listed(ctx, r.db.DB, "list rejected events", func(r *intake.Rejected) intake.Rejected {
		r.Raw = database.Clean(r.Raw)
		return *r
	}, listRejected, limit)
}

// TurnOf is the turn that the message which the platform knows by that ID asked for, or was said by, in a
// conversation; with no ID the newest that was asked for there. Of what we said, it knows the latest thousand
// parts of the conversation.
func (r *Router) TurnOf(ctx context.Context, conv channels.Conversation, id channels.MessageID) (turn int64, err error) {
	queries, args := []string{turnAsked, turnSaid}, []any{conv.Channel, conv.ID, id}
	if id == "" {
		queries, args = []string{turnNewest}, args[:2]
	}
	err = r.db.Read(ctx, "find turn", func(t *database.Tx) error {
		for _, query := range queries {
			found, err := t.Row(query, args, &turn)
			if err != nil || found {
				return err
			}
		}
		return fmt.Errorf("turn: %w", core.ErrNotFound)
	})
	return turn, err
}
