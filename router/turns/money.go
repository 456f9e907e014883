package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/channels/render"
	"switchboard/router/money"
	"switchboard/router/outbox"
)

const (
	// nearLimit is the part of a limit at which the admins are notified that it will be reached.
	nearLimit = 0.8
	// budgetQuiet is for how long a notice of a limit is not repeated: it names its day.
	budgetQuiet = 48 * time.Hour
)

// Reserve implements agent.Journal.
func (j *journal) Reserve(ctx context.Context, step, role string, q llm.Quote) (held bool, err error) {
	terms := j.data.Turn.Limits
	b := j.runner.Settings().Budget.Under(terms)
	if !b.Limited() {
		return false, nil
	}
	if q.Unpriced != "" { // a session may have a model that the settings did not know of as they were checked
		reason, mend, _ := strings.Cut(q.Unpriced, "; ")
		return false, &llm.SetupError{Reason: reason, Fix: mend, Err: fmt.Errorf("%w: there is a limit of [budget], and %s", llm.ErrNotAvailable, reason)}
	}
	now := time.Now()
	var spent []money.Spending
	var over *money.OverLimitError
	err = j.retry(ctx, "the cost of a model call could not be reserved", func(ctx context.Context) (err error) {
		spent, err = j.runner.Store.Reserve(ctx, j.ref, money.Reservation{
			Step: step, Role: role, Provider: q.Provider, Model: q.Model, Most: q.Most, Day: b.Day(now), Budget: b, Run: terms.Run,
		})
		if errors.As(err, &over) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, aborted(err)
	}
	for _, s := range spent {
		if s.Settled >= nearLimit*s.Limit && (over == nil || s != over.Spending) {
			j.runner.notifyBudget(j, b, s, now, fmt.Sprintf("is 80 %% spent: %s of %s", b.Amount(s.Settled), b.Amount(s.Limit)), "near")
		}
	}
	if over == nil {
		return true, nil
	}
	switch {
	case over.Scope == money.SpentInRun: // it is the job's own matter
	case over.Most > over.Limit:
		j.runner.notifyBudget(j, b, over.Spending, now, fmt.Sprintf(
			"is %s, too low for any call: one can cost %s. Raise the limit, or lower max_output_tokens in [llm.models]",
			b.Amount(over.Limit), b.Amount(over.Most)), "low")
	case over.Settled+over.Most > over.Limit: // else there is enough as soon as others are answered
		j.runner.notifyBudget(j, b, over.Spending, now, fmt.Sprintf(
			"is reached: %s of %s are spent, and another call may cost %s. Such calls are not made before %s",
			b.Amount(over.Settled), b.Amount(over.Limit), b.Amount(over.Most), b.Over(now).Format(dayOver)), "reached")
	}
	end, of := b.Over(now), &j.data.Turn
	if zone, err := time.LoadLocation(cmp.Or(of.Session.TimeZone, of.Person.TimeZone, j.runner.Settings().TimeZone)); err == nil { // in which the person reads until when the limit holds
		end = end.In(zone)
	}
	return false, &agent.OverLimitError{Text: overLimit(over, end)}
}

const dayOver = "2006-01-02 15:04 MST"

// overLimit says to a person why their message is not answered.
func overLimit(e *money.OverLimitError, over time.Time) string {
	what, in := "what may be spent on language models in a day", ""
	switch e.Scope {
	case money.SpentInRun:
		return "I stopped: this costs more than one run of the job may (budget.per_job_run)."
	case money.SpentInAll:
	case money.SpentByPerson:
		what = "what you may spend on language models in a day"
	case money.SpentInSession:
		in = " in this conversation"
	}
	switch {
	case e.Most > e.Limit:
		return fmt.Sprintf("I cannot answer: one question to the language model can cost more than %s%s. Please ask whoever runs me to raise that limit.", what, in)
	case e.Settled+e.Most <= e.Limit:
		return fmt.Sprintf("I cannot answer right now: the messages that I am working on need the rest of %s%s. Please try again in a few minutes.", what, in)
	}
	return fmt.Sprintf("I cannot answer any more today: %s%s is used up. I answer again from %s.", what, in, over.Format(dayOver))
}

// notifyBudget notifies the admins once of each limit, day and level.
func (r *Runner) notifyBudget(j *journal, b money.Budget, s money.Spending, now time.Time, how, level string) {
	about := fmt.Sprintf("%s %s %s %g %s", b.Day(now), s.Scope, s.Name, s.Limit, level)
	if !r.notified.First(about, now) {
		return
	}
	which := map[money.SpendingScope]string{
		money.SpentInAll:     "for a day (budget.per_day)",
		money.SpentByPerson:  "of " + render.Escape(s.Name) + " for a day (budget.per_person_day)",
		money.SpentInSession: "of the conversation " + render.Escape(j.data.Turn.Session.Key) + " for a day (budget.per_session_day)",
	}[s.Scope]
	text := fmt.Sprintf("The limit %s %s. /budget shows what was spent.", which, how)
	r.Connections.Background(func() { r.Connections.NotifyOnce(r.work, outbox.NoticeBudget, about, text, budgetQuiet) })
}
