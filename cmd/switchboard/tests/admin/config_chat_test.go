package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/internal/testkit"
)

// orders has somebody write a command, and returns what the bot answers with a part in it.
func orders(r *programtest.TelegramRig, user int64, command, want string) (id int64, text string) {
	r.T.Helper()
	before := len(r.Bot.FromBot(user))
	r.Bot.Say(user, command)
	r.Await(command+" is answered with "+want, 20*time.Second, func() bool {
		for _, m := range r.Bot.FromBot(user)[before:] {
			if strings.Contains(m.Text, want) {
				id, text = m.ID, m.Text
				return true
			}
		}
		return false
	})
	return id, text
}

// A setting is changed in the chat, refused, and undone by its button.
func TestSettingsAreChangedInTheChat(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	bob := r.Bot.AddUser("Bob")
	r.Admit("user", bob)
	r.Env = append(r.Env, "SWITCHBOARD_AGENT__MAX_PLAN_TASKS=9")
	r.Ready()
	chief := r.Chief.ID
	long := strings.Repeat("long ", 600)
	orders(r, chief, "/config", "Nothing was changed while I run")
	first, text := orders(r, chief, "/config set agent.max_llm_calls 30", "Version 1 of the settings.")
	if !strings.Contains(text, `agent.max_llm_calls is 30, was 40; used at once`) || strings.Contains(text, "lock you out") {
		t.Errorf("%q", text)
	}
	id, _ := orders(r, chief, "/config set router.message_limit 2KB", "This could lock you out (router.message_limit): confirm it here within 60 s")
	r.Counts("router.message_limit", "2KB")
	r.Bot.Press(chief, chief, id, "Confirm")
	r.Await("it is confirmed", 20*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Answers(chief), "\n"), "Confirmed: version 2 stays")
	})
	orders(r, chief, long, "I take up to 2 KB")
	for command, want := range map[string]string{
		"/config set router.message_limit many":                        "router.message_limit: ",
		"/config set router.wokers 3":                                  `did you mean "workers"?`,
		"/config set agent.max_plan_tasks 3":                           "agent.max_plan_tasks: is set by environment SWITCHBOARD_AGENT__MAX_PLAN_TASKS",
		"/config set agent.planner nobody/knows":                       "agent.planner",
		"/config set store.url sqlite:/tmp/x":                          "store.url: cannot be changed",
		"/config set tg.token 1:x":                                     "tg",
		"/config set channels.tg.token secret:there":                   `there is no secret "there"`,
		"/config set channels.tg.token env:HOME":                       "env: and file: can be written in the settings file alone; set it with /secret set NAME",
		"/config set channels.tg.api_url http://127.0.0.1:1/x":         "channels.tg.token would go to another address: it is set in the file or the environment, and so is its address",
		"/config set llm.providers.fake.base_url http://127.0.0.1:1/x": "llm.providers.fake.api_key would go to another address",
		"/config set\nllm.providers.x.api_key file:/proc/self/root" + data(r.Rig, "secret.key") + "\nllm.providers.x.base_url http://127.0.0.1:1/x": "Nothing was changed: I take one setting a message",
		"/config set llm.providers.x.api_key file:/proc/self/root" + data(r.Rig, "secret.key"):                                                      "env: and file: can be written in the settings file alone",
		"/config unset router.workers":     "router.workers: was not changed",
		"/config undo 7":                   "There is no version 7",
		"/config confirm":                  "No change of the settings waits",
		"/config get router.message_limit": `"2KB", used at once (run-time change)`,
		"/config get agent.max_plan_task":  "did you mean agent.max_plan_tasks?",
		"/config get router":               "router.workers = 64",
		"/config diff":                     `router.message_limit is "2KB", was "64KB"`,
		"/config":                          "Chief: router.message_limit",
		"/config what":                     "`set KEY VALUE`",
	} {
		orders(r, chief, command, strings.ReplaceAll(want, "`", ""))
	}
	orders(r, chief, "/config set server.public_url https://bot.example", "used from the next start")
	orders(r, chief, "/config undo", "Version 4")
	r.Bot.Press(chief, chief, first, "Undo")
	r.Await("it is undone", 20*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Answers(chief), "\n"), "agent.max_llm_calls is 40, was 30")
	})
	orders(r, chief, "/config undo 2", "This could lock you out")
	orders(r, chief, "/config set agent.max_llm_calls 20", "Version 6 waits for Chief to confirm it")
	r.Counts("router.message_limit", "64KB")
	orders(r, chief, "/config confirm", "Confirmed: version 6 stays")
	orders(r, chief, "/config set\nchannels.second.kind telegram\nchannels.second.dm = \"some\"", "Nothing was changed: I take one setting a message")
	orders(r, chief, "/config set channels.second.dm = \"some\"", "channels.second.kind: is missing")
	orders(r, chief, long, "heard: long")
	orders(r, bob.ID, "/config", "I do not know /config")
	group := r.Bot.AddGroup("Team", r.Chief)
	r.Bot.SayIn(group.ID, chief, "/config set router.workers 2")
	r.Settle()
	if n := r.Count("SELECT count(*) FROM settings_versions"); n != 6 {
		t.Errorf("%d versions", n)
	}
	if n := r.Count("SELECT count(*) FROM audit WHERE action = 'config.set' AND outcome = 'done' AND person = 'Chief'"); n != 6 {
		t.Errorf("%d rows in the audit log", n)
	}
	r.Stop(10 * time.Second)
}

// A change that locks its admin out undoes itself, also where the program was killed meanwhile;
// one that is confirmed stays.
func TestLockOutUndoesItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, set     string
		kill, confirm bool
	}{
		{name: "killed meanwhile", set: "channels.tg.dm disabled", kill: true},
		{name: "detached", set: "channels.tg.enabled false"},
		{name: "confirmed", set: "channels.tg.dm open", confirm: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := programtest.NewTelegram(t, "")
			r.Channel("tg", r.Bot, r.Bot.Token(), "")
			r.Ready()
			chief, eve := r.Chief.ID, r.Bot.AddUser("Eve").ID
			orders(r, chief, "hello", "heard: hello")
			if !c.confirm {
				orders(r, chief, "/remind in 30 seconds to stretch", "stretch")
			}
			began := time.Now()
			id, _ := orders(r, chief, "/config set "+c.set, "This could lock you out")
			key, value, _ := strings.Cut(c.set, " ")
			r.Counts(key, value)
			if c.confirm {
				r.Bot.Press(chief, chief, id, "Confirm")
				r.Await("it is confirmed", 20*time.Second, func() bool {
					return strings.Contains(strings.Join(r.Answers(chief), "\n"), "Confirmed: version 1 stays")
				})
				orders(r, eve, "hello", "heard: hello")
				time.Sleep(time.Until(began.Add(65 * time.Second)))
				orders(r, eve, "still here", "heard: still here")
				return
			}
			heard := func(text string) bool { return strings.Contains(strings.Join(r.Answers(chief), "\n"), "heard: "+text) }
			time.Sleep(time.Second)
			r.Bot.Say(chief, "away")
			if time.Sleep(30 * time.Second); heard("away") { // the reminder is due meanwhile
				t.Error("the admin is served still")
			}
			if c.kill {
				r.Kill()
				r.Log = &testkit.Log{}
				r.Ready()
				r.Bot.Say(chief, "after the kill")
				if time.Sleep(5 * time.Second); heard("after the kill") && time.Since(began) < time.Minute {
					t.Error("the admin is served again before the time is over")
				}
			}
			for i := 0; !heard("here again "); i++ {
				if time.Since(began) > 3*time.Minute {
					t.Fatalf("the admin is locked out: %q", r.Answers(chief))
				}
				r.Bot.Say(chief, fmt.Sprint("here again ", i))
				time.Sleep(2 * time.Second)
			}
			if took := time.Since(began); took < 50*time.Second {
				t.Errorf("it was undone after %s", took)
			}
			r.Await("the reminder that was due meanwhile comes", 90*time.Second, func() bool {
				said := strings.Join(r.Answers(chief), "\n")
				return strings.Count(said, "Reminder: stretch") == 1 && strings.Contains(said, "(was due on ")
			})
			r.Await("the admin reads why", 20*time.Second, func() bool {
				return strings.Contains(strings.Join(r.Answers(chief), "\n"), "Nobody confirmed Chief's change (version 1), so I took it back")
			})
			loses(r, chief, id)
		})
	}
}

// Both engines of one database go by a change before they would look without being woken, each 10 s.
func TestTwoEnginesGoByAChange(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "ada")
	f.Up()
	for i, limit := range []string{"2KB", "3KB", "4KB"} {
		if out, errs, code := f.Command("config", "set", "router.message_limit", limit); code != 0 {
			t.Fatalf("%s%s", out, errs)
		}
		began := time.Now()
		goBy := func() (n int) {
			type running struct{ Settings []configs.Shown }
			answers, _, _ := api.AskAll[running](t.Context(), f.Dir+"/data", "/v1/config")
			for _, a := range answers {
				for _, s := range a.Settings {
					if s.Key == "router.message_limit" && s.Value == `"`+limit+`"` {
						n++
					}
				}
			}
			return n
		}
		f.Await("both go by it", 20*time.Second, func() bool { return goBy() == 2 })
		if i > 0 { // the first may meet a look
			testkit.Within(t, time.Since(began), 9*time.Second) // looks are 10 s apart
		}
	}
	f.Stop()
}

// What is confirmed in the same breath, before it counts, shows nothing.
func TestConfirmationInTheSameBreathIsNone(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	r.Ready()
	chief := r.Chief.ID
	r.Bot.Say(chief, "/config set channels.tg.dm disabled")
	r.Bot.Say(chief, "/config confirm")
	r.Await("the change is made", 20*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Answers(chief), "\n"), "This could lock you out")
	})
	r.Counts("channels.tg.dm", "disabled")
	r.Settle()
	if n := r.Count("SELECT count(*) FROM settings_versions WHERE confirmed_at IS NOT NULL"); n != 0 {
		t.Error("it stays, and nobody is heard")
	}
	r.Stop(10 * time.Second)
}
