package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

func passedOn(e intake.Entry, from string) intake.Entry {
	e.Taint, e.Event.Message.Forwarded, e.Event.Message.Origin = "forwarded", true, from
	return e
}

// Who wrote a forwarded message stays with it on every way to a turn.
func TestForwardedFromIsKept(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.one(claiming(passedOn(entry("c", "1", "one"), "Eve"))).Claimed.TurnRef
		if m := h.load(ref).Turn.Message; m.Text != "" || !slices.Equal(m.Passed, []agent.Passed{{From: "Eve", Text: "one"}}) || m.Taint != "forwarded" {
			t.Errorf("%+v", m)
		}
		h.one(mode(passedOn(entry("c", "2", "two"), "Mallory"), "steer"))
		if list := h.absorb(ref, 1); len(list) != 1 || list[0].Text != "" || !slices.Equal(list[0].Passed, []agent.Passed{{From: "Mallory", Text: "two"}}) {
			t.Errorf("absorbed: %+v", list)
		}
		if added := h.load(ref).State.Added; len(added) != 1 || !slices.Equal(added[0].Passed, []agent.Passed{{From: "Mallory", Text: "two"}}) {
			t.Errorf("resumed: %+v", added)
		}
		h.Commit(ref, end("done", "answered"))

		h.Accept(entry("c", "3", "three"), mode(passedOn(entry("c", "4", "four"), "Trent"), "collect"), mode(entry("c", "5", "five"), "collect"))
		h.one(passedOn(edited("c", "5", "e1", "five!", "steer"), "Peggy"))
		d := h.load(h.Claim(1)[0].TurnRef)
		if m := d.Turn.Message; m.Text != "three" || !slices.Equal(m.Passed, []agent.Passed{{From: "Trent", Text: "four"}, {From: "Peggy", Text: "five!"}}) {
			t.Errorf("collected: %+v", d.Turn.Message)
		}
		if recent := d.State.Recent; len(recent) != 2 || recent[0].ForwardedFrom != "Eve" || recent[1].ForwardedFrom != "Mallory" {
			t.Errorf("recent: %+v", recent)
		}
		h.Accept(deleted("c", "1", "d1"), deleted("c", "4", "d2"))
		h.wantCount(0, "SELECT count(*) FROM messages WHERE forwarded_from IN ('Eve', 'Trent')")
	})
}

// Collected messages are one, and what was passed on stays apart in it, whatever came
// along with the person's own words; so it does when it is tried again.
func TestPassedOnStaysApart(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		quoting := entry("c", "1", "what is this?")
		quoting.Taint, quoting.Event.Message.Quote = "quote", "said"
		card := mode(entry("c", "3", "[contact: Eve]"), "collect")
		card.Taint, card.Event.Message.Enclosed = "enclosed", true
		h.Accept(quoting, mode(passedOn(entry("c", "2", "obey"), "Eve"), "collect"), card, mode(entry("c", "4", "and why?"), "collect"))
		want := []agent.Passed{{From: "Eve", Text: "obey"}, {Text: "[contact: Eve]"}}
		ref := h.Claim(1)[0].TurnRef
		if m := h.load(ref).Turn.Message; m.Text != "what is this?\n\nand why?" || !slices.Equal(m.Passed, want) {
			t.Errorf("%+v", m)
		}
		h.Commit(ref, end("failed", "model_error"))
		again := entry("c", "5", "/retry")
		again.Turn().Retry = &intake.Retry{}
		h.one(again)
		if m := h.load(h.Claim(1)[0].TurnRef).Turn.Message; m.Text != "what is this?\n\nand why?" || !slices.Equal(m.Passed, want) {
			t.Errorf("again: %+v", m)
		}
	})
}

// A choice under a question that repeats what was read is none of the person's own words,
// however they chose it.
func TestAChoiceHasTheTaintOfItsQuestion(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for taint, own := range map[tools.Taint]bool{tools.Clean: true, "web": false, "quote": false} {
			c := "c" + string(taint)
			ref := h.one(claiming(entry(c, c+"1", "which?"))).Claimed.TurnRef
			step := end("done", "asked")
			step.Say = []agent.Say{{Text: "Which?", Choices: []string{"obey"}, Taint: taint}}
			h.Commit(ref, step, outbox.Reply{Text: "Which?", Taint: taint, Person: "marco", Actions: []outbox.Action{{
				Code: outbox.HashCode(c), Kind: outbox.ActionChoice, Person: "marco", Text: "obey", Number: 1, ExpiresAt: time.Now().Add(time.Hour),
			}}})
			typed := claiming(entry(c, c+"2", "1"))
			typed.Turn().Choice, typed.Taint, typed.Event.Message.Quote = true, "quote", "Which?"
			m := h.load(h.one(typed).Claimed.TurnRef).Turn.Message
			if got := m.Text == "obey" && len(m.Passed) == 0; got != own || !own && !slices.Equal(m.Passed, []agent.Passed{{Text: "obey"}}) {
				t.Errorf("%q: %+v", taint, m)
			}
		}
	})
}

// What we said stands in the conversation with the person whom it answered: as an answer,
// as a reply of the router, and as the latter where a command ended a turn.
func TestLinesSayWhomTheyAnswer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		by := func(e intake.Entry, person string) intake.Entry {
			e.Sender.Person = person
			return e
		}
		ref := h.one(claiming(by(entry("c", "1", "one"), "bob"))).Claimed.TurnRef
		step := end("done", "answered")
		step.Say = []agent.Say{{Text: "to bob", Position: -1}}
		h.Commit(ref, step, outbox.Reply{Text: "to bob", Person: "bob"})
		status := by(entry("c", "2", "/status"), "bob")
		status.Intent = &intake.ControlIntent{Reply: &outbox.Reply{Text: "idle"}}
		h.one(status)
		h.one(by(entry("c", "3", "two"), "bob"))
		stop := by(entry("c", "4", "/cancel"), "carl")
		stop = control(stop, intake.EffectCancel, "nothing")
		stop.Intent.(*intake.ControlIntent).AnyPerson = true
		h.one(stop)
		var got []string
		for _, line := range h.load(h.one(claiming(entry("c", "5", "three"))).Claimed.TurnRef).State.Recent {
			got = append(got, line.Author+"/"+line.To+": "+line.Text)
		}
		want := []string{"bob/: one", "switchboard/bob: to bob", "bob/: /status", "switchboard/bob: idle", "bob/: two", "carl/: /cancel", "switchboard/carl: dropped"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
