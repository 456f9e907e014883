package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/llm"
)

// A question is one step that a model answers.
type question struct {
	step   string // the key of its answer, e.g. "plan.0.1"
	role   string
	model  string // the role's; the fallbacks come after it
	schema *llm.Schema
	// prompt builds both parts; size is how many tokens they may have together, 0
	// for any number.
	prompt func(size int) (system, user string)
	// partial makes what reads the answer while it comes, one for each call; nil:
	// nothing does.
	partial func() partial
}

// ask returns the recorded answer to q, or asks the role's model and then the
// fallbacks. An answer that was not recorded yet is the caller's to stage. Each
// failed try is a recorded call of its own, which a resumed turn does not repeat, unless
// all failed and it was put off. What
// was streamed of an answer that broke off stays in view, unless one is begun anew: the
// person has read it, and what ends the turn stands behind it.
func (r *run) ask(ctx context.Context, q question) (Call, error) {
	models := r.candidates(q.model)
	since, again := r.failedBefore(q.step, len(models))
	if !again {
		since = r.opts.Now()
	}
	out := outage{since: since}
	for i, model := range models {
		step := stepOf(q.step, i)
		if call, ok := r.calls[step]; ok {
			if call.Error == "" {
				return call, nil
			}
			if !again {
				continue
			}
		}
		if i > 0 {
			r.takeBack(ctx) // another model begins anew
		}
		call, err := r.try(ctx, q, step, model, i+1 < len(models))
		if err == nil {
			return call, nil
		}
		if call.Step == "" || handedBack(ctx) {
			return Call{}, err
		}
		if errors.Is(context.Cause(ctx), ErrRestart) {
			call.Step = r.spareKey(step) // the step itself is asked again
		}
		if err := r.stage(ctx, Step{Calls: []Call{call}}); err != nil {
			return Call{}, err
		}
		if err := r.halted(ctx); err != nil {
			return Call{}, err
		}
		r.log.WarnContext(ctx, "model failed", "role", q.role, "model", model, "step", step, "error", err)
		out.failed(err)
	}
	return Call{}, r.putOff(ctx, &out)
}

// answered says that the step's answer is recorded.
func (r *run) answered(step string) bool {
	call, ok := r.calls[step]
	return ok && call.Error == ""
}

// stepOf is the key of the answer of a step's model, or of one of its fallbacks.
func stepOf(step string, candidate int) string {
	if candidate == 0 {
		return step
	}
	return fmt.Sprintf("%s~%d", step, candidate)
}

// candidates are the models to try, in order.
func (r *run) candidates(model string) []string {
	models := []string{model}
	for _, fallback := range r.cfg.Fallback {
		if !slices.Contains(models, fallback) {
			models = append(models, fallback)
		}
	}
	return models
}

// try asks one model. The call is returned with an error too, but is empty when none was made.
func (r *run) try(ctx context.Context, q question, step, model string, spare bool) (Call, error) {
	if _, again := r.calls[step]; !again && len(r.calls) >= r.cfg.MaxLLMCalls {
		return Call{}, &ending{state: "failed", outcome: "call_limit", text: fmt.Sprintf(
			"I stopped: this request needed more than %d model calls, the most that one request may use.", r.cfg.MaxLLMCalls)}
	}
	if err := r.flush(ctx); err != nil {
		return Call{}, err
	}
	return r.complete(ctx, q, step, model, spare)
}

// spareKey is a key for a call that does not stand for its step.
func (r *run) spareKey(step string) string {
	for n := 1; ; n++ {
		key := fmt.Sprintf("%s+%d", step, n)
		if _, taken := r.calls[key]; !taken {
			return key
		}
	}
}

// complete makes one call. With a fallback left it waits for a silent model only
// stall_timeout: for its answer, or, where that is streamed, for each piece.
func (r *run) complete(ctx context.Context, q question, step, model string, spare bool) (Call, error) {
	mask := r.opts.Mask
	req := llm.Request{Role: q.role, Schema: q.schema, Timeout: r.cfg.LLMTimeout}
	if spare {
		req.Stall = r.cfg.StallTimeout
	}
	held, refusal := "", error(nil)
	req.Reserve = func(quote llm.Quote) error {
		ok, err := r.journal.Reserve(ctx, step, q.role, quote)
		if ok {
			held = step
		}
		if _, unpriced := errors.AsType[*llm.SetupError](err); !unpriced {
			refusal = err
		}
		return err
	}
	if q.partial != nil && r.turn.Place.Streams && !r.turn.Terms.Quiet {
		read, masked := q.partial(), mask.Growing()
		req.Stream = func(answer string) bool { return r.stream(ctx, masked(read(answer))) }
	} else if req.Stall > 0 && (req.Timeout <= 0 || req.Stall < req.Timeout) {
		req.Timeout = req.Stall
	}
	limited := ctx
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	length := r.opts.Length(limited, model)
	system, user := q.prompt(r.promptSize(length, q.schema))
	if length.Tokens > 0 && llm.Tokens(system)+llm.Tokens(user) > length.Tokens {
		err := fmt.Errorf("%w: it reads some %d tokens, and there are more; if it reads more, set context_tokens of the model", llm.ErrContextTooLong, length.Tokens)
		return Call{Step: step, Role: q.role, Error: err.Error()}, err
	}
	req.System, req.User = mask.Stable(system), mask.Text(user)
	response, err := r.models.Complete(limited, model, req)
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
	if call.Answer = tidy(response.Text); q.schema != nil {
		call.Answer = mask.JSON(call.Answer)
	} else {
		call.Answer = mask.Text(call.Answer)
	}
	if q.schema == nil && response.Finish == "length" && call.Answer != "" {
		call.Answer += " […]"
	}
	return call, nil
}

// gaveAnswer says of a failed call that there is an answer: one that is finished and empty, cut off or no JSON
// is one all the same, and what asked for it says what is wrong and asks again.
func gaveAnswer(response llm.Response, err error) bool {
	return errors.Is(err, llm.ErrUnavailable) && response.Finish != ""
}

// promptSize is how many tokens a prompt may have beside the schema; 0: any number.
func (r *run) promptSize(length llm.Length, schema *llm.Schema) int {
	if length.Tokens == 0 {
		return 0
	}
	size := min(int(r.cfg.ContextCeiling*float64(length.Tokens)), length.Tokens-length.Answer)
	if schema != nil {
		size -= llm.Tokens(compact(schema.JSON))
	}
	return max(1, size)
}

// modelOf is the model of a role; the session may have a planner of its own.
func (r *run) modelOf(role string) string {
	cfg := r.cfg
	cfg.Planner = cmp.Or(r.turn.Terms.Model, r.turn.Session.Model, cfg.Planner)
	return cfg.Roles()[role]
}

// tidy makes text fit for every database: valid UTF-8 without NUL.
func tidy(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// modelEnding ends a turn for which no model answered. The person reads what it
// means for them, and an admin in a chat of their own what to mend; the detail is in
// the call's row and in the log.
func (r *run) modelEnding(err error) *ending {
	end := &ending{state: "failed", outcome: "model_error", err: err}
	_, limited := errors.AsType[*llm.RateLimitError](err)
	switch {
	case errors.Is(err, llm.ErrNoKey), errors.Is(err, llm.ErrUnknownModel), errors.Is(err, llm.ErrUnauthorized),
		errors.Is(err, llm.ErrNoCredit), errors.Is(err, llm.ErrNotAvailable):
		end.outcome = "no_model"
		end.text = "I cannot answer: the language model is not set up properly. The log on my machine has the details."
	case errors.Is(err, llm.ErrContextTooLong):
		end.text = "I cannot answer: this is more text than the language model can read. A shorter message, or /reset to start afresh, will help."
	case errors.Is(err, llm.ErrRefused):
		end.text = "I cannot answer: the language model declined this request."
	case limited:
		end.text = "I cannot answer now: the language model is overloaded. Please try again in a while."
	default:
		end.text = "I cannot answer now: the language model gave no answer. Please try again in a while."
	}
	if setup, ok := r.setupFault(err); ok {
		end.text = fmt.Sprintf("I cannot answer: %s; %s.", setup.Reason, setup.Mend)
	}
	return end
}

// setupFault is what somebody has to set right, where an admin reads it in a chat of their own.
func (r *run) setupFault(err error) (*llm.SetupError, bool) {
	setup, ok := errors.AsType[*llm.SetupError](err)
	return setup, ok && r.turn.Person.Role == "admin" && r.turn.Place.Direct
}
