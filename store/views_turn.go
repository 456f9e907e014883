package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"switchboard/router/audit"
	"switchboard/router/outbox"
	routerturns "switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/database"
	"switchboard/store/money"
	"switchboard/store/turns"
)

const (
	messageColumns = `
		SELECT m.id, m.direction, m.class, c.channel, c.conversation, c.kind, m.person, m.author, m.identity, m.rule, m.origin, m.taint,
			m.text, m.final, m.notice, m.happened_at, m.created_at AS at, coalesce(e.n, 0) AS event, coalesce(y.id, 0) AS turn
		FROM messages m JOIN conversations c ON c.id = m.conversation_id
		LEFT JOIN events e ON e.message_id = m.id LEFT JOIN turns y ON y.message_id = m.id `
	turnMessages = messageColumns + `WHERE m.turn_id = ? AND m.class <> 'draft' ORDER BY m.id`
	listKeptOut  = messageColumns + `WHERE m.session_id IS NULL ORDER BY m.id DESC LIMIT ?`
	turnParts    = deliveryColumns + `WHERE m.turn_id = ? AND m.direction = 'out' ORDER BY d.message_id, d.part`
	turnCalls    = `
		SELECT c.step, c.role, c.provider, c.model, c.tokens_in, c.tokens_out, c.cached AS cached_tokens, c.cost, c.reserved AS most, c.lost, c.duration AS took, c.error, c.refused,
			b.request AS asked, b.response AS answered
		FROM llm_calls c LEFT JOIN llm_bodies b ON b.turn_id = c.turn_id AND b.step = c.step AND ? = TRUE
		WHERE c.turn_id = ? ORDER BY c.ordinal`
	turnHolders = `SELECT holders FROM turns WHERE id = ?`
	turnOwners  = `SELECT id AS engine, host, pid FROM owners WHERE id IN (%s)`
	turnSteps   = `
		SELECT p.attempt, p.goal, t.position IS NOT NULL AS planned, coalesce(t.position, 0) AS position, coalesce(t.type, '') AS type, coalesce(t.detail, '') AS detail,
			coalesce(t.tool, '') AS tool, coalesce(t.args, '') AS args, coalesce(t.expect, '') AS expect, coalesce(t.state, '') AS state,
			coalesce(t.outcome, '') AS outcome, coalesce(t.output, '') AS output, coalesce(t.code, '') AS code, coalesce(t.rule, '') AS refused_by,
			coalesce(t.allowed_by, '') AS rule, coalesce(t.hint, '') AS reason, coalesce(t.taint, '') AS taint, t.started_at, t.finished_at, r.status, r.reason AS verdict, r.learn
		FROM plans p LEFT JOIN tasks t ON t.turn_id = p.turn_id AND t.attempt = p.attempt
		LEFT JOIN reviews r ON r.turn_id = t.turn_id AND r.attempt = t.attempt AND r.position = t.position
		WHERE p.turn_id = ? ORDER BY p.attempt, t.position`
	turnAudit = `SELECT created_at AS at, person, action, target, rule, outcome FROM audit WHERE turn_id = ? AND action <> 'turn' ORDER BY id`
)

type messageRow struct {
	routerturns.Message
	HappenedAt time.Time // as the platform says; zero: it does not
}

func (m *messageRow) view() routerturns.Message {
	v := m.Message
	v.MessageID = v.ID
	if v.Direction == "out" {
		v.Parts = []outbox.Info{}
	}
	if m.HappenedAt.UnixMicro() > 0 {
		v.WrittenAt = &m.HappenedAt
	}
	v.Why = audit.Admission(v.Rule, v.Identity, v.Channel)
	return v
}

// messageViews reads what came in for the turn and what it said, with the parts of each.
func messageViews(t *database.Tx, v *routerturns.Turn) (err error) {
	if v.Messages, err = database.Views(t, (*messageRow).view, turnMessages, v.ID); err != nil {
		return err
	}
	parts, err := database.Select[deliveryRow](t, turnParts, v.ID)
	if err != nil {
		return err
	}
	for i := range v.Messages {
		m := &v.Messages[i]
		for j := range parts {
			if parts[j].MessageID == m.ID {
				m.Parts = append(m.Parts, parts[j].Info)
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
	rows, err := database.Select[routerturns.Holder](t, fmt.Sprintf(turnOwners, marks), args...)
	if err != nil {
		return err
	}
	for _, o := range rows {
		for i := range v.Holders {
			if h := &v.Holders[i]; h.Engine == o.Engine {
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
	routerturns.Task
	Attempt                int
	Goal                   string
	Planned                bool // else the plan has no task
	Code, RefusedBy        string
	Status, Verdict, Learn *string
}

func (s *stepRow) view() routerturns.Task {
	v := s.Task
	if v.Outcome == "refused" {
		v.Rule = s.RefusedBy
	}
	if s.Code != "cancelled" { // the outcome says so already
		v.Outcome = strings.TrimSpace(v.Outcome + " " + s.Code)
	}
	if s.Status != nil {
		v.Review = &routerturns.Review{Status: *s.Status, Reason: *s.Verdict, Learn: *s.Learn}
	}
	return v
}

// planViews reads the plans with their tasks, the rules that decided and the verdicts.
func planViews(t *database.Tx, v *routerturns.Turn) error {
	rows, err := database.Select[stepRow](t, turnSteps, v.ID)
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		if n := len(v.Plans); n == 0 || v.Plans[n-1].Attempt != row.Attempt {
			v.Plans = append(v.Plans, routerturns.Plan{Attempt: row.Attempt, Goal: row.Goal, Tasks: []routerturns.Task{}})
		}
		if row.Planned {
			p := &v.Plans[len(v.Plans)-1]
			p.Tasks = append(p.Tasks, row.view())
		}
	}
	return approvalViews(t, v)
}

// approvalViews reads what people were asked for the tasks of the plans.
func approvalViews(t *database.Tx, v *routerturns.Turn) error {
	rows, err := approvals.OfTurn(t, v.ID)
	if err != nil {
		return err
	}
	for _, a := range rows {
		if a.Attempt < len(v.Plans) && a.Position < len(v.Plans[a.Attempt].Tasks) {
			task := &v.Plans[a.Attempt].Tasks[a.Position]
			task.Approvals = append(task.Approvals, a.Approval)
		}
	}
	return nil
}

func callViews(t *database.Tx, v *routerturns.Turn, prompts bool) error {
	type row struct {
		routerturns.Call
		Most, Took      int64
		Asked, Answered []byte
	}
	rows, err := database.Select[row](t, turnCalls, prompts, v.ID)
	if err != nil {
		return err
	}
	for _, c := range rows {
		c.Cost, c.Reserved, c.Duration = database.ShownCost(c.Cost), money.Money(c.Most), (time.Duration(c.Took) * time.Microsecond).String()
		if c.TokensIn > 0 {
			v.PromptTokens = c.TokensIn
		}
		request, err := turns.Unpack(c.Asked)
		if err != nil {
			return err
		}
		response, err := turns.Unpack(c.Answered)
		if err != nil {
			return err
		}
		c.Request, c.Response = database.AsJSON(request), database.Clean(string(response))
		v.LLM = append(v.LLM, c.Call)
	}
	return nil
}
