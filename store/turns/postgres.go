package turns

import (
	"context"
	"fmt"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routeroutbox "switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/money"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const callSteps = `SELECT sb_steps($1)`

// callStep lets the first message alone open its conversation, as the router asks.
func (db *Store) callStep(ctx context.Context, ref core.TurnRef, step *agent.Step, says []routeroutbox.Reply) (*core.Claimed, error) {
	now := db.Now().UnixMicro()
	var got struct {
		Fenced bool
		Next   *ClaimedArg
		Begun  *outbox.HeadRow
	}
	err := db.CallJoined(ctx, db.stepMode(*step, says), "commit step", &got, callSteps, ref.SessionID, sessions.ObjectText(stepArg(ref, step, says, now)))
	if err == nil && got.Fenced {
		err = fmt.Errorf("commit step: %w", core.ErrFenced)
	}
	if err != nil {
		return nil, err
	}
	if b := got.Begun; b != nil && b.ID != 0 {
		o := says[0].Open
		if o.Begun, err = b.Delivery(o.Lease, o.Conversation.ID); err != nil {
			return nil, err
		}
	}
	return got.Next.Claimed(), nil
}

func stepArg(ref core.TurnRef, step *agent.Step, saying []routeroutbox.Reply, now int64) sessions.Object {
	tasks, left := planned(step.Plan, step.Tasks)
	calls, changes, says := make([]sessions.Object, len(step.Calls)), make([]sessions.Object, len(left)), make([]sessions.Object, len(saying))
	bodies := packCalls(step.Calls)
	for i, c := range step.Calls {
		x, u := &c.Exchange, &c.Usage
		calls[i] = sessions.Object{
			"step": c.Step, "role": c.Role, "provider": x.Provider, "model": x.Model,
			"error": c.Error, "refused": c.Refused, "in": u.In, "out": u.Out, "cached": u.Cached, "cost": u.Cost,
			"duration": x.Duration.Microseconds(), "answer": bodies[i].answer, "request": bodies[i].request, "response": bodies[i].response,
			"day": money.CallDay(&c, now), "charge": money.Billionths(u.Cost),
		}
		if c.Held != "" {
			calls[i]["held"] = database.Clean(c.Held)
		}
	}
	for i, c := range left {
		from, or, early := follows(&c)
		changes[i] = sessions.Object{
			"attempt": c.Attempt, "position": c.Position, "state": c.State, "from": from, "or": or, "early": early,
			"allowed_by": c.AllowedBy, "result": resultArg(c.Result),
		}
	}
	for i := range saying {
		says[i] = outbox.ReplyArg(&saying[i], &step.Say[i])
	}
	arg := sessions.Object{
		"turn": ref.TurnID, "session": ref.SessionID, "fence": ref.Fence, "now": now, "calls": calls, "expires": now + BodiesLive.Microseconds(),
		"changes": changes, "says": says, "events": sessions.StepEvents(ref.TurnID, step),
	}
	if p := step.Plan; p != nil {
		rows := make([]sessions.Object, len(tasks))
		for i, t := range tasks {
			rows[i] = sessions.Object{
				"position": t.Position, "type": t.Type, "detail": t.Detail, "tool": t.Tool, "args": t.Args,
				"expect": t.Expect, "choices": t.Choices, "answer": t.Answer,
				"state": t.State, "result": resultArg(t.Result),
			}
		}
		arg["plan"] = sessions.Object{"attempt": p.Attempt, "goal": p.Goal, "secrets": secretsText(p), "tasks": rows}
	}
	if r := step.Review; r != nil {
		arg["review"] = sessions.Object{
			"attempt": r.Attempt, "position": r.Position, "status": r.Status, "reason": r.Reason, "learn": r.Learn,
			"taint": r.Taint,
		}
	}
	if e := step.End; e != nil {
		// There may be tasks that are not over, of this plan or an earlier one.
		open := !parks(e) && (step.Plan == nil || step.Plan.Attempt > 0 || len(step.Tasks)-len(left) < len(tasks))
		arg["end"] = sessions.Object{"state": e.State, "outcome": e.Outcome, "event": sessions.TurnEvent(ref.TurnID, e.State, e.Outcome), "open_tasks": open}
	}
	return arg
}

func resultArg(r *tools.Result) sessions.Object {
	if r == nil {
		return nil
	}
	return sessions.Object{
		"end": r.End, "output": r.Output, "code": r.Code, "rule": r.Rule, "hint": r.Hint, "taint": r.Taint,
	}
}
