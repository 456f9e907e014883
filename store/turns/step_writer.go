package turns

import (
	_ "embed"
	"fmt"
	"slices"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/router/core"
	routeroutbox "switchboard/router/outbox"
	"switchboard/router/turns"
	"switchboard/store/approvals"
	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/money"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
)

const (
	// A call that failed may be made again under its step; one that answered stays. One whose cost was reserved has
	// its row.
	insertCall = `
		INSERT INTO llm_calls (turn_id, step, ordinal, role, provider, model, error, refused, tokens_in, tokens_out, cached, cost, duration, day, created_at)
		VALUES (?, ?, (SELECT count(*) FROM llm_calls WHERE turn_id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn_id, step) DO UPDATE SET role = excluded.role, provider = excluded.provider, model = excluded.model,
			error = excluded.error, refused = excluded.refused, tokens_in = llm_calls.tokens_in + excluded.tokens_in,
			tokens_out = llm_calls.tokens_out + excluded.tokens_out, cached = llm_calls.cached + excluded.cached,
			cost = llm_calls.cost + excluded.cost, duration = excluded.duration, day = excluded.day, reserved = 0
		WHERE llm_calls.error <> '' OR llm_calls.reserved > 0`
	insertBody = `
		INSERT INTO llm_bodies (turn_id, step, answer, request, response, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (turn_id, step) DO UPDATE SET answer = excluded.answer, request = excluded.request,
			response = excluded.response, expires_at = excluded.expires_at`
	// Each committed step is progress: whoever dies from now on is counted again.
	addUsage = `
		UPDATE turns SET resumed = 0, calls = calls + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?, cost = cost + ?
		WHERE id = ?`
	insertPlan    = `INSERT INTO plans (turn_id, attempt, goal, secrets, created_at) VALUES (?, ?, ?, ?, ?)`
	cancelEarlier = `
		UPDATE tasks SET state = 'cancelled', finished_at = ? WHERE turn_id = ? AND attempt < ? AND state = 'pending'`
	insertTask = `
		INSERT INTO tasks (turn_id, attempt, position, type, detail, tool, args, expect, choices, answer, created_at,
			state, finished_at, has_result, outcome, output, code, rule, hint, taint)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// changeTask is conditional on the state the new one follows from; a ready
	// message needs no running, nor does what was refused before it began.
	changeTask = `
		UPDATE tasks SET state = ?, started_at = CASE WHEN ? THEN ? ELSE started_at END, allowed_by = CASE WHEN ? THEN ? ELSE allowed_by END,
			finished_at = CASE WHEN ? THEN finished_at ELSE ? END
		WHERE turn_id = ? AND attempt = ? AND position = ?
		AND (state = ? OR state = ? OR (state = 'pending' AND type = 'msg' AND ?))`
	setResult = `
		UPDATE tasks SET has_result = TRUE, outcome = ?, output = ?, code = ?, rule = ?, hint = ?, taint = ?
		WHERE turn_id = ? AND attempt = ? AND position = ?`
	insertReview = `
		INSERT INTO reviews (turn_id, attempt, position, status, reason, learn, taint, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	// insertLearning: of who wants nothing to be learned, of a private chat, and of what was left behind, nothing is kept.
	insertLearning = `
		INSERT INTO memories (kind, scope, person, session_id, text, state, source, taint, turn_id, created_at, updated_at)
		SELECT 'learning', 'session:' || t.session_id, t.person, t.session_id, CAST(? AS text), 'pending', CAST(? AS text), CAST(? AS text), t.id, CAST(? AS bigint), CAST(? AS bigint)
		FROM turns t WHERE t.id = ? AND NOT EXISTS (SELECT 1 FROM memory_settings m WHERE m.person = t.person AND m.learning = FALSE)
			AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = t.session_id AND (s.private <> '' OR t.id <= s.left_turn OR t.id <= s.reset_turn))`
	madeProgress = `UPDATE turns SET resumed = 0 WHERE id = ? AND resumed > 0`
	endTurn      = `
		UPDATE turns SET resumed = 0, calls = calls + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?, cost = cost + ?,
			state = ?, outcome = ?, finished_at = ?, parked_at = coalesce(?, parked_at) WHERE id = ? RETURNING coalesce(draft_id, 0)`
	// putOff says when a turn that is to be queued again may run, and puts it ahead of all that are queued.
	// A question is put once, and answered in another turn; where memory is another's copy, there.
	putQuestion    = `UPDATE memories SET asked_turn = ? WHERE id = ? AND kind = 'question' AND state = 'active'`
	answerQuestion = `
		UPDATE memories SET state = 'answered', updated_at = ? WHERE id = ? AND kind = 'question' AND state = 'active' AND asked_turn IS NOT NULL AND asked_turn <> ?
			AND NOT EXISTS (SELECT 1 FROM memory_copy)`
	dropQuestion = `DELETE FROM recalled WHERE kind = 'memory' AND ref = ?`
	putOff       = `
		UPDATE turns SET not_before = ?, waited = waited + ?, ahead = (
			SELECT coalesce(min(q.rank), 0) - 1 FROM turns q WHERE q.session_id = turns.session_id AND q.rank < 0 AND q.state = 'queued')
		WHERE id = ?`
	endTasks = `
		UPDATE tasks SET state = CASE state WHEN 'pending' THEN 'cancelled' ELSE 'interrupted' END, finished_at = ?
		WHERE turn_id = ? AND state IN ('pending', 'running')`
)

// refused writes that a rule kept a task from running.
func (w *stepWriter) refused(c *agent.TaskChange) {
	if w.err != nil {
		return
	}
	var person, kind, tool string
	if _, w.err = w.t.Row(audit.RefusedTask, []any{w.turn, c.Attempt, c.Position}, &person, &kind, &tool); w.err != nil {
		return
	}
	if tool == "" {
		tool = kind
	}
	w.err = audit.Write(w.t, core.Actor{Person: person, Rule: c.Result.Rule}, audit.Entry{
		Action: "tool.refused", Target: fmt.Sprintf("%s, task %d of attempt %d", tool, c.Position, c.Attempt), Outcome: c.Result.Code,
		Why: c.Result.Hint, Data: map[string]any{"tool": tool, "taint": c.Result.Taint}, Session: w.session, Turn: w.turn,
	})
}

// stepWriter writes the parts of a step; after the first error it does nothing.
type stepWriter struct {
	t                           *database.Tx
	turn, session, conversation int64
	events                      []sessions.Event
	used                        usage
	charges                     []money.Charge // what its calls cost
	err                         error
}

// usage is what the calls of a step add to their turn.
type usage struct {
	calls int
	llm.Usage
}

// exec runs a statement and returns how many rows it touched.
func (w *stepWriter) exec(query string, args ...any) (n int64) {
	if w.err == nil {
		n, w.err = w.t.Exec(query, args...)
	}
	return n
}

// plan writes a plan with its tasks, and returns the changes that are left to do.
func (w *stepWriter) plan(p *agent.PlanRow, changes []agent.TaskChange) []agent.TaskChange {
	tasks, left := planned(p, changes)
	if p == nil {
		return left
	}
	if p.Attempt > 0 {
		w.exec(cancelEarlier, w.t.Now, w.turn, p.Attempt)
	}
	w.exec(insertPlan, w.turn, p.Attempt, p.Goal, secretsText(p), w.t.Now)
	for _, row := range tasks {
		finished, result := any(nil), tools.Result{}
		if row.State == agent.TaskDone {
			finished = w.t.Now
		}
		if row.Result != nil {
			result = *row.Result
		}
		w.exec(insertTask, w.turn, p.Attempt, row.Position, row.Type, row.Detail, row.Tool, row.Args,
			row.Expect, row.Choices, row.Answer, w.t.Now,
			row.State, finished, row.Result != nil, result.End, result.Output, result.Code,
			result.Rule, result.Hint, result.Taint)
	}
	switch {
	case p.Question == 0:
	case p.Answer == "":
		w.exec(putQuestion, w.turn, p.Question)
	case w.exec(answerQuestion, w.t.Now, p.Question, w.turn) > 0:
		w.exec(dropQuestion, p.Question)
		w.exec(insertLearning, p.Answer, "answer", "", w.t.Now, w.t.Now, w.turn)
	}
	return left
}

// planned are the tasks of a new plan, each pending or, where it is a message that was
// ready with the plan, ended by the step's next change; left are the other changes.
func planned(p *agent.PlanRow, changes []agent.TaskChange) (tasks []agent.TaskRow, left []agent.TaskChange) {
	if p == nil {
		return nil, changes
	}
	tasks = slices.Clone(p.Tasks)
	for i := range tasks {
		row := &tasks[i]
		row.State, row.Result = agent.TaskPending, nil
		if len(changes) == 0 {
			continue
		}
		c := &changes[0]
		if c.State == agent.TaskDone && row.Type == agent.TaskMsg && c.Attempt == p.Attempt && c.Position == row.Position {
			row.State, row.Result, changes = agent.TaskDone, c.Result, changes[1:]
		}
	}
	return tasks, changes
}

// secretsText is a plan's list of secrets, never NULL.
func secretsText(p *agent.PlanRow) string { return database.JSONText(append([]string{}, p.Secrets...)) }

// follows lists the states from which a task comes to another; early says that a
// msg task may come from pending as well.
func follows(c *agent.TaskChange) (from, or agent.TaskState, early bool) {
	switch c.State {
	case agent.TaskRunning:
		return agent.TaskPending, agent.TaskPending, false
	case agent.TaskDone:
		if r := c.Result; r != nil && r.Code == agent.CodeDoneBefore {
			return agent.TaskPending, agent.TaskPending, false // it is not run
		}
		return agent.TaskRunning, agent.TaskRunning, true
	case agent.TaskFailed, agent.TaskCancelled:
		return agent.TaskRunning, agent.TaskPending, false
	case agent.TaskInterrupted:
		return agent.TaskRunning, agent.TaskRunning, false
	}
	return "", "", false // nothing follows from nothing
}

func (w *stepWriter) task(c agent.TaskChange) {
	from, or, early := follows(&c)
	starts := c.State == agent.TaskRunning
	w.use(&c)
	n := w.exec(changeTask, c.State, starts, w.t.Now, starts, c.AllowedBy, starts, w.t.Now, w.turn, c.Attempt, c.Position,
		from, or, early)
	if w.err == nil && n == 0 {
		w.err = fmt.Errorf("task %d of attempt %d cannot become %s now: %w", c.Position, c.Attempt, c.State, core.ErrConflict)
	}
	if r := c.Result; r != nil {
		w.exec(setResult, r.End, r.Output, r.Code, r.Rule, r.Hint, r.Taint,
			w.turn, c.Attempt, c.Position)
	}
	if audit.Refused(c) {
		w.refused(&c)
	}
}

// rare changes of tasks take several round trips on PostgreSQL.
func rare(c agent.TaskChange) bool { return c.Use != nil || audit.Refused(c) }

func (w *stepWriter) review(r *agent.Review) {
	if r == nil {
		return
	}
	taint := database.Clean(string(r.Taint))
	w.exec(insertReview, w.turn, r.Attempt, r.Position, r.Status, r.Reason, r.Learn, taint, w.t.Now)
	if r.Learn != "" {
		w.exec(insertLearning, r.Learn, "review", taint, w.t.Now, w.t.Now, w.turn)
	}
}

func (w *stepWriter) say(s *agent.Say, r *routeroutbox.Reply) {
	if w.err != nil {
		return
	}
	var id int64
	id, w.err = outbox.Outgoing(w.t, w.conversation, w.session, w.turn, r, s)
	w.events = append(w.events, sessions.Event{Kind: "message", Turn: w.turn, Message: id})
}

// parks says that the work on a turn goes on another time, so that it keeps its tasks.
func parks(e *agent.End) bool {
	return e.State == string(turns.TurnWaiting) || e.State == string(turns.TurnQueued)
}

func (w *stepWriter) end(e *agent.End) {
	u := &w.used
	if e == nil {
		if u.calls > 0 {
			w.exec(addUsage, u.calls, u.In, u.Out, u.Cost, w.turn)
		} else {
			w.exec(madeProgress, w.turn)
		}
		return
	}
	finished, parked := any(nil), any(nil)
	switch turns.TurnState(e.State) {
	case turns.TurnWaiting:
		parked = w.t.Now
	case turns.TurnQueued:
		waited := e.Wait
		if e.Timed {
			waited = 0
		}
		w.exec(putOff, w.t.Now+e.Wait.Microseconds(), waited.Microseconds(), w.turn)
	default:
		finished = w.t.Now
		w.exec(endTasks, w.t.Now, w.turn)
	}
	if w.err != nil {
		return
	}
	var draft int64
	args := []any{u.calls, u.In, u.Out, u.Cost, e.State, e.Outcome, finished, parked, w.turn}
	if _, w.err = w.t.Row(endTurn, args, &draft); draft != 0 {
		w.exec(outbox.DropDraft, w.t.Now, draft)
		w.exec(outbox.LeaveDraft, w.turn, draft)
	}
	w.events = append(w.events, sessions.TurnEvent(w.turn, e.State, e.Outcome))
}

func writeStep(t *database.Tx, ref core.TurnRef, step *agent.Step, bodies []body, says []routeroutbox.Reply) (*core.Claimed, error) {
	conversation, err := sessions.Holding(t, ref)
	if err != nil {
		return nil, err
	}
	w := stepWriter{t: t, turn: ref.TurnID, session: ref.SessionID, conversation: conversation, events: sessions.StepEvents(ref.TurnID, step)}
	if len(step.Redact) > 0 {
		if err := redact(t, ref.TurnID, step.Redact); err != nil {
			return nil, err
		}
	}
	w.calls(step.Calls, bodies)
	for _, c := range w.plan(step.Plan, step.Tasks) {
		w.task(c)
	}
	w.review(step.Review)
	for i := range says {
		w.say(&step.Say[i], &says[i])
	}
	w.end(step.End)
	if w.err != nil {
		return nil, w.err
	}
	var next *core.Claimed
	if step.End != nil {
		var began []sessions.Event
		next, began, err = head(t, ref.SessionID, ref.Fence, false, nil)
		if err == nil && next == nil {
			err = engines.Release(t, engines.Session, database.Digits(ref.SessionID), ref.Fence)
		}
		w.events = append(w.events, began...)
	}
	if err == nil {
		_, err = sessions.Emit(t, ref.SessionID, w.events...)
	}
	if err == nil {
		err = w.charge()
	}
	return next, err
}

// stepMode: the start of what has side effects must be on disk before it is done.
func (db *Store) stepMode(step agent.Step, says []routeroutbox.Reply) database.Durability {
	if slices.ContainsFunc(says, func(r routeroutbox.Reply) bool { return r.Open != nil }) {
		return database.Durable
	}
	for _, c := range step.Tasks {
		if c.State == agent.TaskRunning && c.Type != agent.TaskMsg {
			return database.Durable
		}
	}
	if step.End != nil {
		return db.ForLeases()
	}
	return database.Async
}

// use uses up the approval by which a task is set running, or looks whether its grant is
// good still. ErrConflict: it is not.
func (w *stepWriter) use(c *agent.TaskChange) {
	if c.Use == nil || w.err != nil {
		return
	}
	u, good := c.Use, false
	if u.Grant {
		good, w.err = w.t.Has(approvals.UseGrant, w.turn, u.Approval, u.Hash, w.session)
	} else {
		good = w.exec(approvals.UseApproval, w.t.Now, u.Approval, w.turn, c.Attempt, c.Position, u.Hash) > 0
	}
	if w.err == nil && !good {
		w.err = fmt.Errorf("approval %d is not good for this task any more: %w", u.Approval, core.ErrConflict)
	}
}

func (w *stepWriter) calls(calls []agent.Call, bodies []body) {
	for i, c := range calls {
		x, u := &c.Exchange, &c.Usage
		ch, settled := w.settle(&c)
		if settled {
			continue
		}
		n := w.exec(insertCall, w.turn, c.Step, w.turn, c.Role, x.Provider, x.Model, c.Error, c.Refused,
			u.In, u.Out, u.Cached, u.Cost, x.Duration.Microseconds(), ch.Day, w.t.Now)
		if n == 0 {
			continue // answered already, or an error that w.err holds
		}
		b := &bodies[i]
		w.exec(insertBody, w.turn, c.Step, b.answer, b.request, b.response, w.t.Now+BodiesLive.Microseconds())
		if ch.Settled != 0 || ch.Reserved != 0 {
			w.charges = append(w.charges, ch)
		}
		w.used.calls++
		w.used.In, w.used.Out, w.used.Cost = w.used.In+u.In, w.used.Out+u.Out, w.used.Cost+u.Cost
	}
}

// settle is what a call cost, with nothing set aside for it any more. Settled says that it was
// noted before.
func (w *stepWriter) settle(c *agent.Call) (ch money.Charge, settled bool) {
	ch = money.Charge{Day: money.CallDay(c, w.t.Now), Session: w.session, Settled: money.Billionths(c.Usage.Cost)}
	if c.Held == "" || w.err != nil {
		return ch, false
	}
	var found bool
	found, w.err = w.t.Row(money.SettleCall, []any{c.Step, w.turn, c.Held}, &ch.Reserved, &ch.Day)
	ch.Reserved = -ch.Reserved
	return ch, !found
}

// charge changes the sums by what the calls of the step cost.
func (w *stepWriter) charge() error {
	if len(w.charges) == 0 {
		return nil
	}
	var person string
	if _, err := w.t.Row(sessions.PersonOf, []any{w.turn}, &person); err != nil {
		return err
	}
	for i := range w.charges {
		w.charges[i].Person = person
	}
	return money.Add(w.t, w.charges...)
}
