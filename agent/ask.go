package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/internal/secrets"
)

// An asker asks the models of a turn.
type asker struct {
	*writer
	prompts *prompts
	models  Models
	length  func(ctx context.Context, model string) llm.Length
	mask    *secrets.Masker
}

// A question is one step that a model answers.
type question struct {
	step string // the beginning of its answer's key, e.g. "plan.0"
	// heeds is how much of what was added the answer heeds; the key says it, because an answer
	// that does not heed all of it is none to this question.
	heeds  int
	role   string
	schema *llm.Schema
	// prompt builds both parts; size is how many tokens they may have together, 0
	// for any number.
	prompt func(size int) (system, user string)
	// partial makes what reads the answer while it comes, one for each call; nil:
	// nothing does.
	partial func() partial
}

// A partial reads the beginnings of an answer: given one, as much of the person's text as
// stands in it. Nil: nothing of it is for the person.
type partial func(answer string) string

// asWritten is the partial of a worker, who writes nothing but the text.
func asWritten() partial { return func(answer string) string { return answer } }

// askUntil asks q until read finds no faults in the answer, and reports whether there was such a one. Each
// answer is committed before anything follows from it; with ride it is staged.
func (a *asker) askUntil(ctx context.Context, tries int, q question, read func(Call) (faults []string, ride bool, err error)) (ok bool, err error) {
	base := q.step
	for try := 1; try <= tries; try++ {
		if err := a.halted(ctx); err != nil {
			return false, err
		}
		q.step = fmt.Sprintf("%s.%d", base, try)
		if q.heeds > 0 {
			q.step += fmt.Sprintf(".%d", q.heeds)
		}
		call, err := a.ask(ctx, q)
		if err != nil {
			return false, err
		}
		faults, ride, err := read(call)
		if err != nil {
			return false, err
		}
		call.Refused = clip(strings.Join(faults, "; "), 500)
		if err := a.keep(ctx, call, ride); err != nil {
			return false, err
		}
		if len(faults) == 0 {
			return true, nil
		}
		a.log.WarnContext(ctx, "an answer has faults", "step", q.step, "faults", call.Refused)
	}
	return false, nil
}

// ask returns the recorded answer to q, or asks the role's model and then the
// fallbacks. An answer that was not recorded yet is the caller's to stage. Each
// failed try is a recorded call of its own, which a resumed turn does not repeat, unless
// all failed and it was put off. What
// was streamed of an answer that broke off stays in view, unless another is begun: the
// person has read it, and what ends the turn stands behind it.
func (a *asker) ask(ctx context.Context, q question) (Call, error) {
	models := a.cfg.candidates(a.modelOf[q.role])
	since, again := a.failedBefore(q.step, len(models))
	if !again {
		since = a.now()
	}
	out := outage{since: since}
	for i, model := range models {
		step := stepOf(q.step, i)
		if call, ok := a.calls[step]; ok {
			if call.Error == "" {
				return call, nil
			}
			if !again {
				continue
			}
		}
		if i > 0 {
			a.retract(ctx) // another model begins again
		}
		call, err := a.try(ctx, q, step, model, i+1 < len(models))
		if err == nil {
			return call, nil
		}
		if call.Step == "" || released(ctx) {
			return Call{}, err
		}
		if errors.Is(context.Cause(ctx), ErrRestart) {
			call.Step = a.spareKey(step) // the step itself is asked again
		}
		if err := a.stage(ctx, Step{Calls: []Call{call}}); err != nil {
			return Call{}, err
		}
		if err := a.halted(ctx); err != nil {
			return Call{}, err
		}
		a.log.WarnContext(ctx, "model failed", "role", q.role, "model", model, "step", step, "error", err)
		out.failed(err)
	}
	return Call{}, a.putOff(ctx, &out)
}

// try asks one model. The call is returned with an error too, but is empty when none was made.
func (a *asker) try(ctx context.Context, q question, step, model string, spare bool) (Call, error) {
	if _, again := a.calls[step]; !again && len(a.calls) >= a.cfg.MaxLLMCalls {
		return Call{}, failure("call_limit", fmt.Sprintf("I stopped: this request needed more than %d model calls, the most that one request may use.", a.cfg.MaxLLMCalls))
	}
	if err := a.flush(ctx); err != nil {
		return Call{}, err
	}
	return a.complete(ctx, q, step, model, spare)
}

// complete makes one call. With a fallback left it waits for a silent model only
// stall_timeout: for its answer, or, where that is streamed, for each piece.
func (a *asker) complete(ctx context.Context, q question, step, model string, spare bool) (Call, error) {
	mask := a.mask
	req := llm.Request{Role: q.role, Schema: q.schema, Timeout: a.cfg.LLMTimeout}
	if spare {
		req.Stall = a.cfg.StallTimeout
	}
	held, refusal := "", error(nil)
	req.Reserve = func(quote llm.Quote) error {
		ok, err := a.journal.Reserve(ctx, step, q.role, quote)
		if ok {
			held = step
		}
		if _, unpriced := errors.AsType[*llm.SetupError](err); !unpriced {
			refusal = err
		}
		return err
	}
	if q.partial != nil && a.turn.Place.Streams && !a.turn.Limits.Quiet {
		read, masked := q.partial(), mask.Growing()
		req.Stream = func(answer string) bool { return a.stream(ctx, masked(read(answer))) }
	} else if req.Stall > 0 && (req.Timeout <= 0 || req.Stall < req.Timeout) {
		req.Timeout = req.Stall
	}
	limited := ctx
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	length := a.length(limited, model)
	system, user := q.prompt(a.cfg.promptSize(length, q.schema))
	if err := tooLong(length, system, user); err != nil {
		return Call{Step: step, Role: q.role, Error: err.Error()}, err
	}
	req.System, req.User = mask.Stable(system), mask.Text(user)
	response, err := a.models.Complete(limited, model, req)
	if refusal != nil && errors.Is(err, refusal) { // nothing was asked
		if over, ok := errors.AsType[*OverLimitError](err); ok {
			err = &ending{state: "failed", outcome: "over_limit", text: over.Text, clean: true}
		}
		return Call{}, err
	}
	response.Exchange.Response = mask.Bytes(response.Exchange.Response)
	call := Call{Step: step, Role: q.role, Finish: response.Finish, Usage: response.Usage, Exchange: response.Exchange, Held: held}
	if err != nil && !gaveAnswer(response, err) {
		call.Error = mask.Text(tidy(err.Error()))
		return call, err
	}
	call.Answer = answerOf(response, q.schema, mask)
	if q.schema == nil && response.Finish == "length" && call.Answer != "" {
		call.Answer += " […]"
	}
	return call, nil
}

// A roleAsker asks about what is of no turn.
type roleAsker struct {
	*Agent
	through Models
}

// Asker asks the models of roles about what is of no turn. through makes the calls, and may count what they cost.
func (a *Agent) Asker(through func(Models) Models) memory.Asker {
	return roleAsker{a, through(a.models)}
}

// Complete asks under the role's own prompt where req has no other, and then the fallbacks. Known secrets stay out of what is asked and
// answered. What is wrong with an answer is for the caller to say, also of one that is cut off.
func (a roleAsker) Complete(ctx context.Context, role string, req llm.Request) (response llm.Response, err error) {
	mask := a.opts.Mask
	req.Role, req.Timeout = role, a.cfg.LLMTimeout
	req.System, req.User = mask.Stable(cmp.Or(req.System, a.roles[role])), mask.Text(req.User)
	var faults []error
	for _, model := range a.cfg.candidates(a.cfg.modelOf(role)) {
		length := a.opts.Length(ctx, model)
		length.Tokens = a.cfg.promptSize(length, req.Schema)
		if err = tooLong(length, req.System, req.User); err == nil {
			response, err = a.through.Complete(ctx, model, req)
		}
		if err == nil || gaveAnswer(response, err) {
			response.Text = answerOf(response, req.Schema, mask)
			return response, nil
		}
		if ctx.Err() != nil {
			return response, err
		}
		faults = append(faults, err)
	}
	return response, errors.Join(faults...)
}

// tooLong refuses a prompt of which the model would not read all.
func tooLong(length llm.Length, system, user string) error {
	if length.Tokens == 0 || llm.Tokens(system)+llm.Tokens(user) <= length.Tokens {
		return nil
	}
	return fmt.Errorf("%w: it reads some %d tokens, and there are more; if it reads more, set context_tokens of the model", llm.ErrContextTooLong, length.Tokens)
}

// answerOf is a model's answer without known secrets, fit for every database.
func answerOf(response llm.Response, schema *llm.Schema, mask *secrets.Masker) string {
	if schema != nil {
		return mask.JSON(tidy(response.Text))
	}
	return mask.Text(tidy(response.Text))
}

// gaveAnswer says of a failed call that there is an answer: one that is finished and empty, cut off or no JSON
// is one all the same, and what asked for it says what is wrong and asks again.
func gaveAnswer(response llm.Response, err error) bool {
	return errors.Is(err, llm.ErrUnavailable) && response.Finish != ""
}

// promptSize is how many tokens a prompt may have beside the schema; 0: any number.
func (c Config) promptSize(length llm.Length, schema *llm.Schema) int {
	if length.Tokens == 0 {
		return 0
	}
	size := min(int(c.ContextCeiling*float64(length.Tokens)), length.Tokens-length.Answer)
	if schema != nil {
		size -= llm.Tokens(compact(schema.JSON))
	}
	return max(1, size)
}
