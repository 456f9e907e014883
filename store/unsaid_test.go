package store_test

import (
	"testing"

	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// What is said of an outcome that the transaction alone knows is rendered and stored in it, with the
// rest of the batch.
func TestAcceptSaysWhatBecameOfAnEntry(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Begun("c", "1")
		h.Accept(entry("c", "2", "waits"))
		for name, one := range map[string]struct {
			entry     intake.Entry
			situation intake.Outcome
		}{
			"full":     {limited(entry("c", "3", "one too many"), 1), intake.OutcomeBusy},
			"idle":     {control(entry("d", "4", "/cancel"), intake.EffectCancel, ""), intake.OutcomeIdle},
			"no retry": {retry("e", "5", ""), intake.RetryNone},
			"unclear":  {retry("c", "6", "elsewhere"), intake.RetryUnknown},
		} {
			one.entry.Say = func(a *intake.Accepted) *outbox.Reply { return text(name + ": " + string(a.Outcome)) }
			out := h.Accept(entry("x", "first "+name, "first"), one.entry, entry("x", "last "+name, "last"))
			if out[0].TurnID == 0 || out[1].Outcome != one.situation || out[1].TurnID != 0 || out[2].TurnID <= out[0].TurnID {
				t.Errorf("%s: %+v", name, out)
			}
			answers := h.answers(string(one.entry.Event.Conversation.ID))
			if n := len(answers); n == 0 || answers[n-1] != name+": "+string(one.situation) {
				t.Errorf("%s: said %q", name, answers)
			}
		}
		silent := limited(entry("c", "7", "one too many"), 1)
		silent.Say = nil
		before := len(h.answers("c"))
		if a := h.one(silent); a.Outcome != intake.OutcomeBusy || len(h.answers("c")) != before {
			t.Errorf("%+v, said %q", a, h.answers("c")[before:])
		}
	})
}

// A change that is refused leaves nothing behind but its audit row and the answer, in one transaction with
// what came with it.
func TestRefusedChangeIsAnsweredAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := entry("c", "1", "/people role nobody admin")
		e.Intent = &intake.ControlIntent{Change: &people.Change{Kind: people.ChangeRole, Person: core.Person{Name: "nobody", Role: core.RoleAdmin}}}
		e.Say = func(a *intake.Accepted) *outbox.Reply { return text(string(a.Outcome) + ": " + a.Refusal) }
		out := h.Accept(e, entry("x", "2", "goes on"))
		if out[0].Outcome != intake.ChangeRefused || out[0].Refusal == "" || out[1].TurnID == 0 {
			t.Errorf("%+v", out)
		}
		if answers := h.answers("c"); len(answers) != 1 || answers[0] != "change_refused: "+out[0].Refusal {
			t.Errorf("said %q", answers)
		}
		var refused int
		if err := h.DB.Scan(h.Ctx, `SELECT count(*) FROM audit WHERE outcome = 'refused' AND action LIKE 'person.%'`, &refused); err != nil || refused != 1 {
			t.Errorf("%d audit rows, %v", refused, err)
		}
	})
}
