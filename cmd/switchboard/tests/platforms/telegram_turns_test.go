package platforms_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
)

// What an edit does goes by where its turn is: queued, running, over.
func TestTelegramEditsActByTheStateOfTheirTurn(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	ada, bob := r.Bot.AddUser("Ada"), r.Bot.AddUser("Bob")
	r.Admit("admin", ada, bob)
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Up()
	t.Run("queued: replaced", func(t *testing.T) {
		r := r.In(t)
		release := r.Slow.Hold(t, programtest.WhilePlanning, "one")
		r.Bot.Say(ada.ID, "one")
		queued := r.Bot.Say(ada.ID, "two")
		r.Await("the first runs", 10*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "one"))
		r.Bot.Edit(ada.ID, queued.ID, "three")
		r.Taken()
		release()
		r.Expect(ada.ID, "heard: one", "heard: three")
	})
	t.Run("running: steered", func(t *testing.T) {
		r := r.In(t)
		release := r.Slow.Hold(t, programtest.WhileReviewing, "work four")
		m := r.Bot.Say(bob.ID, "work four")
		r.Await("it runs", 10*time.Second, r.Slow.Thinks(programtest.WhileReviewing, "work four"))
		r.Bot.Edit(bob.ID, m.ID, "work five")
		r.Taken()
		release()
		r.Expect(bob.ID, "did: work five")
	})
	t.Run("over: kept as a revision", func(t *testing.T) {
		r := r.In(t)
		m := r.Bot.Say(r.Chief.ID, "six")
		r.Expect(r.Chief.ID, "heard: six")
		r.Bot.Edit(r.Chief.ID, m.ID, "seven")
		tooLate := "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it."
		r.Expect(r.Chief.ID, "heard: six", tooLate)
		r.Bot.Say(r.Chief.ID, "eight")
		r.Expect(r.Chief.ID, "heard: six", tooLate, "heard: eight")
		knows := func(req llmtest.Request) bool { return req.Has("(edited earlier message) seven") }
		if !slices.ContainsFunc(r.Model.Requests(), knows) {
			t.Error("the next plan is made without the new text")
		}
	})
	t.Run("the same told twice", func(t *testing.T) {
		r := r.In(t)
		before := r.Answers(ada.ID)
		m := r.Bot.Say(ada.ID, "nine")
		r.Expect(ada.ID, append(before, "heard: nine")...)
		r.Bot.Reannounce(ada.ID, m.ID)
		r.Bot.Repeat(1)
		r.Expect(ada.ID, append(before, "heard: nine")...)
	})
}

// A choice is made once, by its button or its number.
func TestTelegramChoiceIsMadeOnce(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Up()
	user := r.Chief.ID
	toast := func(press string) string {
		t.Helper()
		r.Await("the press is answered", 10*time.Second, func() bool { return r.Bot.Answered(press).Done })
		return r.Bot.Answered(press).Text
	}
	bare := func() bool {
		return !slices.ContainsFunc(r.Bot.FromBot(user), func(m telegramtest.Shown) bool { return m.ReplyMarkup != nil })
	}

	r.Bot.Say(user, "ask me")
	r.Expect(user, "Which one?")
	question := r.Bot.FromBot(user)[0]
	code := question.ReplyMarkup.Rows[1][0].CallbackData
	if got := toast(r.Bot.Press(user, user, question.ID, "coffee")); got != "" {
		t.Errorf("the choice is answered with %q", got)
	}
	r.Expect(user, "Which one?", "heard: coffee")
	r.Await("the buttons are gone", 10*time.Second, bare)
	if got := toast(r.Bot.PressStale(user, user, question.ID, code)); !strings.Contains(got, "answered already") {
		t.Errorf("a second press is answered with %q", got)
	}
	if got := toast(r.Bot.PressStale(user, user, question.ID, "nobody made this")); !strings.Contains(got, "does not work any more") {
		t.Errorf("an unknown button is answered with %q", got)
	}

	r.Bot.Say(user, "ask me again")
	r.Expect(user, "Which one?", "heard: coffee", "Which one?")
	question = r.Bot.FromBot(user)[2]
	code = question.ReplyMarkup.Rows[0][0].CallbackData
	r.Bot.Say(user, "1")
	r.Expect(user, "Which one?", "heard: coffee", "Which one?", "heard: tea")
	if got := toast(r.Bot.PressStale(user, user, question.ID, code)); !strings.Contains(got, "answered already") {
		t.Errorf("a button pressed after the number is answered with %q", got)
	}
	r.Await("the buttons are gone", 10*time.Second, bare)
	r.Bot.Say(user, "2") // no question is open
	r.Expect(user, "Which one?", "heard: coffee", "Which one?", "heard: tea", "heard: 2")
}

// A message that comes while another is worked on joins it, stops it, or waits.
func TestTelegramMessageWhileBusyJoinsStopsOrWaits(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"steer":     {"did: work one + and two"},
		"interrupt": {"Stopped for your newer message.", "heard: and two"},
		"collect":   {"did: work one", "heard: and two\n\nand three"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := programtest.NewTelegram(t, "busy = \""+mode+"\"\ncollect_window = \"300ms\"\n")
			r.Channel("telegram", r.Bot, r.Bot.Token(), "")
			r.Up()
			release := r.Slow.Hold(t, programtest.WhileReviewing, "work one")
			r.Bot.Say(r.Chief.ID, "work one")
			r.Await("it runs", 10*time.Second, r.Slow.Thinks(programtest.WhileReviewing, "work one"))
			r.Bot.Say(r.Chief.ID, "and two")
			if mode == "collect" {
				r.Bot.Say(r.Chief.ID, "and three")
			}
			r.Taken()
			if mode != "interrupt" { // which does not wait for the model
				release()
			}
			r.Settle()
			got := r.Answers(r.Chief.ID)
			for i, text := range got { // what was done by then is told too
				if strings.HasPrefix(text, "Stopped for your newer message. ") {
					got[i] = "Stopped for your newer message."
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("answered %q, want %q", got, want)
			}
		})
	}
}
