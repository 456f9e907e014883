package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// question is a reply that asks marco, with a button for each choice.
func question(name string, expires time.Time, choices ...string) outbox.Reply {
	r := outbox.Reply{Text: name + "?"}
	body := channels.Body{Text: r.Text}
	for i, c := range choices {
		code := fmt.Sprint(name, i+1)
		body.Buttons = append(body.Buttons, channels.Button{Label: c, Code: code})
		r.Actions = append(r.Actions, outbox.Action{
			Code: outbox.HashCode(code), Kind: outbox.ActionChoice, Person: "marco", Text: c, Number: i + 1, ExpiresAt: expires,
		})
	}
	r.Parts = []channels.Body{body}
	return r
}

// asks says questions in a turn of the conversation, which then ends.
func (h *house) asks(conv, key string, questions ...outbox.Reply) {
	h.Helper()
	step := end("done", "asked")
	for _, q := range questions {
		step.Say = append(step.Say, agent.Say{Text: q.Text, Position: -1, Taint: q.Taint})
	}
	h.Commit(h.Begun(conv, key), step, questions...)
}

func press(conv, key, code string) intake.Entry {
	e := entry(conv, "press"+key, "")
	e.Intent = &intake.ActionIntent{Code: outbox.HashCode(code), Turn: *e.Turn()}
	e.Event.Kind, e.Event.Message = channels.EventAction, channels.Message{}
	return e
}

func typed(conv, key, text string) intake.Entry {
	e := entry(conv, key, text)
	e.Turn().Choice = true
	return e
}

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

func TestButtonAnswersOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		q := question("tea", tomorrow(), "green", "black")
		q.Taint = "web"
		h.asks("c", "1", q, question("milk", tomorrow(), "yes"))
		d := h.Begin(h.Hold(), "c")
		if d == nil || len(d.Body.Buttons) != 2 || d.Body.Buttons[1] != (channels.Button{Label: "black", Code: "tea2"}) || d.Body.Text != "tea?" {
			t.Fatalf("%+v", d)
		}
		for what, e := range map[string]intake.Entry{
			"no such code": press("c", "1", "tea9"), "from elsewhere": press("d", "2", "tea1"),
		} {
			if a := h.one(e); a.Action != "" || a.TurnID != 0 || a.NotYours {
				t.Errorf("%s: %+v", what, a)
			}
		}
		if a := h.one(by(press("c", "3", "tea1"), "anna")); !a.NotYours || a.TurnID != 0 || a.Action != outbox.ActionProposed {
			t.Errorf("another person: %+v", a)
		}
		full := limited(press("c", "4", "tea2"), 0)
		if a := h.one(full); a.Outcome != intake.OutcomeBusy || a.TurnID != 0 {
			t.Errorf("queue full: %+v", a)
		}
		first := press("c", "5", "tea2")
		first.Turn().MayClaim = true
		a := h.one(first)
		if a.Action != outbox.ActionAccepted || a.Claimed == nil {
			t.Fatalf("%+v", a)
		}
		if again := h.one(first); !again.Duplicate {
			t.Errorf("told twice: %+v", again)
		}
		m := h.load(a.Claimed.TurnRef).Turn.Message
		if len(m.Passed) != 1 || m.Passed[0].Text != "black" || m.Taint != "web" || m.Author != "marco" {
			t.Errorf("%+v", m)
		}
		for i, code := range []string{"tea2", "tea1"} {
			if a := h.one(press("c", fmt.Sprint("late", i), code)); a.Action != outbox.ActionCancelled || a.TurnID != 0 {
				t.Errorf("%s once more: %+v", code, a)
			}
		}
		if a := h.one(press("c", "6", "milk1")); a.Action != outbox.ActionAccepted || a.TurnID == 0 {
			t.Errorf("another question: %+v", a)
		}
	})
}

func TestButtonExpires(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.asks("c", "1", question("tea", time.Now().Add(-time.Second), "green"))
		for i := range 2 {
			if a := h.one(press("c", fmt.Sprint(i), "tea1")); a.Action != outbox.ActionExpired || a.TurnID != 0 {
				t.Errorf("%+v", a)
			}
		}
		if a := h.one(typed("c", "2", "1")); a.Action != "" || a.TurnID == 0 {
			t.Errorf("a number after the deadline is a message: %+v", a)
		}
	})
}

func TestTypedNumberAnswersTheNewestQuestion(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if a := h.one(typed("c", "0", "2")); a.TurnID == 0 || a.Action != "" {
			t.Errorf("no question is open: %+v", a)
		}
		h.Commit(h.Claim(1)[0].TurnRef, end("done", "answered"))
		h.asks("c", "1", question("tea", tomorrow(), "green", "black", "none"))
		h.asks("c", "2", question("milk", tomorrow(), "yes", "no"))
		if a := h.one(by(typed("c", "3", "2"), "anna")); a.Action != "" || a.TurnID == 0 || a.NotYours {
			t.Errorf("another person's number is a message: %+v", a)
		}
		for i, text := range []string{"3", "0", "-1", "two", "2 please"} {
			if a := h.one(typed("c", fmt.Sprint("n", i), text)); a.Action != "" || a.TurnID == 0 {
				t.Errorf("%q answers nothing: %+v", text, a)
			}
		}
		a := h.one(typed("c", "4", " 2 "))
		if a.Action != outbox.ActionAccepted || a.TurnID == 0 {
			t.Errorf("%+v", a)
		}
		if v, err := h.Router.Turn(h.Ctx, a.TurnID, false); err != nil || v.Text != "no" {
			t.Errorf("%+v, %v", v, err)
		}
		// What was typed is what the platform shows, and what an edit is compared with.
		if text, _, err := h.Router.Shown(h.Ctx, channels.Conversation{Channel: "tg", ID: "c"}, "m4", "marco"); err != nil || text != " 2 " {
			t.Errorf("%q, %v", text, err)
		}
		if a := h.one(edited("c", "4", "e4", " 2 ", "steer")); a.Edited != intake.EditSame {
			t.Errorf("%+v", a)
		}
		// The question before it is the newest open one now.
		if a := h.one(typed("c", "5", "3")); a.Action != outbox.ActionAccepted {
			t.Errorf("%+v", a)
		}
		if a := h.one(typed("c", "6", "1")); a.Action != "" || a.TurnID == 0 {
			t.Errorf("everything is answered: %+v", a)
		}
		if a := h.one(typed("c", "6", "1")); !a.Duplicate {
			t.Errorf("%+v", a)
		}
	})
}

// A label is typed like its number, and only where it cannot be another question's.
func TestTypedLabelAnswersTheOnlyQuestionThatHasIt(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		n := 0
		says := func(text string) intake.Entry {
			n++
			e := entry("c", fmt.Sprint("says", n), text)
			e.Turn().Choice = true
			return e
		}
		number := func(text string) intake.Entry {
			n++
			return typed("c", fmt.Sprint("types", n), text)
		}
		h.asks("c", "1", question("tea", tomorrow(), "Grün ", "none"), question("late", time.Now().Add(-time.Second), "gone"))
		h.asks("c", "2", question("milk", tomorrow(), "yes", "None"))
		h.asks("c", "3", question("nights", tomorrow(), "3", "1", "2", "12"))
		message := func(what string, e intake.Entry) {
			t.Helper()
			if a := h.one(e); a.Action != "" || a.TurnID == 0 || a.Question != "" {
				t.Errorf("%s is a message: %+v", what, a)
			}
		}
		message("a label of two questions", says("none"))
		message("more than a label", says("yes please"))
		message("another person's", by(says("yes"), "anna"))
		message("a label that has expired", says("gone"))
		full := limited(says("yes"), 0)
		if a := h.one(full); a.Outcome != intake.OutcomeBusy || a.TurnID != 0 || a.Action == outbox.ActionAccepted {
			t.Errorf("queue full: %+v", a)
		}
		for _, c := range []struct {
			e    intake.Entry
			want string
		}{
			{claiming(says("  grüN")), "Grün "},
			{number("3"), "3"}, // the label, and not what stands third
			{number("1"), "yes"},
		} {
			a := h.one(c.e)
			if a.Action != outbox.ActionAccepted || a.TurnID == 0 {
				t.Fatalf("%q: %+v", c.want, a)
			}
			if v, err := h.Router.Turn(h.Ctx, a.TurnID, false); err != nil || v.Text != c.want {
				t.Errorf("%+v, %v, want %q", v, err, c.want)
			}
			if again := h.one(c.e); !again.Duplicate {
				t.Errorf("told twice: %+v", again)
			}
		}
		message("an answered question's", says("none"))
		h.wantCount(1, "SELECT count(*) FROM messages WHERE said = '  grüN'")
	})
}

// What is typed says where the buttons are that it made worthless.
func TestTypedChoiceNamesTheQuestion(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		long := question("tea", tomorrow(), "green")
		long.Parts = append([]channels.Body{{Text: "a long story"}}, long.Parts...)
		long.Parts = append(long.Parts, channels.Body{Files: []channels.File{{Blob: blobName("a"), Name: `{"buttons":`}}})
		plain := question("plain", tomorrow(), "numbered line")
		plain.Parts[0].Buttons = nil
		h.asks("c", "1", long, plain, question("unsent", tomorrow(), "not yet"))
		hold := h.Hold()
		for i := range 4 {
			h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent, PlatformID: channels.MessageID(fmt.Sprint("p", i))})
		}
		for label, want := range map[string]channels.MessageID{"green": "p1", "numbered line": "", "not yet": ""} {
			e := entry("c", label, label)
			e.Turn().Choice = true
			if a := h.one(e); a.Action != outbox.ActionAccepted || a.Question != want {
				t.Errorf("%s: %+v, want %q", label, a, want)
			}
		}
	})
}

func TestTwoAnswersAtOnceCountAsOne(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for round := range 5 {
			name := fmt.Sprint("q", round)
			conv := "c" + name
			h.asks(conv, conv, question(name, tomorrow(), "a", "b", "c"))
			var mu sync.Mutex
			var wg sync.WaitGroup
			states := map[outbox.ActionState]int{}
			for i := range 6 {
				wg.Go(func() {
					e := press(conv, fmt.Sprint(conv, i), fmt.Sprint(name, i%3+1))
					switch i {
					case 4:
						e = entry(conv, fmt.Sprint(conv, "said"), "B")
						e.Turn().Choice = true
					case 5:
						e = typed(conv, fmt.Sprint(conv, "typed"), "3")
					}
					a, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{e})
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("accept: %v", err)
						return
					}
					states[a[0].Action]++
				})
			}
			wg.Wait()
			if states[outbox.ActionAccepted] != 1 {
				t.Errorf("round %d: %v", round, states)
			}
			h.wantCount(0, "SELECT count(*) FROM actions WHERE state = 'proposed'")
		}
	})
}

func TestActionUnderAReplyIsATurn(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := control(entry("c", "1", "/menu"), intake.EffectNone, "")
		q := question("menu", tomorrow(), "help")
		e.Intent.(*intake.ControlIntent).Reply = &q
		h.Accept(e)
		if a := h.one(press("c", "1", "menu1")); a.Action != outbox.ActionAccepted || a.TurnID == 0 {
			t.Errorf("%+v", a)
		}
		// A code is given out once.
		twice := control(entry("c", "2", "/menu"), intake.EffectNone, "")
		twice.Intent.(*intake.ControlIntent).Reply = &q
		if _, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{twice}); err == nil {
			t.Error("the same code twice")
		}
	})
}
