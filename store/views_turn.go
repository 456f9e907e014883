package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/outbox"
	routerturns "switchboard/router/turns"
	"switchboard/store/database"
	"switchboard/store/money"
	"switchboard/store/turns"
)

const (
	messageColumns = `
		SELECT m.id, m.direction, m.class, c.channel, c.conversation, c.kind, m.person, m.author, m.identity, m.rule, m.origin, m.taint,
			m.text, m.final, m.notice, m.happened_at, m.created_at, coalesce(e.n, 0) AS n, coalesce(y.id, 0) AS turn
		FROM messages m JOIN conversations c ON c.id = m.conversation_id
		LEFT JOIN events e ON e.message_id = m.id LEFT JOIN turns y ON y.message_id = m.id `
	turnMessages = messageColumns + `WHERE m.turn_id = ? AND m.class <> 'draft' ORDER BY m.id`
	listKeptOut  = messageColumns + `WHERE m.session_id IS NULL ORDER BY m.id DESC LIMIT ?`
	turnParts    = deliveryColumns + `WHERE m.turn_id = ? AND m.direction = 'out' ORDER BY d.message_id, d.part`
	turnCalls    = `
		SELECT c.step, c.role, c.provider, c.model, c.tokens_in, c.tokens_out, c.cached, c.cost, c.reserved, c.lost, c.duration, c.error, c.refused, b.request, b.response
		FROM llm_calls c LEFT JOIN llm_bodies b ON b.turn_id = c.turn_id AND b.step = c.step AND ? = TRUE
		WHERE c.turn_id = ? ORDER BY c.ordinal`
	turnHolders = `SELECT holders FROM turns WHERE id = ?`
	turnOwners  = `SELECT id, host, pid FROM owners WHERE id IN (%s)`
	turnSteps   = `
		SELECT p.attempt, p.goal, t.position, t.type, t.detail, coalesce(t.tool, '') AS tool, coalesce(t.args, '') AS args,
			coalesce(t.expect, '') AS expect, t.state, t.outcome, t.output, t.code,
			t.rule, t.allowed_by, t.hint, t.taint, t.started_at, t.finished_at, r.status, r.reason, r.learn
		FROM plans p LEFT JOIN tasks t ON t.turn_id = p.turn_id AND t.attempt = p.attempt
		LEFT JOIN reviews r ON r.turn_id = t.turn_id AND r.attempt = t.attempt AND r.position = t.position
		WHERE p.turn_id = ? ORDER BY p.attempt, t.position`
	turnApprovals = `
		SELECT id, attempt, position, state, scope, rule, decided_by, why, created_at, decided_at FROM approvals WHERE turn_id = ? ORDER BY id`
	turnAudit = `SELECT created_at, person, action, target, rule, outcome FROM audit WHERE turn_id = ? AND action <> 'turn' ORDER BY id`
)

type messageRow struct {
	ID, N, Turn                                         int64
	Direction, Class, Channel, Conversation, Kind       string
	Person, Author, Identity, Rule, Origin, Taint, Text string
	Final, Notice                                       bool
	HappenedAt                                          int64 `db:"happened_at"` // as the platform says; 0: it does not
	CreatedAt                                           int64 `db:"created_at"`
}

func (m *messageRow) view() routerturns.Message {
	v := routerturns.Message{
		SessionMessage: channels.SessionMessage{
			ID: m.ID, Direction: m.Direction, Text: m.Text, Author: m.Author, Final: m.Final, Notice: m.Notice,
		},
		Class: m.Class, Channel: m.Channel, Conversation: m.Conversation, Kind: m.Kind, Person: m.Person, Identity: m.Identity,
		Rule: m.Rule, Origin: m.Origin, Taint: m.Taint, Event: m.N, At: database.Instant(m.CreatedAt), Turn: m.Turn,
		MessageID: m.ID,
	}
	if m.Direction == "out" {
		v.Parts = []outbox.Info{}
	}
	if m.HappenedAt > 0 {
		v.WrittenAt = database.InstantPtr(&m.HappenedAt)
	}
	v.Why = audit.Admission(v.Rule, v.Identity, v.Channel)
	return v
}

// messageViews reads what came in for the turn and what it said, with the parts of each.
func messageViews(t *database.Tx, v *routerturns.Turn) (err error) {
	if v.Messages, err = database.Views(t, (*messageRow).view, turnMessages, v.ID); err != nil {
		return err
	}
	var parts []deliveryRow
	if err := t.All(&parts, turnParts, v.ID); err != nil {
		return err
	}
	for i := range v.Messages {
		m := &v.Messages[i]
		for j := range parts {
			if parts[j].MessageID == m.ID {
				m.Parts = append(m.Parts, parts[j].view())
			}
		}
	}
	return nil
}

// holders reads who held the turn, with what is known of each.
func holders(t *database.Tx, v *routerturns.Turn) error {
	var text string
	if _, err := t.Row(turnHolders, []any{v.ID}, &text); err != nil {
		return err
	}
	v.Holders, v.HoldersCut = parseHolders(text)
	if len(v.Holders) == 0 {
		return nil
	}
	var ids []int64
	for _, h := range v.Holders {
		ids = append(ids, h.Engine)
	}
	marks, args := database.In(ids)
	var rows []struct {
		ID   int64
		Host string
		PID  int
	}
	if err := t.All(&rows, fmt.Sprintf(turnOwners, marks), args...); err != nil {
		return err
	}
	for _, o := range rows {
		for i := range v.Holders {
			if h := &v.Holders[i]; h.Engine == o.ID {
				h.Host, h.PID = o.Host, o.PID
			}
		}
	}
	return nil
}

// parseHolders reads turns.holders. What grew too long begins with an ellipsis, and
// with it a part of an entry.
func parseHolders(text string) (list []routerturns.Holder, cut bool) {
	text, cut = strings.CutPrefix(text, "…")
	list = []routerturns.Holder{}
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
		list = append(list, routerturns.Holder{Engine: n[0], Fence: n[1], From: database.Instant(n[2])})
	}
	return list, cut
}

type stepRow struct {
	Attempt                 int
	Goal                    string
	Position                *int
	Type, Detail            *string
	Tool, Args, Expect      string
	State, Outcome, Output  *string
	Code, Rule, Hint, Taint *string
	AllowedBy               *string `db:"allowed_by"`
	StartedAt               *int64  `db:"started_at"`
	FinishedAt              *int64  `db:"finished_at"`
	Status, Reason, Learn   *string
}

func (s *stepRow) view() routerturns.Task {
	v := routerturns.Task{
		Position: *s.Position, Type: *s.Type, Detail: *s.Detail, Tool: s.Tool, Args: s.Args, Expect: s.Expect,
		State: *s.State, Outcome: strings.TrimSpace(*s.Outcome + " " + *s.Code), Output: *s.Output, Taint: *s.Taint,
		Rule: *s.AllowedBy, Reason: *s.Hint, StartedAt: database.InstantPtr(s.StartedAt), FinishedAt: database.InstantPtr(s.FinishedAt),
	}
	if *s.Outcome == "refused" {
		v.Rule = *s.Rule
	}
	if s.Status != nil {
		v.Review = &routerturns.Review{Status: *s.Status, Reason: *s.Reason, Learn: *s.Learn}
	}
	return v
}

// planViews reads the plans with their tasks, the rules that decided and the verdicts.
func planViews(t *database.Tx, v *routerturns.Turn) error {
	var rows []stepRow
	if err := t.All(&rows, turnSteps, v.ID); err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		if n := len(v.Plans); n == 0 || v.Plans[n-1].Attempt != row.Attempt {
			v.Plans = append(v.Plans, routerturns.Plan{Attempt: row.Attempt, Goal: row.Goal, Tasks: []routerturns.Task{}})
		}
		if row.Position != nil {
			p := &v.Plans[len(v.Plans)-1]
			p.Tasks = append(p.Tasks, row.view())
		}
	}
	return approvalViews(t, v)
}

// approvalViews reads what people were asked for the tasks of the plans.
func approvalViews(t *database.Tx, v *routerturns.Turn) error {
	var rows []struct {
		ID                      int64
		Attempt, Position       int
		State, Scope, Rule, Why string
		DecidedBy               string `db:"decided_by"`
		CreatedAt               int64  `db:"created_at"`
		DecidedAt               *int64 `db:"decided_at"`
	}
	if err := t.All(&rows, turnApprovals, v.ID); err != nil {
		return err
	}
	for _, a := range rows {
		if a.Attempt < len(v.Plans) && a.Position < len(v.Plans[a.Attempt].Tasks) {
			task := &v.Plans[a.Attempt].Tasks[a.Position]
			task.Approvals = append(task.Approvals, routerturns.Approval{
				ID: a.ID, State: a.State, Scope: a.Scope, Rule: a.Rule, By: a.DecidedBy, Why: a.Why,
				AskedAt: database.Instant(a.CreatedAt), DecidedAt: database.InstantPtr(a.DecidedAt),
			})
		}
	}
	return nil
}

func callViews(t *database.Tx, v *routerturns.Turn, prompts bool) error {
	var rows []struct {
		Step, Role, Provider, Model, Error, Refused string
		TokensIn                                    int64 `db:"tokens_in"`
		TokensOut                                   int64 `db:"tokens_out"`
		Cost                                        float64
		Cached, Reserved, Duration                  int64
		Lost                                        bool
		Request, Response                           []byte
	}
	if err := t.All(&rows, turnCalls, prompts, v.ID); err != nil {
		return err
	}
	for _, c := range rows {
		view := routerturns.Call{
			Step: c.Step, Role: c.Role, Provider: c.Provider, Model: c.Model, TokensIn: c.TokensIn, TokensOut: c.TokensOut,
			Cost: database.ShownCost(c.Cost), Duration: (time.Duration(c.Duration) * time.Microsecond).String(), Error: c.Error,
			Refused: c.Refused, CachedTokens: c.Cached, Reserved: money.Money(c.Reserved), Lost: c.Lost,
		}
		if c.TokensIn > 0 {
			v.PromptTokens = c.TokensIn
		}
		request, err := turns.Unpack(c.Request)
		if err != nil {
			return err
		}
		response, err := turns.Unpack(c.Response)
		if err != nil {
			return err
		}
		view.Request, view.Response = database.AsJSON(request), database.Clean(string(response))
		v.LLM = append(v.LLM, view)
	}
	return nil
}

type auditRow struct {
	CreatedAt                             int64 `db:"created_at"`
	Person, Action, Target, Rule, Outcome string
}

func (a *auditRow) view() routerturns.Audit {
	return routerturns.Audit{At: database.Instant(a.CreatedAt), Person: a.Person, Action: a.Action, Target: a.Target, Rule: a.Rule, Outcome: a.Outcome}
}
