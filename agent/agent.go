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
			log.Warn("a prompt is not used", "file", f.Path, "error", f.Text, "mend", f.Mend)
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
// commit says so, it returns ErrHandBack and has written nothing more. Any other
// error is the journal's: the turn stays open.
func (a *Agent) Run(ctx context.Context, turn Turn, journal Journal) error {
	err := a.run(ctx, turn, journal)
	switch {
	case errors.Is(err, ErrHandBack) || err != nil && handedBack(ctx):
		return ErrHandBack
	case errors.Is(err, ErrRestart):
		return ErrRestart
	}
	return err
}

func (a *Agent) run(ctx context.Context, turn Turn, journal Journal) error {
	reading, done := steadfast(ctx)
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
		r.takeBack(ctx)
		return r.restart(ctx)
	}
	return err
}

// answer is the whole of a turn: plan, execute, plan again.
func (r *run) answer(ctx context.Context) error {
	if r.turn.Order != nil {
		return r.obey(ctx)
	}
	for attempt := 0; ; attempt++ {
		if err := r.gather(ctx, attempt); err != nil {
			return err
		}
		if d := r.decide(tools.Question{}); d.Verdict != tools.Allow {
			return r.unserved(ctx, d)
		}
		if r.turn.Terms.Quiet && r.modelOf(rolePlanner) == llm.Offline { // it could only say that it is of no use
			return r.commit(ctx, Step{End: &End{State: "done", Outcome: "no_model"}})
		}
		plan, err := r.plan(ctx, attempt)
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
		if aside, err := r.setAside(ctx, plan, i); err != nil || aside {
			r.takeBack(ctx)
			return aside, err
		}
		if err := r.served(ctx, plan, i); err != nil {
			return false, err
		}
		if plan.Tasks[i].Type == TaskMsg {
			if err := r.runMsg(ctx, plan, i); err != nil {
				return false, err
			}
			continue
		}
		if err := r.act(ctx, plan, i); err != nil {
			return false, err
		}
		if ok, err := r.review(ctx, plan, i); err != nil || !ok {
			return err == nil, err
		}
	}
	return false, nil
}
