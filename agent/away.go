package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// OutcomeModelAway is the outcome of a turn that is queued again because no model answers it for now.
const OutcomeModelAway = "model_away"

// A turn that no model answers is tried again after as long as that has lasted already, between
// these two: 5 s first, then about twice as long each time.
const (
	shortestWait = 5 * time.Second
	longestWait  = time.Minute
	// tellAfter is how long the person waits before they are told.
	tellAfter = 20 * time.Second
)

// modelAway is what the person is told, once a turn.
var modelAway = words.Text{
	EN: "The language model does not answer. I will keep trying.",
	DE: "Das Sprachmodell antwortet nicht. Ich versuche es weiter.",
	ES: "El modelo de lenguaje no responde. Seguiré intentándolo.",
	FR: "Le modèle de langage ne répond pas. Je continue d’essayer.",
	IT: "Il modello linguistico non risponde. Continuo a provare.",
}

// An outage is one round of asking all models for one step.
type outage struct {
	since time.Time     // when the step was first asked without success
	away  bool          // a model failed that may be back soon
	after time.Duration // the soonest that one of those is to be asked again; 0: none said
	last  error         // of the last model
}

// failed notes that a model did not answer.
func (o *outage) failed(err error) {
	o.last = err
	if !llm.Away(err) {
		return
	}
	after := time.Duration(0)
	if limited, ok := errors.AsType[*llm.RateLimitError](err); ok {
		after = limited.RetryAfter
	}
	if !o.away || after < o.after {
		o.after = after
	}
	o.away = true
}

// putOff queues the turn again where a model may be back in time, and ends it otherwise.
func (a *asker) putOff(ctx context.Context, o *outage) error {
	end := a.modelEnding(o.last)
	lasted := a.now().Sub(o.since)
	wait := max(min(max(lasted, shortestWait), longestWait), o.after)
	told := a.noticed()
	tell := !told && lasted+o.after >= tellAfter
	if !told && !tell { // the next try is when it is time to tell
		wait = min(wait, max(tellAfter-lasted, time.Second))
	}
	job := a.turn.Limits.Run != 0
	if !o.away || lasted+wait > a.turn.KeepTrying || job && wait >= a.timeLeft() {
		return end
	}
	a.log.InfoContext(ctx, "a turn waits for its model", "wait", wait, "error", o.last)
	if err := a.flush(ctx); err != nil { // what the calls cost is counted even if the turn is not to wait
		return err
	}
	step := Step{End: &End{State: "queued", Outcome: OutcomeModelAway, Wait: wait, Timed: job}}
	if tell {
		text := modelAway.In(a.turn.Session.Language)
		if setup, ok := a.setupFault(o.last); ok { // somebody may have to set it right
			text += fmt.Sprintf(" (%s; %s.)", setup.Reason, setup.Fix)
		}
		step.Say = []Say{{Attempt: a.lastAttempt(), Position: -1, Notice: true, Text: text, Taint: tools.Clean}}
	}
	return a.park(ctx, step)
}

// modelEnding ends a turn for which no model answered. The person reads what it
// means for them, and an admin in a chat of their own what to fix; the detail is in
// the call's row and in the log.
func (a *asker) modelEnding(err error) *ending {
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
	if setup, ok := a.setupFault(err); ok {
		end.text = fmt.Sprintf("I cannot answer: %s; %s.", setup.Reason, setup.Fix)
	}
	return end
}

// setupFault is what somebody has to set right, where an admin reads it in a chat of their own.
func (a *asker) setupFault(err error) (*llm.SetupError, bool) {
	setup, ok := errors.AsType[*llm.SetupError](err)
	return setup, ok && a.turn.Person.Role == "admin" && a.turn.Place.Direct
}
