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

// failedBefore says that each of the models failed at the step when the turn was last tried, so
// that it was put off, and since when. They are all asked again.
func (r *run) failedBefore(step string, models int) (since time.Time, again bool) {
	for i := range models {
		call, ok := r.calls[stepOf(step, i)]
		if !ok || call.Error == "" {
			return time.Time{}, false
		}
		if since.IsZero() || call.At.Before(since) {
			since = call.At
		}
	}
	return since, true
}

// putOff queues the turn again where a model may be back in time, and ends it otherwise.
func (r *run) putOff(ctx context.Context, o *outage) error {
	end := r.modelEnding(o.last)
	lasted := r.opts.Now().Sub(o.since)
	wait := max(min(max(lasted, shortestWait), longestWait), o.after)
	told := r.told()
	tell := !told && lasted+o.after >= tellAfter
	if !told && !tell { // the next try is when it is time to tell
		wait = min(wait, max(tellAfter-lasted, time.Second))
	}
	job := r.turn.Terms.Run != 0
	if !o.away || lasted+wait > r.turn.KeepTrying || job && wait >= r.timeLeft() {
		return end
	}
	r.log.InfoContext(ctx, "a turn waits for its model", "wait", wait, "error", o.last)
	if err := r.flush(ctx); err != nil { // what the calls cost is counted even if the turn is not to wait
		return err
	}
	step := Step{End: &End{State: "queued", Outcome: OutcomeModelAway, Wait: wait, Timed: job}}
	if tell {
		step.Say = []Say{{Attempt: r.lastAttempt(), Position: -1, Notice: true, Text: r.awayText(o.last), Taint: tools.Clean}}
	}
	return r.park(ctx, step)
}

// told says that the person need not be told that the turn takes longer: they were, or nobody waits.
func (r *run) told() bool {
	if r.turn.Terms.Quiet || r.turn.Terms.Run != 0 {
		return true
	}
	for _, say := range r.state.Said {
		if say.Notice {
			return true
		}
	}
	return false
}

// awayText is modelAway; an admin in a chat of their own reads what is wrong where somebody may have
// to set it right.
func (r *run) awayText(err error) string {
	text := modelAway.In(r.turn.Session.Language)
	if setup, ok := r.setupFault(err); ok {
		text += fmt.Sprintf(" (%s; %s.)", setup.Reason, setup.Mend)
	}
	return text
}
