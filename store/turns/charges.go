package turns

import (
	"switchboard/agent"
	"switchboard/store/database"
	"switchboard/store/money"
	"switchboard/store/sessions"
)

// settle is what a call cost, with nothing set aside for it any more. Settled says that it was
// noted before.
func (w *stepWriter) settle(c *agent.Call) (ch money.Charge, settled bool) {
	ch = money.Charge{Day: money.CallDay(c, w.t.Now), Session: w.session, Settled: money.Billionths(c.Usage.Cost)}
	if c.Held == "" || w.err != nil {
		return ch, false
	}
	var found bool
	found, w.err = w.t.Row(money.SettleCall, []any{database.Clean(c.Step), w.turn, database.Clean(c.Held)}, &ch.Reserved, &ch.Day)
	ch.Reserved = -ch.Reserved
	return ch, !found
}

// charge changes the sums by what the calls of the step cost.
func (w *stepWriter) charge() error {
	if len(w.charges) == 0 {
		return nil
	}
	var person string
	if _, err := w.t.Row(sessions.PersonOf, []any{w.turn}, &person); err != nil {
		return err
	}
	for i := range w.charges {
		w.charges[i].Person = person
	}
	return money.Add(w.t, w.charges...)
}
