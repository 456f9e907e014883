package store

import (
	"context"
	"fmt"
	"slices"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/ledger"
)

// What sb_steps takes and gives, one of each list.
type (
	stepArg struct {
		Turn    int64       `json:"turn"`
		Session int64       `json:"session"`
		Fence   int64       `json:"fence"`
		Now     int64       `json:"now"`
		Calls   []callArg   `json:"calls"`
		Expires int64       `json:"expires"` // of the calls' bodies
		Plan    *planArg    `json:"plan"`
		Changes []changeArg `json:"changes"`
		Review  *reviewArg  `json:"review"`
		Says    []*replyArg `json:"says"`
		End     *endArg     `json:"end"`
		Events  []event     `json:"events"`
	}
	callArg struct {
		Step     string  `json:"step"`
		Role     string  `json:"role"`
		Provider string  `json:"provider"`
		Model    string  `json:"model"`
		Error    string  `json:"error"`
		Refused  string  `json:"refused"`
		In       int64   `json:"in"`
		Out      int64   `json:"out"`
		Cached   int64   `json:"cached"`
		Cost     float64 `json:"cost"`
		Duration int64   `json:"duration"`
		Answer   []byte  `json:"answer"`
		Request  []byte  `json:"request"`
		Response []byte  `json:"response"`
	}
	planArg struct {
		Attempt int       `json:"attempt"`
		Goal    string    `json:"goal"`
		Secrets string    `json:"secrets"`
		Tasks   []taskArg `json:"tasks"`
	}
	taskArg struct {
		Position int        `json:"position"`
		Type     string     `json:"type"`
		Detail   string     `json:"detail"`
		Tool     any        `json:"tool"`
		Args     any        `json:"args"`
		Expect   any        `json:"expect"`
		Choices  any        `json:"choices"`
		Answer   any        `json:"answer"`
		State    string     `json:"state"`
		Result   *resultArg `json:"result"`
	}
	changeArg struct {
		Attempt  int        `json:"attempt"`
		Position int        `json:"position"`
		State    string     `json:"state"`
		From     string     `json:"from"`
		Or       string     `json:"or"`
		Early    bool       `json:"early"`
		Allowed  string     `json:"allowed_by"`
		Result   *resultArg `json:"result"`
	}
	resultArg struct {
		End    string `json:"end"`
		Output string `json:"output"`
		Code   string `json:"code"`
		Rule   string `json:"rule"`
		Hint   string `json:"hint"`
		Taint  string `json:"taint"`
	}
	reviewArg struct {
		Attempt  int    `json:"attempt"`
		Position int    `json:"position"`
		Status   string `json:"status"`
		Reason   string `json:"reason"`
		Learn    string `json:"learn"`
		Taint    string `json:"taint"`
	}
	endArg struct {
		State   string `json:"state"`
		Outcome string `json:"outcome"`
		Event   event  `json:"event"`
		// OpenTasks: there may be tasks that are not over.
		OpenTasks bool `json:"open_tasks"`
	}
	steppedArg struct {
		Fenced bool        `json:"fenced"`
		Next   *claimedArg `json:"next"`
		Begun  *begunArg   `json:"begun"`
	}
)

// callStep lets the first message alone open its conversation, as the router asks.
func (db *DB) callStep(ctx context.Context, ref ledger.TurnRef, step *agent.Step, says []ledger.Reply) (*ledger.Claimed, error) {
	now := db.now().UnixMicro()
	var got steppedArg
	err := db.CallJoined(ctx, db.stepMode(*step, says), "commit step", &got, callSteps, ref.SessionID, jsonText(stepArgOf(ref, step, says, now)))
	if err == nil && got.Fenced {
		err = fmt.Errorf("commit step: %w", ledger.ErrFenced)
	}
	if err != nil {
		return nil, err
	}
	if b := got.Begun; b != nil && b.ID != 0 {
		o := says[0].Open
		if o.Begun, err = b.delivery(o.Hold.Channel, o.Conversation.ID); err != nil {
			return nil, err
		}
	}
	return got.Next.claimed(), nil
}

func stepArgOf(ref ledger.TurnRef, step *agent.Step, says []ledger.Reply, now int64) stepArg {
	arg := stepArg{
		Turn: ref.TurnID, Session: ref.SessionID, Fence: ref.Fence, Now: now,
		Calls: []callArg{}, Expires: now + bodiesLive.Microseconds(),
		Changes: []changeArg{}, Says: []*replyArg{}, Events: stepEvents(ref.TurnID, step),
	}
	var changes []agent.TaskChange
	arg.Plan, changes = planArgOf(step.Plan, step.Tasks)
	bodies := packCalls(step.Calls)
	for i, c := range step.Calls {
		x, u := &c.Exchange, &c.Usage
		arg.Calls = append(arg.Calls, callArg{
			clean(c.Step), clean(c.Role), clean(x.Provider), clean(x.Model), clean(c.Error), clean(c.Refused),
			u.In, u.Out, u.Cached, u.Cost, x.Duration.Microseconds(), bodies[i].answer, bodies[i].request, bodies[i].response,
		})
	}
	for _, c := range changes {
		from, or, early := follows(&c)
		arg.Changes = append(arg.Changes, changeArg{
			c.Attempt, c.Position, string(c.State), string(from), string(or), early, clean(c.AllowedBy), resultArgOf(c.Result),
		})
	}
	if r := step.Review; r != nil {
		arg.Review = &reviewArg{r.Attempt, r.Position, r.Status, clean(r.Reason), clean(r.Learn), clean(string(r.Taint))}
	}
	for i := range says {
		arg.Says = append(arg.Says, replyArgOf(&says[i], &step.Say[i]))
	}
	if e := step.End; e != nil {
		arg.End = &endArg{e.State, clean(e.Outcome), turnEvent(ref.TurnID, e.State, e.Outcome), mayHaveOpen(arg.Plan)}
	}
	return arg
}

// planArgOf is a plan with its tasks, each in the state that the step brings it to
// if that is final, and the changes that are left to do.
func planArgOf(p *agent.PlanRow, changes []agent.TaskChange) (*planArg, []agent.TaskChange) {
	if p == nil {
		return nil, changes
	}
	arg := &planArg{p.Attempt, clean(p.Goal), "[]", make([]taskArg, len(p.Tasks))}
	if p.Secrets != nil {
		arg.Secrets = jsonText(p.Secrets)
	}
	for i, t := range p.Tasks {
		arg.Tasks[i] = taskArg{
			t.Position, string(t.Type), clean(t.Detail), cleanPtr(t.Tool), cleanPtr(t.Args), cleanPtr(t.Expect),
			jsonList(t.Choices), cleanPtr(t.Answer), string(agent.TaskPending), nil,
		}
		if len(changes) > 0 && ready(&changes[0], p.Attempt, &t) {
			arg.Tasks[i].State, arg.Tasks[i].Result = string(agent.TaskDone), resultArgOf(changes[0].Result)
			changes = changes[1:]
		}
	}
	return arg, changes
}

func resultArgOf(r *tools.Result) *resultArg {
	if r == nil {
		return nil
	}
	return &resultArg{string(r.End), clean(r.Output), clean(r.Code), clean(r.Rule), clean(r.Hint), clean(string(r.Taint))}
}

// mayHaveOpen says that a turn may have tasks that are not over after the plan and
// the changes to it that a step holds.
func mayHaveOpen(p *planArg) bool {
	return p == nil || p.Attempt > 0 || slices.ContainsFunc(p.Tasks, func(t taskArg) bool { return t.State == string(agent.TaskPending) })
}
