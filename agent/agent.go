// Package agent answers one turn: it plans, acts, has each act reviewed, plans
// again where needed, and answers. answer, in agent.go, reads from top to bottom:
//
//	context ─► plan ─► validate ─► task … review ─► replan … ─► msg
//
// The parts of a run stand on each other, each with its own state: a record of what the turn
// knows, a writer that commits what it adds, the rights under which it acts, the prompts and
// the asker for models, and on these the planner, the tasks, the reviewer and the teller.
//
// Everything is committed through a Journal before it is acted on, so that a
// turn cut off at any instant is resumed by running Run again: model answers and
// finished tasks that are in the journal are taken from it and never asked for
// or done twice.
//
// It imports only its own subpackages, and never sees a channel or a database:
// the router implements Journal, hands in the turn, and is the caller.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/internal/secrets"
)

// Options are what New needs besides the settings.
type Options struct {
	// DataDir holds roles/ROLE.md, which replace the built-in prompts; empty: none do.
	DataDir string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Length is how much the model of that name reads. A nil function: any number of tokens, so that
	// prompts are not shortened.
	Length func(ctx context.Context, model string) llm.Length
	// Guard bounds what commands and tools change; nil: nothing does.
	Guard Guard
	// Mask keeps known secrets from models, and out of what they answer.
	Mask *secrets.Masker
	// Memory is asked once a turn, where something is remembered that may concern it; nil: nothing is.
	Memory Memory
	// Forgetful: nothing is kept of what reviews teach.
	Forgetful bool
}

// An Agent answers turns. It holds nothing of a turn and may run many at once.
type Agent struct {
	cfg     Config
	models  Models
	toolbox Toolbox
	shell   Shell
	gate    Gate
	log     *slog.Logger
	opts    Options
	roles   roles
	systems *systems
}

// New checks the settings and reads the role files; it does no other I/O.
func New(cfg Config, models Models, toolbox Toolbox, shell Shell, gate Gate, log *slog.Logger, opts Options) (*Agent, error) {
	if models == nil || toolbox == nil || shell == nil || gate == nil || log == nil {
		return nil, errors.New("agent: models, toolbox, shell, gate and log are all needed")
	}
	if cfg.MaxPlanTasks < 1 || cfg.MaxLLMCalls < 1 || cfg.TurnTimeout <= 0 {
		return nil, fmt.Errorf("agent: max_plan_tasks (%d), max_llm_calls (%d) and turn_timeout (%s) must be positive",
			cfg.MaxPlanTasks, cfg.MaxLLMCalls, cfg.TurnTimeout)
	}
	roles, err := loadRoles(opts.DataDir)
	if err != nil {
		return nil, err
	}
	if opts.DataDir != "" {
		faults, err := PromptFaults(opts.DataDir)
		if err != nil {
			return nil, err
		}
		for _, f := range faults {
			log.Warn("a prompt is not used", "file", f.Path, "error", f.Text, "mend", f.Fix)
		}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Length == nil {
		opts.Length = func(context.Context, string) llm.Length { return llm.Length{} }
	}
	return &Agent{cfg, models, toolbox, shell, gate, log, opts, roles, &systems{}}, nil
}

// Run works on turn until it has ended in the journal, or waits for a decision or a model (nil). It always goes from
// the top and takes from the journal what was done before, so a turn that was cut
// off is resumed by calling Run again. It blocks; what it started has stopped
// when it returns.
//
// ctx cancelled with cause ErrCancelled or ErrInterrupted ends the turn as
// cancelled (nil). With ErrRestart, Run returns ErrRestart when what ran is written
// down as broken off, and is to be called again. With any other cause, or when a
// commit says so, it returns ErrReleased and has written nothing more. Any other
// error is the journal's: the turn stays open.
func (a *Agent) Run(ctx context.Context, turn Turn, journal Journal) error {
	err := a.run(ctx, turn, journal)
	switch {
	case errors.Is(err, ErrReleased) || err != nil && released(ctx):
		return ErrReleased
	case errors.Is(err, ErrRestart):
		return ErrRestart
	}
	return err
}

func (a *Agent) run(ctx context.Context, turn Turn, journal Journal) error {
	reading, done := journalContext(ctx)
	state, err := journal.Resume(reading)
	done()
	if err != nil {
		return fmt.Errorf("resume turn %d: %w", turn.ID, err)
	}
	r := newRun(a, turn, journal, state)

	working, cancel := context.WithTimeoutCause(ctx, r.timeLeft(), errTurnTimeout)
	defer cancel()
	err = r.answer(working)
	if errors.Is(err, errParked) {
		return nil
	}
	if end, ok := errors.AsType[*ending](err); ok {
		return r.close(ctx, end)
	}
	if errors.Is(err, ErrRestart) {
		r.retract(ctx)
		return r.restart(ctx)
	}
	return err
}

// A run is one Run of a turn, made of the parts that do the work.
type run struct {
	*writer
	rights   *rights
	planner  *planner
	tasks    *tasks
	reviewer *reviewer
	teller   *teller
	memory   Memory // nil: there is none
}

func newRun(a *Agent, turn Turn, journal Journal, resumed *State) *run {
	w := &writer{
		record: newRecord(a.cfg, a.opts.Now, turn, resumed), journal: journal,
		log: a.log.With("turn_id", turn.ID, "session_id", turn.Session.ID),
	}
	rights := &rights{w.record, a.gate, a.toolbox}
	prompts := &prompts{w.record, rights, a.roles, a.systems}
	asker := &asker{w, prompts, a.models, a.opts.Length, a.opts.Mask}
	return &run{w, rights, &planner{asker, rights}, &tasks{w, rights, a.shell, a.opts.Guard}, &reviewer{asker, a.opts.Forgetful}, &teller{asker}, a.opts.Memory}
}

// answer is the whole of a turn: plan, execute, plan again.
func (r *run) answer(ctx context.Context) error {
	if r.turn.Order != nil {
		return r.obey(ctx)
	}
	r.recall(ctx)
	for attempt := 0; ; attempt++ {
		if err := r.gather(ctx, attempt); err != nil {
			return err
		}
		if d := r.rights.decide(tools.Question{}); d.Verdict != tools.Allow {
			return r.unserved(ctx, d)
		}
		if r.turn.Limits.Quiet && r.modelOf[rolePlanner] == llm.Offline { // it could only say that it is of no use
			return r.commit(ctx, Step{End: &End{State: "done", Outcome: "no_model"}})
		}
		plan, err := r.planner.plan(ctx, attempt)
		if err != nil {
			return err
		}
		again, err := r.execute(ctx, plan)
		if err != nil || !again {
			return err
		}
	}
}

// execute does the plan's tasks in order. again says that another plan is needed: a
// review asked for it, or the person said more.
func (r *run) execute(ctx context.Context, plan *PlanRow) (again bool, err error) {
	for i := range plan.Tasks {
		if err := r.halted(ctx); err != nil {
			return false, err
		}
		if again, err := r.givesWay(ctx, plan, i); err != nil || again {
			r.retract(ctx)
			return again, err
		}
		if err := r.served(ctx, plan, i); err != nil {
			return false, err
		}
		if plan.Tasks[i].Type == TaskMsg {
			if err := r.teller.tell(ctx, plan, i); err != nil {
				return false, err
			}
			continue
		}
		if err := r.tasks.act(ctx, plan, i); err != nil {
			return false, err
		}
		if ok, err := r.reviewer.review(ctx, plan, i); err != nil || !ok {
			return err == nil, err
		}
	}
	return false, nil
}

// served refuses a task that is not done where its person is not served any more, and ends
// the turn: nothing else is tried for them. For who is away it waits.
func (r *run) served(ctx context.Context, plan *PlanRow, i int) error {
	if state := plan.Tasks[i].State; state != TaskPending && state != TaskRunning {
		return nil
	}
	d := r.rights.decide(tools.Question{})
	if d.Verdict == tools.Allow {
		return nil
	}
	if plan.Tasks[i].State == TaskPending && d.Rule != tools.PersonAway {
		if err := r.settle(ctx, plan, i, TaskFailed, r.refused("not_permitted", d.Rule, d.Reason)); err != nil {
			return err
		}
	}
	return r.unserved(ctx, d)
}

// gather asks for additions before the plan of that attempt is made, where there
// may be some: the turn has acted, or was cut off. While a later attempt is known
// to be needed for some already, this one only repeats what was recorded.
func (r *run) gather(ctx context.Context, attempt int) error {
	if r.planRow(attempt) != nil || r.outdated(attempt) || len(r.calls)+len(r.Plans)+len(r.Added) == 0 {
		return nil
	}
	return r.absorb(ctx, attempt)
}

// givesWay says, before task i is begun, that the rest of the plan gives way to a
// new one, because the person said more or changed the message. A task that was
// broken off for that is not reviewed: nobody wants its result any more.
func (r *run) givesWay(ctx context.Context, plan *PlanRow, i int) (bool, error) {
	switch plan.Tasks[i].State {
	case TaskCancelled:
		return true, nil
	case TaskPending:
	default:
		return false, nil
	}
	atOnce := len(plan.Tasks) == 1 && plan.Tasks[i].Answer != nil // one commit, with the turn's end
	if (!atOnce || r.journal.Edited()) && !r.outdated(plan.Attempt) {
		if err := r.absorb(ctx, plan.Attempt+1); err != nil {
			return false, err
		}
	}
	return r.outdated(plan.Attempt), nil
}

// restart commits that what ran was broken off, and merges the change that it was
// broken off for.
func (r *run) restart(ctx context.Context) error {
	if err := r.commit(ctx, Step{Tasks: r.leftRunning()}); err != nil {
		return err
	}
	if err := r.absorb(ctx, len(r.Plans)); err != nil {
		return err
	}
	return ErrRestart
}
