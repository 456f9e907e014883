package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"switchboard/agent"
	"switchboard/channels"
)

const (
	// pollBusy and pollIdle are how often work is looked for without being told,
	// with turns waiting and without.
	pollBusy = time.Second
	pollIdle = 15 * time.Second
	// maxFaults is how often a turn may break the program before it is given up.
	maxFaults = 3
	// maxResumes is how often a turn may be taken over from an engine that died, with
	// no step committed in between, before it is given up: it may be what kills
	// them.
	maxResumes = 20
)

// errBroken marks a fault of the program, not of the database: after maxFaults of
// them a turn is given up.
var errBroken = errors.New("broken")

// findWork claims sessions whose turns nobody runs (queued while all workers were
// busy, or left by a dead engine), until ctx ends.
func (r *Router) findWork(ctx context.Context) {
	names := slices.Collect(maps.Keys(r.lines))
	defer r.due.stop()
	r.due.in(0, r.Config.CollectWindow) // for what an engine before this one collected
	for {
		more, err := r.claimAll(ctx, names)
		if err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "cannot look for waiting turns", "error", err)
		}
		pause := pollIdle
		if more || err != nil {
			pause = pollBusy
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// claimAll claims sessions while there are workers; more says that some may still
// wait.
func (r *Router) claimAll(ctx context.Context, channels []string) (more bool, err error) {
	for ctx.Err() == nil {
		idle, full := r.workers.free()
		if idle <= 0 {
			return true, nil
		}
		r.waiting.Store(false) // whoever comes to wait after the look sets it again
		claimed, err := r.Ledger.Claim(ctx, r.Engine.ID(), channels, full, idle)
		if err != nil {
			return true, err
		}
		shared := len(full) > 0
		for _, c := range claimed {
			if r.workers.take(c.Person) {
				r.begin(c, c.Person)
			} else { // a person's share ran out within this claim
				r.giveBack(c.TurnRef)
				shared = true
			}
		}
		if len(claimed) < idle {
			r.shares.Store(shared)
			return shared, nil
		}
		r.waiting.Store(true) // there may be more than were asked for
	}
	return false, nil
}

// begin runs a claimed session in a goroutine of its own. worker is the person
// for whom a worker was taken.
func (r *Router) begin(c Claimed, worker string) {
	r.turns.Go(func() {
		defer func() {
			r.workers.give(worker)
			if r.waiting.Load() || r.shares.Load() {
				r.signal()
			}
		}()
		for {
			next := r.runTurn(c)
			if next == nil {
				return
			}
			// Others may have waited longer than this session's next turn.
			if r.stopping.Load() || r.waiting.Load() || next.Person != worker {
				r.giveBack(next.TurnRef)
				r.shares.Store(true) // whoever looks finds it
				return
			}
			c = *next
		}
	})
}

// giveBack releases a session's lease, so that anybody may go on with it.
func (r *Router) giveBack(ref TurnRef) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.Ledger.GiveBack(ctx, ref); err != nil {
		r.Log.ErrorContext(ctx, "cannot give a session back", "turn_id", ref.TurnID, "error", err)
	}
}

// runTurn brings one turn to its end, or gives its session back. It returns the
// session's next turn, already claimed, if there is one.
func (r *Router) runTurn(c Claimed) *Claimed {
	r.running.add(c.TurnID)
	defer r.running.remove(c.TurnID)

	faults := 0
	for tries := 1; ; tries++ {
		next, err := r.tryTurn(&c, faults >= maxFaults)
		switch {
		case err == nil:
			return next
		case errors.Is(err, agent.ErrHandBack) || r.work.Err() != nil:
			r.giveBack(c.TurnRef)
			return nil
		case errors.Is(err, errBroken):
			faults++
		case errors.Is(err, agent.ErrRestart):
			r.Log.InfoContext(r.work, "a turn begins anew, its message was changed", "turn_id", c.TurnID)
			tries = 0
			continue
		}
		r.Log.ErrorContext(r.work, "a turn broke off", "turn_id", c.TurnID, "tries", tries, "error", err)
		sleep(r.work, min(time.Second<<min(tries-1, 6), time.Minute))
	}
}

// tryTurn loads the turn and lets the agent run it. With giveUp it ends the turn
// as failed instead, and says so to the person. ErrRestart: it is to be run again at
// once.
func (r *Router) tryTurn(c *Claimed, giveUp bool) (next *Claimed, err error) {
	ref := c.TurnRef
	ctx, done := r.running.try(r.work, ref.TurnID)
	defer done()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", errBroken, fault, debug.Stack())
		}
	}()
	data, err := r.load(c)
	if errors.Is(err, ErrFenced) {
		return nil, agent.ErrHandBack
	} else if err != nil {
		return nil, fmt.Errorf("load turn %d: %w", ref.TurnID, err)
	}
	line := r.lines[data.Conversation.Channel]
	if line == nil {
		return nil, fmt.Errorf("turn %d belongs to channel %q, which is not attached: %w", ref.TurnID, data.Conversation.Channel, agent.ErrHandBack)
	}
	if cause := data.CancelRequested.cause(); cause != nil {
		r.running.stop(ref.TurnID, cause)
	}
	turn := data.Turn
	turn.Place = line.place(data.Conversation)
	turn.Session.Mode = cmp.Or(turn.Session.Mode, r.Config.DefaultMode)
	if turn.Workspace, err = r.workspace(turn.Session.ID); err != nil {
		return nil, err
	}
	j := journalOf(line, ref, data)
	defer j.shown.stop()
	if data.Resumed > maxResumes {
		r.Log.ErrorContext(ctx, "a turn is given up: engine after engine died with it", "turn_id", ref.TurnID, "times", data.Resumed)
		giveUp = true
	}
	if giveUp {
		err = j.Commit(r.work, brokenEnd())
	} else {
		err = r.Agent.Run(ctx, turn, j)
	}
	switch {
	case err == nil && !j.ended:
		err = fmt.Errorf("%w: the agent returned without ending the turn", errBroken)
	case errors.Is(err, agent.ErrRestart) && errors.Is(context.Cause(ctx), agent.ErrRestart):
		// Asked for, and no fault.
	case err != nil && !errors.Is(err, agent.ErrHandBack) && !j.unwritten:
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return j.next, err
}

// load gives what is known of a turn. What was read as it was claimed is as good for
// the first try, unless somebody was asked to stop before they ran.
func (r *Router) load(c *Claimed) (*TurnData, error) {
	data := c.Data
	if c.Data = nil; data != nil && c.stops == r.running.stops() {
		return data, nil
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

// workspace makes the session's folder.
func (r *Router) workspace(session int64) (string, error) {
	dir, err := filepath.Abs(filepath.Join(r.DataDir, "workspaces", strconv.FormatInt(session, 10)))
	if err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("workspace: %w", err)
	}
	return dir, nil
}

// place says where a turn speaks.
func (l *line) place(c channels.Conversation) agent.Place {
	f := l.channel.Features(c)
	return agent.Place{
		Channel: l.name, Direct: c.Kind == channels.Direct,
		MaxText: f.MaxText, Files: f.Files, Buttons: f.Buttons, Rich: f.Markdown,
	}
}
