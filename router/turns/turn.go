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
	"strings"
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
		case errors.Is(err, agent.ErrReleased), errors.Is(err, core.ErrFenced), run.ctx.Err() != nil:
			return nil, false
		case errors.Is(err, ErrBroken):
			faults++
		case errors.Is(err, agent.ErrRestart):
			r.Log.InfoContext(r.work, "a turn begins again, its message was changed", "turn_id", c.TurnID)
			tries = 0
			continue
		}
		r.Log.ErrorContext(r.work, "a turn broke off", "turn_id", c.TurnID, "tries", tries, "error", err)
		retry.Sleep(run.ctx, retry.Pause(tries-1, time.Second, time.Minute))
	}
}

// tryTurn loads the turn and lets the agent run it. With giveUp it ends the turn
// as failed instead, and says so to the person. ErrRestart: it is to be run again at
// once.
func (r *Runner) tryTurn(run *runningTurn, c *claimed, giveUp bool) (next *claimed, err error) {
	ref := c.TurnRef
	ctx, done := r.running.try(run)
	defer done()
	if run.ctx.Err() != nil {
		return nil, agent.ErrReleased
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
	r.running.find(ref.TurnID, func(turn *runningTurn) { turn.channel = data.Conversation.Channel })
	line := r.Line(data.Conversation.Channel)
	if line == nil {
		return nil, fmt.Errorf("channel %q is not attached: %w", data.Conversation.Channel, agent.ErrReleased)
	}
	if cause := data.CancelRequested.Cause(); cause != nil {
		r.running.stop(ref.TurnID, cause)
	}
	defer func() {
		r.idle.worked(ref.SessionID, data.Conversation, time.Now().Add(r.Settings().IdleTimeout))
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
	if len(data.State.Calls) == 0 && (data.Turn.Session.Private || r.Strangers == nil || !r.Strangers(data.Conversation.Channel)) {
		data.State.Reports = nil // a turn that was told of them stays tainted
	}
	turn := data.Turn
	turn.Place, turn.KeepTrying = line.Place(data.Conversation), r.Settings().StaleAfter
	if data.Ordered {
		turn.Order = r.Order(turn.Message.Text)
	}
	turn.Session.Mode = cmp.Or(turn.Session.Mode, r.Settings().DefaultMode)
	turn.Session.TimeZone = cmp.Or(turn.Session.TimeZone, turn.Person.TimeZone, r.Settings().TimeZone)
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
		err = j.Commit(r.work, failed("crash", broken))
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
	case j.unknown && errors.Is(err, core.ErrConflict):
		// The step was committed, and its answer lost: the next try goes on behind it.
	case !errors.Is(err, agent.ErrReleased) && !j.unwritten:
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return j.next, err
}

// answer lets the agent answer the turn, unless it waited for so long that the person is
// first asked whether they still want it.
func (j *journal) answer(ctx context.Context, turn agent.Turn) error {
	if !j.runner.People.Away(turn.Person.Name) { // whose turn waits
		m := &j.data.Turn.Message
		if j.data.Retry && strings.TrimSpace(m.Text+m.Quote) == "" && len(m.Passed)+len(m.Attachments) == 0 {
			return j.Commit(ctx, failed("nothing_to_retry", Forgotten)) // it was taken back, or is kept no more
		}
		if offered, err := j.offer(ctx); offered || err != nil {
			return err
		}
	}
	return j.runner.Agent.Run(ctx, turn, j)
}

// load gives what is known of a turn. What was read as it was claimed is as good for
// the first try, unless somebody was asked to stop before they ran. Of a call that a try before
// began nobody will know the answer.
func (r *Runner) load(c *claimed) (data *core.TurnData, err error) {
	data = c.Data
	if c.Data = nil; data == nil || c.stops != r.running.stops() {
		data, err = r.Store.Load(r.work, c.TurnRef)
	}
	if err == nil && data.Unsettled {
		if err = r.Store.SettleLost(r.work, c.TurnRef); err == nil {
			data, err = r.Store.Load(r.work, c.TurnRef)
		}
	}
	return data, err
}

// broken is said of a turn that breaks the program each time it is tried.
const broken = "Something inside me broke while I worked on this, several times over, so I gave it up. The operator finds the reason in the log. Please ask in another way, or later."

// Forgotten is said of a message that is to be tried again and is kept no more.
const Forgotten = "I no longer have that message. Please write it again."

// failed ends a turn that cannot be answered, and says why.
func failed(outcome, why string) agent.Step {
	return agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Text: why}},
		End: &agent.End{State: "failed", Outcome: outcome},
	}
}

// Workspace is the folder of a session in the data folder.
func Workspace(dataDir string, session int64) string {
	return filepath.Join(dataDir, "workspaces", strconv.FormatInt(session, 10))
}

// workspace makes the session's folder.
func (r *Runner) workspace(session int64) (string, error) {
	dir, err := filepath.Abs(Workspace(r.DataDir, session))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	return dir, nil
}
