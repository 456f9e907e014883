package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router"
)

const (
	turnColumns = `
		SELECT t.id, s.key, t.person, t.state, t.outcome, m.text, m.taint, t.created_at, t.started_at, t.finished_at,
			t.calls, t.tokens_in, t.tokens_out, t.cost, coalesce(t.merged_into, 0) AS merged_into, coalesce(t.retry_of, 0) AS retry_of
		FROM turns t JOIN sessions s ON s.id = t.session_id JOIN messages m ON m.id = t.message_id `
	listTurns   = turnColumns + `WHERE (? = '' OR t.state = ?) ORDER BY t.id DESC LIMIT ?`
	oneTurn     = turnColumns + `WHERE t.id = ?`
	currentTurn = turnColumns + `WHERE s.key = ? AND t.state <> 'merged'
		ORDER BY CASE t.state WHEN 'running' THEN 0 WHEN 'queued' THEN 1 ELSE 2 END,
			CASE t.state WHEN 'queued' THEN t.id ELSE -t.id END LIMIT 1`
	countWaiting = `
		SELECT count(*) FROM sessions s JOIN turns t ON t.session_id = s.id AND t.id > 0
		WHERE s.key = ? AND t.state IN ('queued', 'running') AND t.state = 'queued'`
	turnMessages = `
		SELECT m.id, m.direction, m.text, m.author, m.final, m.notice, coalesce(e.n, 0) AS n, m.created_at, coalesce(y.id, 0) AS turn
		FROM messages m LEFT JOIN events e ON e.message_id = m.id LEFT JOIN turns y ON y.message_id = m.id WHERE m.turn_id = ? AND m.class <> 'draft' ORDER BY m.id`
	turnCalls = `
		SELECT c.step, c.role, c.provider, c.model, c.tokens_in, c.tokens_out, c.cost, c.duration, c.error, c.refused, b.request, b.response
		FROM llm_calls c LEFT JOIN llm_bodies b ON b.turn_id = c.turn_id AND b.step = c.step AND ? = TRUE
		WHERE c.turn_id = ? ORDER BY c.ordinal`
	listEvents = `
		SELECT e.n, e.kind, coalesce(e.turn_id, 0) AS turn_id, e.data, e.created_at,
			m.id AS message_id, m.direction, m.text, m.author, m.final, m.notice
		FROM events e JOIN sessions s ON s.id = e.session_id LEFT JOIN messages m ON m.id = e.message_id
		WHERE s.key = ? AND e.n > ? ORDER BY e.n LIMIT ?`
	listDeliveries = `
		SELECT d.id, d.message_id, coalesce(m.turn_id, 0) AS turn_id, d.channel, c.conversation, d.state, d.outcome, d.detail, d.part, d.tries,
			d.repeated, d.platform_id, d.text, d.updated_at
		FROM deliveries d JOIN messages m ON m.id = d.message_id JOIN conversations c ON c.id = d.conversation_id
		WHERE (? = '' OR d.state = ?) ORDER BY d.id DESC LIMIT ?`
	shownIncoming = `
		SELECT coalesce(m.said, m.text), m.taint, m.person FROM conversations c JOIN messages m ON m.conversation_id = c.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND m.platform_id = ? AND m.platform_id <> ''
		AND m.class NOT IN ('stranger', 'overheard') ORDER BY m.id DESC LIMIT 1`
	// shownOutgoing looks at the latest parts alone: nobody means those long before.
	shownOutgoing = `
		SELECT d.text, m.taint, m.person FROM conversations c JOIN deliveries d ON d.conversation_id = c.id AND d.seq > c.next_seq - 1000
		JOIN messages m ON m.id = d.message_id
		WHERE c.channel = ? AND c.conversation = ? AND d.platform_id = ? AND d.platform_id <> '' ORDER BY d.seq DESC LIMIT 1`
	listRejected = `SELECT id, channel, reason, raw, created_at FROM rejected ORDER BY id DESC LIMIT ?`
)

type turnRow struct {
	ID                                       int64
	Key, Person, State, Outcome, Text, Taint string
	CreatedAt                                int64  `db:"created_at"`
	StartedAt                                *int64 `db:"started_at"`
	FinishedAt                               *int64 `db:"finished_at"`
	Calls                                    int
	TokensIn                                 int64 `db:"tokens_in"`
	TokensOut                                int64 `db:"tokens_out"`
	Cost                                     float64
	MergedInto                               int64 `db:"merged_into"`
	RetryOf                                  int64 `db:"retry_of"`
}

func (r *turnRow) view() router.TurnView {
	return router.TurnView{
		ID: r.ID, Session: r.Key, Person: r.Person, State: r.State, Outcome: r.Outcome, Text: r.Text, Taint: r.Taint,
		CreatedAt: instant(r.CreatedAt), StartedAt: instantPtr(r.StartedAt), FinishedAt: instantPtr(r.FinishedAt),
		Calls: r.Calls, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Cost: shownCost(r.Cost),
		MergedInto: r.MergedInto, RetryOf: r.RetryOf,
	}
}

// Turns implements router.Views.
func (r *Router) Turns(ctx context.Context, state string, limit int) (views []router.TurnView, err error) {
	err = r.db.read(ctx, "list turns", func(t *tx) error {
		var rows []turnRow
		if err := t.all(&rows, listTurns, state, state, limit); err != nil {
			return err
		}
		for i := range rows {
			views = append(views, rows[i].view())
		}
		return nil
	})
	return views, err
}

// Turn implements router.Views.
func (r *Router) Turn(ctx context.Context, id int64, prompts bool) (v *router.TurnView, err error) {
	err = r.db.read(ctx, "show turn", func(t *tx) error {
		if v, err = t.turn(oneTurn, id); err != nil {
			return err
		}
		if v.Messages, err = t.messages(id); err != nil {
			return err
		}
		v.LLM, err = t.callViews(id, prompts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Current implements router.Views.
func (r *Router) Current(ctx context.Context, session string) (v *router.TurnView, err error) {
	err = r.db.read(ctx, "current turn", func(t *tx) error {
		v, err = t.turn(currentTurn, clean(session))
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// turn reads one turn with its plans.
func (t *tx) turn(query string, arg any) (*router.TurnView, error) {
	var rows []turnRow
	if err := t.all(&rows, query, arg); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("turn: %w", router.ErrNotFound)
	}
	v := rows[0].view()
	plans, err := t.plans(v.ID)
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		v.Plans = append(v.Plans, planView(p))
	}
	return &v, nil
}

// Waiting implements router.Views.
func (r *Router) Waiting(ctx context.Context, session string) (n int, err error) {
	err = r.db.read(ctx, "count waiting turns", func(t *tx) error {
		_, err := t.row(countWaiting, []any{clean(session)}, &n)
		return err
	})
	return n, err
}

func (t *tx) messages(turn int64) (views []router.MessageView, err error) {
	var rows []struct {
		messageRow
		N, Turn   int64
		CreatedAt int64 `db:"created_at"`
	}
	if err := t.all(&rows, turnMessages, turn); err != nil {
		return nil, err
	}
	for _, m := range rows {
		views = append(views, router.MessageView{SessionMessage: m.message(), Event: m.N, At: instant(m.CreatedAt), Turn: m.Turn})
	}
	return views, nil
}

type messageRow struct {
	ID                      int64
	Direction, Text, Author string
	Final, Notice           bool
}

func (m *messageRow) message() channels.SessionMessage {
	return channels.SessionMessage{
		ID: m.ID, Direction: m.Direction, Text: m.Text, Author: m.Author, Final: m.Final, Notice: m.Notice,
	}
}

func (t *tx) callViews(turn int64, prompts bool) (views []router.CallView, err error) {
	var rows []struct {
		Step, Role, Provider, Model, Error, Refused string
		TokensIn                                    int64 `db:"tokens_in"`
		TokensOut                                   int64 `db:"tokens_out"`
		Cost                                        float64
		Duration                                    int64
		Request, Response                           []byte
	}
	if err := t.all(&rows, turnCalls, prompts, turn); err != nil {
		return nil, err
	}
	for _, c := range rows {
		v := router.CallView{
			Step: c.Step, Role: c.Role, Provider: c.Provider, Model: c.Model, TokensIn: c.TokensIn, TokensOut: c.TokensOut,
			Cost: shownCost(c.Cost), Duration: (time.Duration(c.Duration) * time.Microsecond).String(), Error: c.Error,
			Refused: c.Refused,
		}
		request, err := unpack(c.Request)
		if err != nil {
			return nil, err
		}
		response, err := unpack(c.Response)
		if err != nil {
			return nil, err
		}
		v.Request, v.Response = jsonOrText(request), clean(string(response))
		views = append(views, v)
	}
	return views, nil
}

// Events implements router.Views.
func (r *Router) Events(ctx context.Context, session string, n int64, limit int) (events []channels.SessionEvent, err error) {
	err = r.db.read(ctx, "list events", func(t *tx) error {
		var rows []struct {
			N                       int64
			Kind                    string
			TurnID                  int64 `db:"turn_id"`
			Data                    string
			CreatedAt               int64  `db:"created_at"`
			MessageID               *int64 `db:"message_id"`
			Direction, Text, Author *string
			Final, Notice           *bool
		}
		if err := t.all(&rows, listEvents, clean(session), n, limit); err != nil {
			return err
		}
		for _, e := range rows {
			v := channels.SessionEvent{N: e.N, Kind: e.Kind, TurnID: e.TurnID, At: instant(e.CreatedAt)}
			if e.Data != "" {
				v.Data = []byte(e.Data)
			}
			if e.MessageID != nil {
				m := messageRow{*e.MessageID, *e.Direction, *e.Text, *e.Author, *e.Final, *e.Notice}
				text := m.message()
				v.Message = &text
			}
			events = append(events, v)
		}
		return nil
	})
	return events, err
}

// Deliveries implements router.Views.
func (r *Router) Deliveries(ctx context.Context, state string, limit int) (views []router.DeliveryView, err error) {
	err = r.db.read(ctx, "list deliveries", func(t *tx) error {
		var rows []deliveryRow
		if err := t.all(&rows, listDeliveries, state, state, limit); err != nil {
			return err
		}
		for i := range rows {
			views = append(views, rows[i].view())
		}
		return nil
	})
	return views, err
}

// Shown implements router.Views. Of what we said, it knows the latest thousand
// parts.
func (r *Router) Shown(ctx context.Context, conv channels.Conversation, id channels.MessageID, person string) (text string, taint tools.Taint, err error) {
	err = r.db.read(ctx, "find message", func(t *tx) error {
		for _, query := range []string{shownIncoming, shownOutgoing} {
			var of string
			found, err := t.row(query, []any{clean(conv.Channel), clean(string(conv.ID)), clean(string(id))}, &text, &taint, &of)
			if found && of != "" && of != clean(person) {
				taint = taint.Join(tools.Others)
			}
			if err != nil || found {
				return err
			}
		}
		return fmt.Errorf("message: %w", router.ErrNotFound)
	})
	return text, taint, err
}

// Rejected implements router.Views.
func (r *Router) Rejected(ctx context.Context, limit int) (views []router.RejectedView, err error) {
	err = r.db.read(ctx, "list rejected events", func(t *tx) error {
		var rows []struct {
			ID              int64
			Channel, Reason string
			Raw             []byte
			CreatedAt       int64 `db:"created_at"`
		}
		if err := t.all(&rows, listRejected, limit); err != nil {
			return err
		}
		for _, e := range rows {
			views = append(views, router.RejectedView{
				ID: e.ID, Channel: e.Channel, Reason: e.Reason, Raw: clean(string(e.Raw)), At: instant(e.CreatedAt),
			})
		}
		return nil
	})
	return views, err
}

// shownCost is a cost without the dust of adding many of them up.
func shownCost(cost float64) float64 { return math.Round(cost*1e9) / 1e9 }
