package admin_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// onBoth runs a test of Telegram's rig on each database, with the program up.
func onBoth(t *testing.T, more string, test func(t *testing.T, r *programtest.TelegramRig), env ...string) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := ""
			if kind == "postgres" {
				store = fmt.Sprintf("[store]\nurl = %q\n", storetest.MigratedURL(t))
			}
			r := programtest.NewTelegram(t, more)
			r.Env = append(r.Env, env...)
			r.Append(store)
			r.Channel("tg", r.Bot, r.Bot.Token(), "")
			r.Ready()
			test(t, r)
			r.Stop(10 * time.Second)
		})
	}
}

// A number that the chat says of something made is the one under which it is kept.
func TestNumbersThatAreSaidAreKept(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *programtest.TelegramRig) {
		chief := r.Chief.ID
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
			before := len(r.Answers(chief))
			r.Bot.Press(chief, chief, id, "Change")
			said := ""
			r.Await("it is asked what to change", 20*time.Second, func() bool {
				said = strings.Join(r.Answers(chief)[before:], "\n")
				return strings.Contains(said, "When should it be?")
			})
			return number(said, "/jobs")
		}
		for command, text := range map[string]string{"/remind in 3 hours to water": "water", "/jobs add in 4 hours count the stars": "count the stars"} {
			id, _ := orders(r, chief, command, text)
			orders(r, chief, "/jobs "+changed(id), text)
		}
		orders(r, chief, "/remind in 1 second to stretch", "stretch")
		came := func() (id int64) {
			for _, m := range r.Bot.FromBot(chief) {
				if strings.Contains(m.Text, "Reminder: stretch") {
					id = m.ID
				}
			}
			return id
		}
		r.Await("the reminder", 20*time.Second, func() bool { return came() != 0 })
		r.Bot.Press(chief, chief, came(), "1 h")
		var snoozed int64
		r.Await("it is snoozed", 20*time.Second, func() bool {
			for _, m := range r.Bot.FromBot(chief) {
				if strings.Contains(m.Text, "I'll remind you again") {
					snoozed = m.ID
				}
			}
			return snoozed != 0
		})
		orders(r, chief, "/jobs "+changed(snoozed), "stretch")

		id, said := orders(r, chief, "/config set agent.max_llm_calls 30", "of the settings")
		orders(r, chief, "/config", number(said, "Version")+", ")
		r.Bot.Press(chief, chief, id, "Undo")
		r.Await("it is undone", 20*time.Second, func() bool {
			return strings.Contains(strings.Join(r.Answers(chief), "\n"), "agent.max_llm_calls is 40, was 30")
		})
	})
}

// /config undo takes back the newest change that stands, again and again, and never what was
// an undo.
func TestUndoTwiceTakesBackTwoChanges(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *programtest.TelegramRig) {
		chief := r.Chief.ID
		orders(r, chief, "/config undo", "Nothing was changed at run time")
		for _, n := range []string{"30", "31", "32"} {
			orders(r, chief, "/config set agent.max_llm_calls "+n, "agent.max_llm_calls is "+n)
		}
		orders(r, chief, "/config undo", "agent.max_llm_calls is 31, was 32")
		orders(r, chief, "/config undo", "agent.max_llm_calls is 30, was 31")
		orders(r, chief, "/config set agent.max_plan_tasks 5", "agent.max_plan_tasks is 5")
		orders(r, chief, "/config undo", "agent.max_plan_tasks is")
		orders(r, chief, "/config undo", "agent.max_llm_calls is 40, was 30")
		orders(r, chief, "/config undo", "is left to take back")
	})
}

// A reminder that the agent made has the buttons of one made by a command: it is changed, cancelled, and asks where its
// person is.
func TestWhatTheAgentMadeHasItsButtons(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *programtest.TelegramRig) {
		chief := r.Chief.ID
		buttons := func(id int64) (list []string) {
			for _, m := range r.Bot.FromBot(chief) {
				if m.ID == id && m.ReplyMarkup != nil {
					for _, row := range m.ReplyMarkup.Rows {
						for _, b := range row {
							list = append(list, b.Text)
						}
					}
				}
			}
			return list
		}
		id, _ := orders(r, chief, "/remind tomorrow at 9 to write", "write")
		want := buttons(id)
		orders(r, chief, "remind me tomorrow at 9 to water", "water")
		r.Await("it has those buttons", 20*time.Second, func() bool { // first its plan is shown, where it takes long
			shown := r.Bot.FromBot(chief)
			id = shown[len(shown)-1].ID
			return slices.Equal(buttons(id), want)
		})
		if !slices.Contains(want, "London") {
			t.Errorf("its buttons are %q", want)
		}
		r.Bot.Press(chief, chief, id, "Change")
		r.Await("it is asked when", 20*time.Second, func() bool { return strings.Contains(strings.Join(r.Answers(chief), "\n"), "When should it be?") })
		orders(r, chief, "tomorrow at 10", "10:00 (UTC): water.")
		r.Bot.Press(chief, chief, id, "London")
		r.Await("the jobs are moved", 20*time.Second, func() bool { return strings.Contains(strings.Join(r.Answers(chief), "\n"), "I moved 2 jobs to it.") })
		r.Bot.Press(chief, chief, id, "Cancel")
		r.Await("it is cancelled", 20*time.Second, func() bool {
			return strings.Contains(strings.Join(r.Answers(chief), "\n"), ": water") && strings.Contains(strings.Join(r.Answers(chief), "\n"), "I removed reminder")
		})
	}, "SWITCHBOARD_AGENT__PLANNER=offline", "SWITCHBOARD_AGENT__WORKER=offline", "SWITCHBOARD_AGENT__REVIEWER=offline")
}
