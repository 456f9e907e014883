package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/store/storetest"
)

// onBoth runs a test of Telegram's rig on each database, with the program up.
func onBoth(t *testing.T, more string, test func(t *testing.T, r *telegramRig)) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := ""
			if kind == "postgres" {
				store = fmt.Sprintf("[store]\nurl = %q\n", storetest.PostgresURL(t))
			}
			r := newTelegram(t, more)
			r.append(store)
			r.channel("tg", r.bot, r.bot.Token(), "")
			r.ready()
			test(t, r)
			r.stop(10 * time.Second)
		})
	}
}

// A number that the chat says of something made is the one under which it is kept.
func TestNumbersThatAreSaidAreKept(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *telegramRig) {
		chief := r.chief.ID
		number := func(text, of string) string {
			t.Helper()
			m := regexp.MustCompile(of + ` (\d+)`).FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("%q names no %s", text, of)
			}
			return m[1]
		}
		changed := func(id int64) string { // by its button
			t.Helper()
			before := len(r.answers(chief))
			r.bot.Press(chief, chief, id, "Change")
			said := ""
			r.await("it is asked what to change", 20*time.Second, func() bool {
				said = strings.Join(r.answers(chief)[before:], "\n")
				return strings.Contains(said, "When should it be?")
			})
			return number(said, "/jobs")
		}
		for command, text := range map[string]string{"/remind in 3 hours to water": "water", "/jobs add in 4 hours count the stars": "count the stars"} {
			id, _ := r.orders(chief, command, text)
			r.orders(chief, "/jobs "+changed(id), text)
		}
		r.orders(chief, "/remind in 1 second to stretch", "stretch")
		came := func() (id int64) {
			for _, m := range r.bot.FromBot(chief) {
				if strings.Contains(m.Text, "Reminder: stretch") {
					id = m.ID
				}
			}
			return id
		}
		r.await("the reminder", 20*time.Second, func() bool { return came() != 0 })
		r.bot.Press(chief, chief, came(), "1 h")
		var snoozed int64
		r.await("it is snoozed", 20*time.Second, func() bool {
			for _, m := range r.bot.FromBot(chief) {
				if strings.Contains(m.Text, "I'll remind you again") {
					snoozed = m.ID
				}
			}
			return snoozed != 0
		})
		r.orders(chief, "/jobs "+changed(snoozed), "stretch")

		id, said := r.orders(chief, "/config set agent.max_llm_calls 30", "of the settings")
		r.orders(chief, "/config", number(said, "Version")+", ")
		r.bot.Press(chief, chief, id, "Undo")
		r.await("it is undone", 20*time.Second, func() bool {
			return strings.Contains(strings.Join(r.answers(chief), "\n"), "agent.max_llm_calls is 40, was 30")
		})
	})
}

// /config undo takes back the newest change that stands, again and again, and never what was
// an undo.
func TestUndoTwiceTakesBackTwoChanges(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *telegramRig) {
		chief := r.chief.ID
		r.orders(chief, "/config undo", "Nothing was changed at run time")
		for _, n := range []string{"30", "31", "32"} {
			r.orders(chief, "/config set agent.max_llm_calls "+n, "agent.max_llm_calls is "+n)
		}
		r.orders(chief, "/config undo", "agent.max_llm_calls is 31, was 32")
		r.orders(chief, "/config undo", "agent.max_llm_calls is 30, was 31")
		r.orders(chief, "/config set agent.max_plan_tasks 5", "agent.max_plan_tasks is 5")
		r.orders(chief, "/config undo", "agent.max_plan_tasks is")
		r.orders(chief, "/config undo", "agent.max_llm_calls is 40, was 30")
		r.orders(chief, "/config undo", "is taken back already")
	})
}
