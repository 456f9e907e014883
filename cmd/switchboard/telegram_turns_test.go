package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels/telegram/telegramtest"
)

// What an edit does goes by where its turn is: queued, running, over.
func TestTelegramEditsActByTheStateOfTheirTurn(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	ada, bob := r.bot.AddUser("Ada"), r.bot.AddUser("Bob")
	r.admit("admin", ada, bob)
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.up()
	t.Run("queued: replaced", func(t *testing.T) {
		r := r.in(t)
		release := r.mind.hold(t, whilePlanning, "one")
		r.bot.Say(ada.ID, "one")
		queued := r.bot.Say(ada.ID, "two")
		r.await("the first runs", 10*time.Second, r.mind.thinks(whilePlanning, "one"))
		r.bot.Edit(ada.ID, queued.ID, "three")
		r.taken()
		release()
		r.expect(ada.ID, "heard: one", "heard: three")
	})
	t.Run("running: steered", func(t *testing.T) {
		r := r.in(t)
		release := r.mind.hold(t, whileReviewing, "work four")
		m := r.bot.Say(bob.ID, "work four")
		r.await("it runs", 10*time.Second, r.mind.thinks(whileReviewing, "work four"))
		r.bot.Edit(bob.ID, m.ID, "work five")
		r.taken()
		release()
		r.expect(bob.ID, "did: work five")
	})
	t.Run("over: kept as a revision", func(t *testing.T) {
		r := r.in(t)
		m := r.bot.Say(r.chief.ID, "six")
		r.expect(r.chief.ID, "heard: six")
		r.bot.Edit(r.chief.ID, m.ID, "seven")
		tooLate := "I had answered that before you changed it. If you want another answer, write it again, or reply /retry to it."
		r.expect(r.chief.ID, "heard: six", tooLate)
		r.bot.Say(r.chief.ID, "eight")
		r.expect(r.chief.ID, "heard: six", tooLate, "heard: eight")
		knows := func(req llmtest.Request) bool { return req.Has("(edited earlier message) seven") }
		if !slices.ContainsFunc(r.model.Requests(), knows) {
			t.Error("the next plan is made without the new text")
		}
	})
	t.Run("the same told twice", func(t *testing.T) {
		r := r.in(t)
		before := r.answers(ada.ID)
		m := r.bot.Say(ada.ID, "nine")
		r.expect(ada.ID, append(before, "heard: nine")...)
		r.bot.Reannounce(ada.ID, m.ID)
		r.bot.Repeat(1)
		r.expect(ada.ID, append(before, "heard: nine")...)
	})
}

// A choice is made once, by its button or its number.
func TestTelegramChoiceIsMadeOnce(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.up()
	user := r.chief.ID
	toast := func(press string) string {
		t.Helper()
		r.await("the press is answered", 10*time.Second, func() bool { return r.bot.Answered(press).Done })
		return r.bot.Answered(press).Text
	}
	bare := func() bool {
		return !slices.ContainsFunc(r.bot.FromBot(user), func(m telegramtest.Shown) bool { return m.ReplyMarkup != nil })
	}

	r.bot.Say(user, "ask me")
	r.expect(user, "Which one?")
	question := r.bot.FromBot(user)[0]
	code := question.ReplyMarkup.Rows[1][0].CallbackData
	if got := toast(r.bot.Press(user, user, question.ID, "coffee")); got != "" {
		t.Errorf("the choice is answered with %q", got)
	}
	r.expect(user, "Which one?", "heard: coffee")
	r.await("the buttons are gone", 10*time.Second, bare)
	if got := toast(r.bot.PressStale(user, user, question.ID, code)); !strings.Contains(got, "answered already") {
		t.Errorf("a second press is answered with %q", got)
	}
	if got := toast(r.bot.PressStale(user, user, question.ID, "nobody made this")); !strings.Contains(got, "does not work any more") {
		t.Errorf("an unknown button is answered with %q", got)
	}

	r.bot.Say(user, "ask me again")
	r.expect(user, "Which one?", "heard: coffee", "Which one?")
	question = r.bot.FromBot(user)[2]
	code = question.ReplyMarkup.Rows[0][0].CallbackData
	r.bot.Say(user, "1")
	r.expect(user, "Which one?", "heard: coffee", "Which one?", "heard: tea")
	if got := toast(r.bot.PressStale(user, user, question.ID, code)); !strings.Contains(got, "answered already") {
		t.Errorf("a button pressed after the number is answered with %q", got)
	}
	r.await("the buttons are gone", 10*time.Second, bare)
	r.bot.Say(user, "2") // no question is open
	r.expect(user, "Which one?", "heard: coffee", "Which one?", "heard: tea", "heard: 2")
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
			r := newTelegram(t, "busy = \""+mode+"\"\ncollect_window = \"300ms\"\n")
			r.channel("telegram", r.bot, r.bot.Token(), "")
			r.up()
			release := r.mind.hold(t, whileReviewing, "work one")
			r.bot.Say(r.chief.ID, "work one")
			r.await("it runs", 10*time.Second, r.mind.thinks(whileReviewing, "work one"))
			r.bot.Say(r.chief.ID, "and two")
			if mode == "collect" {
				r.bot.Say(r.chief.ID, "and three")
			}
			r.taken()
			if mode != "interrupt" { // which does not wait for the model
				release()
			}
			r.settle()
			got := r.answers(r.chief.ID)
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
