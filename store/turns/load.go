package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/core"
	"switchboard/store/database"
)

const (
	// loadTurn reads a turn with all that is one row, under its fence.
	loadTurn = `
		SELECT t.id, t.person, coalesce(t.started_at, t.created_at) + t.waited, t.cancel_requested, t.resumed, t.calls,
			coalesce(t.retry_of, 0), ` + askedAt + `, t.away, t.ordered,
			s.id, s.key, s.summary, s.summary_taint, s.mode, s.model, s.language, s.timezone, s.instructions, s.private <> '', s.reset_message, s.reset_turn, s.summed_to,
			coalesce(p.role, ''), coalesce(p.timezone, ''),
			c.channel, c.conversation, c.kind, c.place, c.title,
			m.id, m.text, m.author, m.happened_at, m.created_at, m.taint, m.quote, m.outside, m.forwarded_from, m.platform_id, coalesce(m.replaces, 0),
			m.attachments, coalesce(t.draft_id, 0),
			t.waited > 0 AND EXISTS (SELECT 1 FROM turns y WHERE y.session_id = t.session_id AND y.message_id > t.message_id
				AND y.started_at IS NOT NULL),
			(SELECT count(*) FROM turns y WHERE y.merged_into = t.id),
			(SELECT count(*) FROM plans WHERE plans.turn_id = t.id),
			(SELECT count(*) FROM messages y WHERE y.turn_id = t.id AND y.class = 'say'),
			EXISTS (SELECT 1 FROM memories x WHERE x.always = TRUE) OR EXISTS (SELECT 1 FROM recalled x WHERE x.scope IN ('global', 'session:' || s.id,
				CASE WHEN c.kind = 'direct' THEN 'person:' || t.person ELSE 'group:' || c.channel || ':' || c.place END)),
			EXISTS (SELECT 1 FROM llm_calls WHERE llm_calls.turn_id = t.id AND llm_calls.reserved > 0),
			c.kind <> 'direct' AND EXISTS (SELECT 1 FROM messages x WHERE x.conversation_id = c.id AND x.id > s.reset_message AND x.report IS NOT NULL)
		FROM turns t JOIN sessions s ON s.id = t.session_id JOIN conversations c ON c.id = s.conversation_id
		JOIN messages m ON m.id = t.message_id LEFT JOIN people p ON p.name = t.person
		` + runsHeld
	turnThere = `SELECT 1 FROM turns WHERE id = ? AND session_id = ?`
	// loadRecent: what stood before the message, and what earlier turns answered
	// or was noted since; newest first. Pairs, so that PostgreSQL goes back in the
	// session's own index, and not through what all others said since. What a job asked
	// for that nobody was answered is left out. They are the newest thirty, and one that tells whether there are more.
	loadRecent = `
		SELECT id, author, person, direction, class, origin, text, forwarded_from, taint, attachments AS count, happened_at, created_at FROM messages
		WHERE (session_id, id) > (?, ?) AND (session_id, id) <= (?, 9223372036854775807) AND (id < ? AND (turn_id IS NULL OR turn_id > ?) OR direction = 'out' AND turn_id > ? AND turn_id < ?
			OR turn_id IS NULL AND class IN ('note', 'revision'))
			AND (origin <> 'job' OR EXISTS (SELECT 1 FROM messages y WHERE y.turn_id = messages.turn_id AND y.class = 'say'))
		ORDER BY session_id DESC, id DESC LIMIT 31`
	// loadReports are as many of strangers' lines as are told at once at rest. One that was edited since is told again then.
	loadReports = `
		SELECT CASE WHEN EXISTS (SELECT 1 FROM messages y WHERE y.conversation_id = m.conversation_id AND y.direction = 'in' AND y.platform_id = m.platform_id
				AND y.platform_id <> '' AND y.id > m.id) THEN '' ELSE m.report END AS text,
			CASE WHEN m.happened_at > 0 THEN m.happened_at ELSE m.created_at END AS at
		FROM messages m JOIN sessions s ON s.conversation_id = m.conversation_id WHERE s.id = ? AND m.report IS NOT NULL AND m.id > ? AND m.id < ?
		ORDER BY m.id DESC LIMIT 20`
	loadCalls = `
		SELECT c.step, c.role, c.error, c.tokens_in AS "usage.in", c.tokens_out AS "usage.out", c.cached AS "usage.cached", c.cost AS "usage.cost",
			c.created_at AS at, b.answer AS packed
		FROM llm_calls c LEFT JOIN llm_bodies b ON b.turn_id = c.turn_id AND b.step = c.step
		WHERE c.turn_id = ? AND c.reserved = 0 ORDER BY c.ordinal`
	loadSaid = `
		SELECT attempt, position, notice, coalesce(said, text) AS text, choices, final, taint FROM messages
		WHERE turn_id = ? AND class = 'say' ORDER BY id`
)

// Load reads all that a turn needs.
func (r *Store) Load(ctx context.Context, ref core.TurnRef) (d *core.TurnData, err error) {
	err = r.Look(ctx, "load turn", func(t *database.Tx) error {
		d, err = load(t, ref)
		return err
	})
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil, fmt.Errorf("no turn %d in session %d: %w", ref.TurnID, ref.SessionID, core.ErrNotFound)
	case d != nil && undecodable(err):
		return d, unreadable(err)
	case err != nil:
		return nil, err
	}
	return d, nil
}

// unreadable is err, or says of what is undecodable that to read again is of no use.
func unreadable(err error) error {
	if undecodable(err) {
		return fmt.Errorf("%w: %w", core.ErrUnreadable, err)
	}
	return err
}

// undecodable says that what a row holds is not what we write.
func undecodable(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

// load reads a turn; with an error, as far as it could be read, or nil.
func load(t *database.Tx, ref core.TurnRef) (*core.TurnData, error) {
	var (
		d                                                        core.TurnData
		started, happened, created                               int64
		calls, resetMessage, resetTurn, attachments, plans, says int64
		summed                                                   int64
		merged, retryOf, asked, away                             int64
		own                                                      incomingRow // the turn's message, in part
		reported                                                 bool
	)
	turn, s, c, m := &d.Turn, &d.Turn.Session, &d.Conversation, &d.Turn.Message
	found, err := t.Row(loadTurn, []any{ref.TurnID, ref.SessionID, database.Digits(ref.SessionID), ref.Fence},
		&turn.ID, &turn.Person.Name, &started, &d.CancelRequested, &d.Resumed, &calls, &retryOf, &asked, &away, &d.Ordered,
		&s.ID, &s.Key, &s.Summary, &s.SummaryTaint, &s.Mode, &s.Model, &s.Language, &s.TimeZone, &s.Instructions, &s.Private, &resetMessage, &resetTurn, &summed,
		&turn.Person.Role, &turn.Person.TimeZone,
		&c.Channel, &c.ID, &c.Kind, &c.Place, &c.Title,
		&m.ID, &m.Text, &m.Author, &happened, &created, &m.Taint, &m.Quote, &own.Outside, &own.From, &d.ReplyTo, &m.Replaces,
		&attachments, &d.Draft, &d.Overtaken, &merged, &plans, &says, &d.State.Remembers, &d.Unsettled, &reported)
	if err != nil {
		return nil, err
	}
	if !found {
		if found, err = t.Has(turnThere, ref.TurnID, ref.SessionID); err == nil && !found {
			return nil, core.ErrNotFound
		}
		return nil, errors.Join(err, core.ErrFenced)
	}
	turn.StartedAt, d.Asked, d.Away = database.Instant(started+away), database.Instant(asked), time.Duration(away)*time.Microsecond
	m.At = saidAt(happened, created)
	own.passOn(m)
	if d.Ordered {
		if err := terms(t, &d); err != nil {
			return &d, err
		}
	}
	if attachments > 0 {
		files, err := attachmentsOf(t, m.ID)
		if err != nil {
			return &d, err
		}
		m.Attachments = files[m.ID]
	}
	if retryOf != 0 { // its own text only asks for it
		own := *m
		*m = agent.Incoming{ID: own.ID, Author: own.Author, At: own.At}
	}
	if merged > 0 {
		if err := merge(t, &d); err != nil {
			return &d, err
		}
	}
	var after int64
	if d.State.Recent, after, d.State.LeftOut, err = recent(t, turn, resetMessage, resetTurn, summed); err != nil {
		return &d, err
	}
	if reported {
		if d.State.Reports, err = database.Select[agent.Line](t, loadReports, s.ID, after, m.ID); err != nil {
			return &d, err
		}
		slices.Reverse(d.State.Reports)
	}
	if retryOf != 0 {
		if err := again(t, &d, retryOf); err != nil {
			return &d, err
		}
	}
	// A fresh turn has nothing to resume, and costs two queries in all.
	if calls > 0 {
		if d.State.Calls, err = callsOf(t, ref.TurnID); err != nil {
			return &d, err
		}
	}
	if plans > 0 {
		if d.State.Plans, err = plansOf(t, ref.TurnID); err != nil {
			return &d, err
		}
	}
	if says > 0 {
		d.State.Said, err = said(t, ref.TurnID)
	}
	return &d, err
}

// mostLines are read of a chat at most: each costs its tokens with every message.
const mostLines = 30

// recent reads what was said before a turn's message, oldest first; after is the message before which more may have been said, or the
// reset; leftOut: there is more that is not in the summary.
func recent(t *database.Tx, turn *agent.Turn, resetMessage, resetTurn, summed int64) (recent []agent.Line, after int64, leftOut bool, err error) {
	var lines []struct {
		ID, HappenedAt, CreatedAt                             int64
		Author, Person, Direction, Class, Origin, Text, Taint string
		From                                                  string `db:"forwarded_from"`
		Count                                                 int
	}
	err = t.All(&lines, loadRecent, turn.Session.ID, resetMessage, turn.Session.ID, turn.Message.ID, resetTurn, resetTurn, turn.ID)
	if err != nil {
		return nil, 0, false, err
	}
	after = resetMessage
	if len(lines) >= mostLines {
		after = lines[mostLines-1].ID
	}
	if len(lines) > mostLines {
		leftOut, lines = lines[mostLines].ID > summed, lines[:mostLines]
	}
	var with []int64
	for _, l := range lines {
		if l.Count > 0 {
			with = append(with, l.ID)
		}
	}
	var files map[int64][]agent.Attachment
	if len(with) > 0 {
		if files, err = attachmentsOf(t, with...); err != nil {
			return nil, 0, false, err
		}
	}
	for _, l := range slices.Backward(lines) {
		if l.Text == "" && len(files[l.ID]) == 0 {
			continue // taken back
		}
		if l.Class == "reply" && tools.Taint(l.Taint) == tools.Label {
			continue // a list of names that a command showed: whoever looks at it has read nothing else
		}
		if l.Class == "revision" {
			l.Text = revised + l.Text
		}
		line := agent.Line{
			ID: l.ID, Summed: l.ID <= summed, Author: l.Author, Bot: l.Direction == "out", Job: l.Origin == "job", Text: l.Text, ForwardedFrom: l.From, At: saidAt(l.HappenedAt, l.CreatedAt), Taint: tools.Taint(l.Taint),
			Attachments: files[l.ID],
		}
		if line.Bot {
			line.To = l.Person
		}
		recent = append(recent, line)
	}
	return recent, after, leftOut, nil
}

// revised opens a line that is the new text of an earlier one.
const revised = "(edited earlier message) "

func callsOf(t *database.Tx, turn int64) (calls []agent.Call, err error) {
	type row struct {
		agent.Call
		Packed []byte
	}
	rows, err := database.Select[row](t, loadCalls, turn)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		answer, err := Unpack(r.Packed)
		if err != nil {
			return nil, err
		}
		r.Answer = string(answer)
		calls = append(calls, r.Call)
	}
	return calls, nil
}

func said(t *database.Tx, turn int64) ([]agent.Say, error) {
	return database.Select[agent.Say](t, loadSaid, turn)
}
