package store_test

import (
	"errors"
	"testing"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/store/storetest"
)

// What is said of an outcome that the transaction alone knows is rendered and stored in it, with the
// rest of the batch.
func TestAcceptSaysWhatBecameOfAnEntry(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Begun("c", "1")
		h.Accept(storetest.Entry("c", "2", "waits"))
		for name, one := range map[string]struct {
			entry     intake.Entry
			situation intake.Outcome
		}{
			"full":     {storetest.Limited(storetest.Entry("c", "3", "one too many"), 1), intake.OutcomeBusy},
			"idle":     {storetest.Control(storetest.Entry("d", "4", "/cancel"), intake.EffectCancel, ""), intake.OutcomeIdle},
			"no retry": {storetest.RetryEntry("e", "5", ""), intake.RetryNone},
			"unclear":  {storetest.RetryEntry("c", "6", "elsewhere"), intake.RetryUnknown},
		} {
			one.entry.Say = func(a *intake.Accepted) *outbox.Reply { return storetest.Text(name + ": " + string(a.Outcome)) }
			out := h.Accept(storetest.Entry("x", "first "+name, "first"), one.entry, storetest.Entry("x", "last "+name, "last"))
			if out[0].TurnID == 0 || out[1].Outcome != one.situation || out[1].TurnID != 0 || out[2].TurnID <= out[0].TurnID {
				t.Errorf("%s: %+v", name, out)
			}
			answers := h.Answers(string(one.entry.Event.Conversation.ID))
			if n := len(answers); n == 0 || answers[n-1] != name+": "+string(one.situation) {
				t.Errorf("%s: said %q", name, answers)
			}
		}
		silent := storetest.Limited(storetest.Entry("c", "7", "one too many"), 1)
		silent.Say = nil
		before := len(h.Answers("c"))
		if a := h.One(silent); a.Outcome != intake.OutcomeBusy || len(h.Answers("c")) != before {
			t.Errorf("%+v, said %q", a, h.Answers("c")[before:])
		}
	})
}

// A change that is refused leaves nothing behind but its audit row and the answer, in one transaction with
// what came with it.
func TestRefusedChangeIsAnsweredAtOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Entry("c", "1", "/people role nobody admin")
		e.Intent = &intake.ControlIntent{Change: &people.Change{Kind: people.ChangeRole, Person: core.Person{Name: "nobody", Role: core.RoleAdmin}}}
		e.Say = func(a *intake.Accepted) *outbox.Reply { return storetest.Text(string(a.Outcome) + ": " + a.Refusal) }
		out := h.Accept(e, storetest.Entry("x", "2", "goes on"))
		if out[0].Outcome != intake.ChangeRefused || out[0].Refusal == "" || out[1].TurnID == 0 {
			t.Errorf("%+v", out)
		}
		if answers := h.Answers("c"); len(answers) != 1 || answers[0] != "change_refused: "+out[0].Refusal {
			t.Errorf("said %q", answers)
		}
		var refused int
		if err := storetest.Scan(h.Ctx, h.DB, `SELECT count(*) FROM audit WHERE outcome = 'refused' AND action LIKE 'person.%'`, &refused); err != nil || refused != 1 {
			t.Errorf("%d audit rows, %v", refused, err)
		}
	})
}

// What is forgotten while it is to be sent is not sent.
func TestForgottenWhileItIsToBeSent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storetest.Postgres(t))
	h.Posts("c1", "1", "secret")
	hold := h.Hold()
	end, err := storetest.OpenTransaction(h.Ctx, h.DB, "SELECT 1 FROM conversations WHERE conversation = 'c1' FOR UPDATE")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- h.Router.ForgetSession(h.Ctx, "tg:c1", core.Actor{Person: "ada"}) }()
	storetest.AwaitBlocked(t, h.DB, 1)
	var begun *outbox.Delivery
	go func() {
		d, _, err := h.Router.Begin(h.Ctx, hold, channels.Conversation{ID: "c1"})
		begun = d
		done <- err
	}()
	storetest.AwaitBlocked(t, h.DB, 2)
	if err := errors.Join(end(), <-done, <-done); err != nil || begun != nil {
		t.Errorf("begun is %+v, %v", begun, err)
	}
	h.WantCount(1, "SELECT count(*) FROM deliveries WHERE state = 'dropped' AND settled")
}
