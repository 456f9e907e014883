package admin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// Settings are changed on the command line: with no engine, and beside one, which goes by them at
// once; bad ones are refused with all that is wrong; the file keeps its comments when they are saved.
func TestSettingsAreChangedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "stop_words = [\"stop\"] # a comment\n")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	r.Env = append(r.Env, "SWITCHBOARD_AGENT__MAX_PLAN_TASKS=9")
	prints := func(code int, want, line string) {
		t.Helper()
		out, errs, got := r.Command(strings.Fields(line)...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %d, %q", line, got, out, errs, code, want)
		}
	}
	prints(0, "router.message_limit is \"2KB\", was \"64KB\"; it is used at once", "config set router.message_limit 2KB")
	prints(0, "run-time change", "config show")
	r.Ready()
	prints(0, "\"2KB\"", "config get router.message_limit")
	r.Bot.Say(r.Chief.ID, strings.Repeat("long ", 600))
	r.Await("it is too long", 20*time.Second, func() bool { return strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "I take up to 2 KB") })

	prints(0, "was \"2KB\"", "config set router.message_limit 8KB")
	r.Await("it is taken", 20*time.Second, func() bool {
		r.Bot.Say(r.Chief.ID, strings.Repeat("long ", 600))
		r.Settle()
		return strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "heard: long")
	})
	prints(2, "router.message_limit: ", "config set router.message_limit many")
	prints(2, "did you mean \"workers\"?", "config set router.wokers 3")
	prints(2, "agent.max_plan_tasks: is set by environment SWITCHBOARD_AGENT__MAX_PLAN_TASKS", "config set agent.max_plan_tasks 3")
	prints(2, "secret:NAME", "config set channels.tg.token 12345:abcdefghijklmnopqrstuvwxyzABCDEFG")
	prints(0, "router.message_limit  \"8KB\"  \"64KB\"", "config diff")
	prints(0, "Taken back", "config undo")
	r.Counts("router.message_limit", "\"2KB\"")
	prints(1, "changed again since: router.message_limit", "config undo 2")
	prints(1, "No change of the settings waits", "config confirm")
	prints(0, "undoes 2", "config versions")
	prints(0, "Version 4", "config set router.stop_words halt,basta")
	prints(0, "in the file: router.message_limit, router.stop_words", "config save")
	text, err := os.ReadFile(r.Config)
	if err != nil || !strings.Contains(string(text), `stop_words = ["halt", "basta"] # a comment`) || !strings.Contains(string(text), `message_limit = "2KB"`) {
		t.Errorf("%v: the file has\n%s", err, text)
	}
	if out, _, _ := r.Command("config", "diff"); strings.Contains(out, "router") {
		t.Errorf("the file and what counts differ: %s", out)
	}
	r.Counts("router.stop_words", "[\"halt\", \"basta\"]")

	second := telegramtest.New(t) // a channel is several settings, which go together
	testkit.Write(t, filepath.Join(r.Dir, "token"), second.Token())
	if out, errs, code := r.CommandWith(second.Token(), "secret", "set", "second"); code != 0 {
		t.Fatal(out, errs)
	}
	prints(2, "env: and file: can be written in the settings file alone", "config set channels.second.kind telegram channels.second.token file:token channels.second.api_url "+second.URL())
	prints(2, "channels.tg.token would go to another address", "config set channels.tg.api_url "+second.URL())
	prints(2, "has no value", "config set channels.second.kind telegram channels.second.token")
	prints(0, "channels.second.enabled is true", "config set channels.second.kind telegram channels.second.token secret:second channels.second.api_url "+second.URL())
	prints(2, "channels.second.token would go to another address, so it has to be set again with it", "config set channels.second.api_url http://127.0.0.1:1/")
	r.Await("it is connected", 20*time.Second, func() bool { return r.Statuses()["second"].State == channels.StateConnected })
	r.Stop(10 * time.Second)
	r.Log = &testkit.Log{}
	r.Ready()
	if !r.Log.Has(`"channels":3`) {
		t.Errorf("it starts without what was changed: %s", r.Log)
	}
	r.Stop(10 * time.Second)
}

// What the file does not take any more keeps nothing from starting: the newest version that can be
// used counts, the admins are told, and another change mends it.
func TestStoredSettingsThatCannotBeUsedAnyMore(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	const alias = "[llm.models.smart]\nmodel = \"fake/model\"\n"
	r.Append(alias)
	r.Ready()
	orders(r, r.Chief.ID, "hello", "heard: hello")
	for _, line := range []string{"config set router.workers 7", "config set agent.reviewer smart", "config set router.max_parts 5"} {
		if out, errs, code := r.Command(strings.Fields(line)...); code != 0 {
			t.Fatalf("%s: %s%s", line, out, errs)
		}
	}
	r.Kill()
	text, err := os.ReadFile(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, r.Config, strings.Replace(string(text), alias, "", 1))
	if out, errs, code := r.Command("config", "check"); code != 0 || !strings.Contains(errs, "version 3 of the settings, changed at run time, cannot be used") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	r.Log = &testkit.Log{}
	r.Ready()
	orders(r, r.Chief.ID, "still here", "heard: still here")
	if !r.Log.Has("settings that were changed at run time cannot be used") {
		t.Error("the log does not say so")
	}
	r.Await("the admin reads it", 20*time.Second, func() bool {
		return strings.Contains(strings.Join(r.Answers(r.Chief.ID), "\n"), "version 3 of the settings, changed at run time, cannot be used any more, so version 1 is used in its place")
	})
	r.Prints("config get router.workers", 0, "7")
	r.Prints("config get router.max_parts", 0, "10")
	orders(r, r.Chief.ID, "/config unset agent.reviewer", "Version 4 of the settings.") // which mends the newest
	r.Await("what it had changed counts again", 20*time.Second, func() bool {
		out, _, _ := r.Command("config", "get", "router.max_parts")
		return strings.Contains(out, " 5 ")
	})

	testkit.Write(t, r.Config, string(text)) // the same while it runs
	r.Await("the alias is there again", 20*time.Second, func() bool {
		_, _, code := r.Command("config", "set", "agent.reviewer", "smart")
		return code == 0
	})
	testkit.Write(t, r.Config, strings.Replace(string(text), alias, "", 1))
	r.Await("it is passed over", 20*time.Second, func() bool { return r.Log.Has(`"version":5,"used":4`) })
	orders(r, r.Chief.ID, "/config set router.queue_per_session 9", "Version 6 of the settings.") // of the one that is used
	r.Await("the change counts", 20*time.Second, func() bool {
		out, _, _ := r.Command("config", "get", "router.queue_per_session")
		return strings.Contains(out, " 9 ")
	})
	r.Prints("config get router.max_parts", 0, "5")
	r.Stop(10 * time.Second)
	r.Log = &testkit.Log{}
	r.Ready()
	if r.Log.Has("cannot be used") {
		t.Error("it was not mended")
	}
	r.Prints("config get router.workers", 0, "7")
	r.Stop(10 * time.Second)
}
