package store

import (
	"context"
	"fmt"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/ledger"
)

// callStep lets the first message alone open its conversation, as the router asks.
func (db *DB) callStep(ctx context.Context, ref ledger.TurnRef, step *agent.Step, says []ledger.Reply) (*ledger.Claimed, error) {
	now := db.now().UnixMicro()
	var got struct {
		Fenced bool
		Next   *claimedArg
		Begun  *headRow
	}
	err := db.CallJoined(ctx, db.stepMode(*step, says), "commit step", &got, callSteps, ref.SessionID, objectText(stepArg(ref, step, says, now)))
	if err == nil && got.Fenced {
		err = fmt.Errorf("commit step: %w", ledger.ErrFenced)
	}
	if err != nil {
		return nil, err
	}
	if b := got.Begun; b != nil && b.ID != 0 {
		o := says[0].Open
		if o.Begun, err = b.delivery(o.Hold, o.Conversation.ID); err != nil {
			return nil, err
		}
	}
	return got.Next.claimed(), nil
}

func stepArg(ref ledger.TurnRef, step *agent.Step, saying []ledger.Reply, now int64) object {
	tasks, left := planned(step.Plan, step.Tasks)
	calls, changes, says := make([]object, len(step.Calls)), make([]object, len(left)), make([]object, len(saying))
	bodies := packCalls(step.Calls)
	for i, c := range step.Calls {
		x, u := &c.Exchange, &c.Usage
		calls[i] = object{
			"step": clean(c.Step), "role": clean(c.Role), "provider": clean(x.Provider), "model": clean(x.Model),
			"error": clean(c.Error), "refused": clean(c.Refused), "in": u.In, "out": u.Out, "cached": u.Cached, "cost": u.Cost,
			"duration": x.Duration.Microseconds(), "answer": bodies[i].answer, "request": bodies[i].request, "response": bodies[i].response,
			"day": callDay(&c, now), "charge": billionths(u.Cost),
		}
		if c.Held != "" {
			calls[i]["held"] = clean(c.Held)
		}
	}
	for i, c := range left {
		from, or, early := follows(&c)
		changes[i] = object{
			"attempt": c.Attempt, "position": c.Position, "state": c.State, "from": from, "or": or, "early": early,
			"allowed_by": clean(c.AllowedBy), "result": resultArg(c.Result),
		}
	}
	for i := range saying {
		says[i] = replyArg(&saying[i], &step.Say[i])
	}
	arg := object{
		"turn": ref.TurnID, "session": ref.SessionID, "fence": ref.Fence, "now": now, "calls": calls, "expires": now + bodiesLive.Microseconds(),
		"changes": changes, "says": says, "events": stepEvents(ref.TurnID, step),
	}
	if p := step.Plan; p != nil {
		rows := make([]object, len(tasks))
		for i, t := range tasks {
			rows[i] = object{
				"position": t.Position, "type": t.Type, "detail": clean(t.Detail), "tool": cleanPtr(t.Tool), "args": cleanPtr(t.Args),
				"expect": cleanPtr(t.Expect), "choices": jsonList(t.Choices), "answer": cleanPtr(t.Answer),
				"state": t.State, "result": resultArg(t.Result),
			}
		}
		arg["plan"] = object{"attempt": p.Attempt, "goal": clean(p.Goal), "secrets": secretsText(p), "tasks": rows}
	}
	if r := step.Review; r != nil {
		arg["review"] = object{
			"attempt": r.Attempt, "position": r.Position, "status": r.Status, "reason": clean(r.Reason), "learn": clean(r.Learn),
			"taint": clean(string(r.Taint)),
		}
	}
	if e := step.End; e != nil {
		// There may be tasks that are not over, of this plan or an earlier one.
		open := !parks(e) && (step.Plan == nil || step.Plan.Attempt > 0 || len(step.Tasks)-len(left) < len(tasks))
		arg["end"] = object{"state": e.State, "outcome": clean(e.Outcome), "event": turnEvent(ref.TurnID, e.State, e.Outcome), "open_tasks": open}
	}
	return arg
}

func resultArg(r *tools.Result) object {
	if r == nil {
		return nil
	}
	return object{
		"end": r.End, "output": clean(r.Output), "code": clean(r.Code), "rule": clean(r.Rule), "hint": clean(r.Hint), "taint": clean(string(r.Taint)),
	}
}
