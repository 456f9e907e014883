package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/router"
)

const (
	askedColumns = `
		SELECT m.id, m.class, c.channel, c.conversation, c.kind, m.person, m.author, m.identity, m.rule, m.origin, m.taint, m.text, m.happened_at, m.created_at
		FROM messages m JOIN conversations c ON c.id = m.conversation_id `
	explainAsked   = askedColumns + `WHERE m.turn_id = ? AND m.direction = 'in' ORDER BY m.id`
	listKeptOut    = askedColumns + `WHERE m.session_id IS NULL ORDER BY m.id DESC LIMIT ?`
	explainHolders = `SELECT holders FROM turns WHERE id = ?`
	explainOwners  = `SELECT id, host, pid FROM owners WHERE id IN (%s)`
	explainSteps   = `
		SELECT p.attempt, p.goal, t.position, t.type, t.detail, t.tool, t.args, t.expect, t.state, t.outcome, t.output, t.code,
			t.rule, t.allowed_by, t.hint, t.taint, t.started_at, t.finished_at, r.status, r.reason, r.learn
		FROM plans p LEFT JOIN tasks t ON t.turn_id = p.turn_id AND t.attempt = p.attempt
		LEFT JOIN reviews r ON r.turn_id = t.turn_id AND r.attempt = t.attempt AND r.position = t.position
		WHERE p.turn_id = ? ORDER BY p.attempt, t.position`
	explainSaid = `
		SELECT id, text, notice, final, created_at FROM messages WHERE turn_id = ? AND direction = 'out' AND class = 'say' ORDER BY id`
	explainParts = `
		SELECT d.id, d.message_id, m.turn_id, d.channel, c.conversation, d.state, d.outcome, d.detail, d.part, d.tries,
			d.repeated, d.platform_id, d.text, d.updated_at
		FROM messages m JOIN deliveries d ON d.message_id = m.id JOIN conversations c ON c.id = d.conversation_id
		WHERE m.turn_id = ? AND m.direction = 'out' AND m.class = 'say' ORDER BY d.message_id, d.part`
	explainAudit = `SELECT created_at, person, action, target, rule, outcome FROM audit WHERE turn_id = ? ORDER BY id`
	turnAsked    = `
		SELECT m.turn_id FROM conversations c JOIN messages m ON m.conversation_id = c.id
		WHERE c.channel = ? AND c.conversation = ? AND m.direction = 'in' AND m.platform_id = ? AND m.platform_id <> ''
		AND m.turn_id IS NOT NULL ORDER BY m.id DESC LIMIT 1`
	turnSaid = `
		SELECT m.turn_id FROM conversations c JOIN deliveries d ON d.conversation_id = c.id AND d.seq > c.next_seq - 1000
		JOIN messages m ON m.id = d.message_id AND m.turn_id IS NOT NULL
		WHERE c.channel = ? AND c.conversation = ? AND d.platform_id = ? AND d.platform_id <> '' ORDER BY d.seq DESC LIMIT 1`
	turnNewest = `
		SELECT t.id FROM conversations c JOIN sessions s ON s.conversation_id = c.id JOIN turns t ON t.session_id = s.id
		WHERE c.channel = ? AND c.conversation = ? AND t.state <> 'merged' ORDER BY t.message_id DESC LIMIT 1`
)

var _ router.Reasons = (*Router)(nil)

// Explain implements router.Reasons.
func (r *Router) Explain(ctx context.Context, id int64) (*router.Explanation, error) {
	x := &router.Explanation{}
	err := r.db.read(ctx, "explain turn", func(t *tx) (err error) {
		var rows []turnRow
		if err := t.all(&rows, oneTurn, id); err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("turn: %w", router.ErrNotFound)
		}
		x.TurnView = rows[0].view()
		if x.Asked, err = t.asked(id); err != nil {
			return err
		}
		if err = t.holders(x); err != nil {
			return err
		}
		calls, err := t.callViews(id, false)
		if err != nil {
			return err
		}
		if err = t.attempts(x, calls); err != nil {
			return err
		}
		if err = t.explainSaid(x); err != nil {
			return err
		}
		x.Audit, err = t.audits(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

type askedRow struct {
	ID                                     int64
	Class, Channel, Conversation, Kind     string
	Person, Author, Identity, Rule, Origin string
	Taint, Text                            string
	HappenedAt                             int64 `db:"happened_at"` // as the platform says; 0: it does not
	CreatedAt                              int64 `db:"created_at"`
}

func (m *askedRow) view() router.AskedView {
	v := router.AskedView{
		MessageID: m.ID, Channel: m.Channel, Conversation: m.Conversation, Kind: m.Kind, Person: m.Person, Author: m.Author,
		Identity: m.Identity, Rule: m.Rule, Origin: m.Origin, Taint: m.Taint, Text: m.Text, At: instant(m.CreatedAt),
	}
	if m.HappenedAt > 0 {
		v.WrittenAt = instantPtr(&m.HappenedAt)
	}
	v.Why = router.Admission(&v)
	return v
}

func (t *tx) asked(turn int64) ([]router.AskedView, error) {
	var rows []askedRow
	if err := t.all(&rows, explainAsked, turn); err != nil {
		return nil, err
	}
	views := make([]router.AskedView, len(rows))
	for i := range rows {
		views[i] = rows[i].view()
	}
	return views, nil
}

// KeptOut implements router.Reasons.
func (r *Router) KeptOut(ctx context.Context, limit int) (views []router.KeptOutView, err error) {
	err = r.db.read(ctx, "list who was kept out", func(t *tx) error {
		var rows []askedRow
		if err := t.all(&rows, listKeptOut, limit); err != nil {
			return err
		}
		for i := range rows {
			views = append(views, router.KeptOutView{AskedView: rows[i].view(), Class: rows[i].Class})
		}
		return nil
	})
	return views, err
}

// holders reads who held the turn, with what is known of each.
func (t *tx) holders(x *router.Explanation) error {
	var text string
	if _, err := t.row(explainHolders, []any{x.ID}, &text); err != nil {
		return err
	}
	x.Holders, x.HoldersCut = parseHolders(text)
	var ids []int64
	for _, h := range x.Holders {
		ids = append(ids, h.Engine)
	}
	if len(ids) == 0 {
		return nil
	}
	marks, args := in(ids)
	var rows []struct {
		ID   int64
		Host string
		PID  int
	}
	if err := t.all(&rows, fmt.Sprintf(explainOwners, marks), args...); err != nil {
		return err
	}
	for _, o := range rows {
		for i := range x.Holders {
			if h := &x.Holders[i]; h.Engine == o.ID {
				h.Host, h.PID = o.Host, o.PID
			}
		}
	}
	return nil
}

// parseHolders reads turns.holders. What grew too long begins with an ellipsis, and
// with it a part of an entry.
func parseHolders(text string) (list []router.HolderView, cut bool) {
	text, cut = strings.CutPrefix(text, "…")
	words := strings.Fields(text)
	if cut && len(words) > 0 && !strings.HasPrefix(text, " ") {
		words = words[1:]
	}
	for _, word := range words {
		var n [3]int64
		parts := strings.Split(word, ":")
		if len(parts) != len(n) {
			continue
		}
		for i, p := range parts {
			n[i], _ = strconv.ParseInt(p, 10, 64) // written by us alone
		}
		list = append(list, router.HolderView{Engine: n[0], Fence: n[1], From: instant(n[2])})
	}
	return list, cut
}

type stepRow struct {
	Attempt                 int
	Goal                    string
	Position                *int
	Type, Detail            *string
	Tool, Args, Expect      *string
	State, Outcome, Output  *string
	Code, Rule, Hint, Taint *string
	AllowedBy               *string `db:"allowed_by"`
	StartedAt               *int64  `db:"started_at"`
	FinishedAt              *int64  `db:"finished_at"`
	Status, Reason, Learn   *string
}

func (s *stepRow) view() router.StepView {
	v := router.StepView{
		TaskView: router.TaskView{
			Position: *s.Position, Type: *s.Type, Detail: *s.Detail, Tool: orEmpty(s.Tool), Args: orEmpty(s.Args), Expect: orEmpty(s.Expect),
			State: *s.State, Outcome: strings.TrimSpace(*s.Outcome + " " + *s.Code), Output: *s.Output, Taint: *s.Taint,
		},
		Rule: *s.AllowedBy, Reason: *s.Hint, StartedAt: instantPtr(s.StartedAt), FinishedAt: instantPtr(s.FinishedAt),
		Calls: []router.CallView{},
	}
	if *s.Outcome == "refused" {
		v.Rule = *s.Rule
	}
	if s.Status != nil {
		v.Review = &router.ReviewView{Status: *s.Status, Reason: *s.Reason, Learn: *s.Learn}
	}
	return v
}

// attempts reads the plans with their steps, and puts each model call where it was
// made. A call for a plan that never came to be makes an attempt without a goal.
func (t *tx) attempts(x *router.Explanation, calls []router.CallView) error {
	var rows []stepRow
	if err := t.all(&rows, explainSteps, x.ID); err != nil {
		return err
	}
	x.Attempts = []router.AttemptView{}
	for i := range rows {
		a := attempt(x, rows[i].Attempt)
		if a.Goal = rows[i].Goal; rows[i].Position != nil {
			a.Steps = append(a.Steps, rows[i].view())
		}
	}
	for _, c := range calls {
		number, position := placeOf(c.Step)
		a := attempt(x, number)
		if strings.HasPrefix(c.Step, "plan.") || position >= len(a.Steps) {
			a.Calls = append(a.Calls, c)
		} else {
			a.Steps[position].Calls = append(a.Steps[position].Calls, c)
		}
	}
	return nil
}

// attempt is the plan of that number, made where it is not there.
func attempt(x *router.Explanation, number int) *router.AttemptView {
	for i := range x.Attempts {
		if x.Attempts[i].Attempt == number {
			return &x.Attempts[i]
		}
	}
	x.Attempts = append(x.Attempts, router.AttemptView{Attempt: number, Calls: []router.CallView{}, Steps: []router.StepView{}})
	return &x.Attempts[len(x.Attempts)-1]
}

// placeOf reads attempt and position out of a call's key, e.g. "review.0.2.1".
func placeOf(step string) (attempt, position int) {
	parts := strings.FieldsFunc(step, func(r rune) bool { return r == '.' || r == '~' || r == '+' })
	if len(parts) > 1 {
		attempt, _ = strconv.Atoi(parts[1])
	}
	if len(parts) > 2 {
		position, _ = strconv.Atoi(parts[2])
	}
	return attempt, position
}

// explainSaid reads what the turn said, with the parts of each message.
func (t *tx) explainSaid(x *router.Explanation) error {
	var rows []struct {
		ID            int64
		Text          string
		Notice, Final bool
		CreatedAt     int64 `db:"created_at"`
	}
	if err := t.all(&rows, explainSaid, x.ID); err != nil {
		return err
	}
	var parts []deliveryRow
	if err := t.all(&parts, explainParts, x.ID); err != nil {
		return err
	}
	x.Said = []router.SaidView{}
	for _, m := range rows {
		v := router.SaidView{MessageID: m.ID, Text: m.Text, Notice: m.Notice, Final: m.Final, At: instant(m.CreatedAt), Parts: []router.DeliveryView{}}
		for i := range parts {
			if parts[i].MessageID == m.ID {
				v.Parts = append(v.Parts, parts[i].view())
			}
		}
		x.Said = append(x.Said, v)
	}
	return nil
}

// A deliveryRow is a delivery for people to read.
type deliveryRow struct {
	ID                                            int64
	MessageID                                     int64 `db:"message_id"`
	TurnID                                        int64 `db:"turn_id"`
	Channel, Conversation, State, Outcome, Detail string
	Part, Tries                                   int
	Repeated                                      bool
	PlatformID                                    string `db:"platform_id"`
	Text                                          string
	UpdatedAt                                     int64 `db:"updated_at"`
}

func (d *deliveryRow) view() router.DeliveryView {
	return router.DeliveryView{
		ID: d.ID, TurnID: d.TurnID, Channel: d.Channel, Conversation: d.Conversation, State: d.State, Outcome: d.Outcome,
		Detail: d.Detail, Part: d.Part, Tries: d.Tries, Repeated: d.Repeated, PlatformID: d.PlatformID, Text: d.Text,
		UpdatedAt: instant(d.UpdatedAt),
	}
}

func (t *tx) audits(turn int64) ([]router.AuditView, error) {
	var rows []struct {
		CreatedAt                             int64 `db:"created_at"`
		Person, Action, Target, Rule, Outcome string
	}
	if err := t.all(&rows, explainAudit, turn); err != nil {
		return nil, err
	}
	views := []router.AuditView{}
	for _, a := range rows {
		views = append(views, router.AuditView{
			At: instant(a.CreatedAt), Person: a.Person, Action: a.Action, Target: a.Target, Rule: a.Rule, Outcome: a.Outcome,
		})
	}
	return views, nil
}

// TurnOf implements router.Reasons. Of what we said, it knows the latest thousand
// parts of the conversation.
func (r *Router) TurnOf(ctx context.Context, conv channels.Conversation, id channels.MessageID) (turn int64, err error) {
	queries, args := []string{turnAsked, turnSaid}, []any{clean(conv.Channel), clean(string(conv.ID)), clean(string(id))}
	if id == "" {
		queries, args = []string{turnNewest}, args[:2]
	}
	err = r.db.read(ctx, "find turn", func(t *tx) error {
		for _, query := range queries {
			found, err := t.row(query, args, &turn)
			if err != nil || found {
				return err
			}
		}
		return fmt.Errorf("turn: %w", router.ErrNotFound)
	})
	return turn, err
}
