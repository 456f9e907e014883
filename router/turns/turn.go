package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"switchboard/agent"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/outbox/delivery"
)

const (

	// maxFaults is how often a turn may break the program before it is given up.
	maxFaults = 3
	// maxResumes is how often a turn may be taken over from an engine that died, with
	// no step committed in between, before it is given up: it may be what kills
	// them.
	maxResumes = 20
)

// ErrBroken marks a fault of the program, not of the database: after maxFaults of
// them a turn is given up.
var ErrBroken = errors.New("broken")

// A claimed is a turn to be run, and how many stops were missed before its Data was read.
type claimed struct {
	core.Claimed
	stops int64
}

// begin runs a claimed session in a goroutine of its own. worker is the person
// for whom a worker was taken.
func (r *Runner) begin(c claimed, worker string) {
	r.turns.Go(func() {
		for {
			next := r.runTurn(c)
			if next == nil {
				r.release(worker)
				return
			}
			if !r.exchangeWorker(worker, next) {
				return
			}
			c, worker = *next, next.Person
		}
	})
}

// release gives a worker back, and lets those look who wait for one.
func (r *Runner) release(worker string) {
	r.workers.give(worker)
	if r.wantsWorker.Load() || r.wantsShare.Load() {
		r.Look()
	}
}

// exchangeWorker exchanges the worker of a session's former turn for one for its next turn,
// which is claimed. Where there is none, or others have waited longer, neither worker
// nor session is kept.
func (r *Runner) exchangeWorker(worker string, next *claimed) bool {
	if ends := r.stopping.Load() || r.wantsWorker.Load() || !r.Engine.Safe(); !ends && next.Person == worker {
		return true
	} else if ends {
		r.putBack(next.TurnRef)
		r.release(worker)
		return false
	}
	r.release(worker)
	if r.workers.await(r.work, next.Person, nextPatience) {
		return true
	}
	r.putBack(next.TurnRef)
	return false
}

// putBack gives a session back whose next turn waits, and lets who has a worker for it
// find it.
func (r *Runner) putBack(ref core.TurnRef) {
	r.giveBack(ref)
	if r.stopping.Load() {
		r.Lines.Wake(core.Wake{Kind: core.WakeTurn})
		return
	}
	r.Queued()
}

// giveBack releases a session's lease, so that anybody may go on with it.
func (r *Runner) giveBack(ref core.TurnRef) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.Ledger.GiveBack(ctx, ref); err != nil {
		r.Log.ErrorContext(ctx, "cannot give a session back, trying again", "turn_id", ref.TurnID, "error", err)
		r.leased.soon()
	}
}

// runTurn brings one turn to its end, or gives its session back. It returns the
// session's next turn, already claimed, if there is one.
func (r *Runner) runTurn(c claimed) *claimed {
	next, ended := r.runToEnd(c)
	if !ended { // and runs here no more: it may be claimed again before GiveBack returns
		r.handOver(c.TurnRef)
	}
	return next
}

// runToEnd tries a turn until it is ended, or is not to be ended here.
func (r *Runner) runToEnd(c claimed) (next *claimed, ended bool) {
	run := r.running.add(r.work, c.TurnRef)
	defer r.running.remove(run)

	faults := 0
	for tries := 1; ; tries++ {
		next, err := r.tryTurn(run, &c, faults >= maxFaults)
		switch {
		case err == nil:
			return next, true
		case errors.Is(err, agent.ErrHandBack), errors.Is(err, core.ErrFenced), run.ctx.Err() != nil:
			return nil, false
		case errors.Is(err, ErrBroken):
			faults++
		case errors.Is(err, agent.ErrRestart):
			r.Log.InfoContext(r.work, "a turn begins anew, its message was changed", "turn_id", c.TurnID)
			tries = 0
			continue
		}
		r.Log.ErrorContext(r.work, "a turn broke off", "turn_id", c.TurnID, "tries", tries, "error", err)
		retry.Sleep(run.ctx, retry.Pause(tries-1, time.Second, time.Minute))
	}
}

// handOver gives back a session whose turn is not brought to its end here. If that was
// ended by a commit whose answer was lost, the next one is leased instead, and nobody
// knows.
func (r *Runner) handOver(ref core.TurnRef) {
	r.giveBack(ref)
	r.leased.soon()
	r.Lines.Wake(core.Wake{Kind: core.WakeTurn})
	r.Look()
}

// tryTurn loads the turn and lets the agent run it. With giveUp it ends the turn
// as failed instead, and says so to the person. ErrRestart: it is to be run again at
// once.
func (r *Runner) tryTurn(run *runningTurn, c *claimed, giveUp bool) (next *claimed, err error) {
	ref := c.TurnRef
	ctx, done := r.running.try(run)
	defer done()
	if run.ctx.Err() != nil {
		return nil, agent.ErrHandBack
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", ErrBroken, fault, debug.Stack())
		}
	}()
	data, err := r.load(c)
	switch {
	case errors.Is(err, core.ErrUnreadable) && giveUp:
	case errors.Is(err, core.ErrUnreadable):
		return nil, fmt.Errorf("%w: load: %w", ErrBroken, err)
	case err != nil:
		return nil, fmt.Errorf("load: %w", err)
	}
	r.running.isOn(run, data.Conversation.Channel)
	line := r.Line(data.Conversation.Channel)
	if line == nil {
		return nil, fmt.Errorf("channel %q is not attached: %w", data.Conversation.Channel, agent.ErrHandBack)
	}
	if cause := data.CancelRequested.Cause(); cause != nil {
		r.running.stop(ref.TurnID, cause)
	}
	defer func() {
		r.idle.worked(ref.SessionID, data.Conversation, time.Now().Add(r.settings().IdleTimeout))
	}()
	if r.People.Named(c.Person) == nil {
		if err := r.People.Learn(r.work, c.Person); err != nil { // let in by another engine
			return nil, err
		}
	}
	if !r.People.Away(c.Person) { // who is away is asked nothing
		if err := r.lateness(ref, data); err != nil {
			return nil, err
		}
	}
	if data.Resumed > 0 { // the engine that ran it before may know of an edit
		r.running.markEdited(ref.TurnID, true)
	}
	turn := data.Turn
	turn.Place, turn.KeepTrying = line.Place(data.Conversation), r.settings().StaleAfter
	if data.Ordered {
		turn.Order = r.Order(turn.Message.Text)
	}
	turn.Session.Mode = cmp.Or(turn.Session.Mode, r.settings().DefaultMode)
	turn.Session.TimeZone = r.settings().zone(turn.Session.TimeZone, turn.Person.TimeZone)
	if turn.Workspace, err = r.workspace(turn.Session.ID); err != nil {
		return nil, err
	}
	j := &journal{runner: r, line: line, ref: ref, data: data, preview: delivery.NewPreview(line, ref, data)}
	defer j.preview.Stop()
	if data.Resumed > maxResumes {
		r.Log.ErrorContext(ctx, "a turn is given up: engine after engine died with it", "turn_id", ref.TurnID, "times", data.Resumed)
		giveUp = true
	}
	if giveUp {
		err = j.Commit(r.work, brokenEnd())
	} else {
		err = j.answer(ctx, turn)
	}
	switch {
	case j.ended: // whatever became of the agent afterwards
		err = nil
	case err == nil:
		err = fmt.Errorf("%w: the agent returned without ending the turn", ErrBroken)
	case errors.Is(err, agent.ErrRestart) && errors.Is(context.Cause(ctx), agent.ErrRestart):
		// Asked for, and no fault.
	case j.unclear && errors.Is(err, core.ErrConflict):
		// The step was committed, and its answer lost: the next try goes on behind it.
	case !errors.Is(err, agent.ErrHandBack) && !j.unwritten:
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return j.next, err
}

// load gives what is known of a turn. What was read as it was claimed is as good for
// the first try, unless somebody was asked to stop before they ran. Of a call that a try before
// began nobody will know the answer.
func (r *Runner) load(c *claimed) (data *core.TurnData, err error) {
	data = c.Data
	if c.Data = nil; data == nil || c.stops != r.running.stops() {
		data, err = r.Ledger.Load(r.work, c.TurnRef)
	}
	if err != nil || !data.Unsettled {
		return data, err
	}
	if err := r.Ledger.SettleLost(r.work, c.TurnRef); err != nil {
		return nil, err
	}
	return r.Ledger.Load(r.work, c.TurnRef)
}

// brokenEnd ends a turn that breaks the program each time it is tried.
func brokenEnd() agent.Step {
	return agent.Step{
		Say: []agent.Say{{
			Position: -1, Notice: true,
			Text: "Something inside me broke while I worked on this, several times over, so I gave it up. The operator finds the reason in the log. Please ask in another way, or later.",
		}},
		End: &agent.End{State: "failed", Outcome: "crash"},
	}
}

// Workspace is the folder of a session in the data folder.
func Workspace(dataDir string, session int64) string {
	return filepath.Join(dataDir, "workspaces", strconv.FormatInt(session, 10))
}

// workspace makes the session's folder.
func (r *Runner) workspace(session int64) (string, error) {
	dir, err := filepath.Abs(Workspace(r.DataDir, session))
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	return dir, nil
}

// Wish is what a turn that waits asks for: its next task. Empty: it has none.
func (t *Turn) Wish() string {
	if len(t.Plans) == 0 {
		return ""
	}
	for _, task := range t.Plans[len(t.Plans)-1].Tasks {
		if task.State != "pending" || task.Type == "msg" {
			continue
		}
		if task.Tool != "" {
			return task.Tool + " " + task.Args
		}
		return task.Detail
	}
	return ""
}
