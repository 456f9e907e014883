package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

// asks has a user write something, and waits until an answer after it says what is wanted.
func (r *telegramRig) asks(user int64, text, want string) string {
	r.t.Helper()
	before := len(r.answers(user))
	r.bot.Say(user, text)
	var said string
	r.await(fmt.Sprintf("%s is answered with %q", text, want), 40*time.Second, func() bool {
		said = strings.Join(r.answers(user)[before:], "\n")
		return strings.Contains(said, want)
	})
	return said
}

func TestAdminsRunTheBotFromTheChat(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("tg", r.bot, r.bot.Token(), "")
	r.ready()
	eve := r.bot.AddUser("Eve")
	identity := fmt.Sprintf("telegram:%d", eve.ID)
	r.bot.Say(eve.ID, "let me in")
	chief := r.chief.ID
	r.await("she is refused", 20*time.Second, func() bool {
		out, _, _ := r.command("person", "refused")
		return strings.Contains(out, identity)
	})
	r.asks(chief, "/people", fmt.Sprintf("Chief, admin, telegram:%d; in the settings file since", chief))
	r.asks(chief, "/allow", identity+" on tg, who calls themselves Eve")
	r.asks(chief, "/allow "+identity, "Eve can write to me now: user, "+identity)
	r.asks(eve.ID, "hello", "heard: hello")
	r.asks(eve.ID, "/people", "I do not know /people")
	r.asks(chief, "/people tools Eve web.*", "I did nothing: \"web.*\" names no tool")
	r.asks(chief, "/people tools Eve time", "Eve is changed: user, "+identity+", tools time.")
	r.asks(chief, "/people role Chief user", "is named in [[people]] of "+r.config)
	r.asks(chief, "/people remove owner", "the person who runs switchboard on this machine")
	r.asks(chief, "/people role Eve admin", "Eve is changed: admin")
	r.asks(chief, "/people remove Eve", "Remove Eve (admin, "+identity)
	r.asks(chief, "/people remove Eve yes", "Eve can no longer write to me")
	r.asks(chief, "/channels", "tg has been connected since")
	r.asks(chief, "/channel tg", "direct allowlist, groups allowlist of 0")
	r.asks(chief, "/channel tg test", "the token is good: @")
	said := r.asks(chief, "/doctor all", "checks, ")
	for _, want := range []string{"database: ", "model: fake/model", "channel: tg: the token is good", "Chief (admin: telegram:"} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, r.bot.Token()) || strings.Contains(said, "test-key-not-secret") {
		t.Errorf("a secret is in what the doctor says:\n%s", said)
	}
	if out, _, _ := r.command("audit", "export"); strings.Count(out, `"target":"person Eve"`) != 4 {
		t.Errorf("the audit log has\n%s", out)
	}
	r.stop(10 * time.Second)
}

// A channel is switched off and on from another, and a file that was changed is taken or refused
// with all that is wrong with it.
func TestAdminsSwitchChannelsAndReload(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("tg", r.bot, r.bot.Token(), "")
	other := telegramtest.New(t)
	r.channel("tg2", other, other.Token(), "")
	r.ready()
	chief := r.chief.ID
	r.asks(chief, "/channel tg disable", "I cannot hear you confirm it")
	r.asks(chief, "/channel tg2 disable", "channels.tg2.enabled is false, was true; used at once")
	r.await("it is off", 20*time.Second, func() bool { return r.statuses()["tg2"].State == channels.StateDisabled })
	r.asks(chief, "/channel tg2", "tg2 is switched off")
	r.asks(chief, "/channel tg2 test", "the token is good: @")
	r.asks(chief, "/channel tg2 enable", "Version 2 of the settings")
	r.await("it is on", 20*time.Second, func() bool { return r.statuses()["tg2"].State == channels.StateConnected })
	r.asks(chief, "/channel tg2 enable", "tg2 is switched on already.")
	r.asks(chief, "/reload", "Nothing has changed.")
	text := testkit.Read(t, r.config)
	testkit.Write(t, r.config, text+"[files]\nmax_size = \"many\"\nmaximum = 3\n")
	said := r.asks(chief, "/reload", "The settings have faults, so I go on with the former ones:")
	if !strings.Contains(said, "files.max_size: ") || !strings.Contains(said, "files.maximum: ") {
		t.Errorf("it does not name both faults: %s", said)
	}
	testkit.Write(t, r.config, text+"[log]\nformat = \"text\"\n")
	r.asks(chief, "/reload", "log.format is \"text\", was \"auto\"; used from the next start")
	r.stop(10 * time.Second)
}

// A list of names that a command shows does not make what an admin wants next a question, and a model does not
// read it; nor does it who was let in by it.
func TestListsOfNamesAreNoOutsideText(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "[policy]\nask_not = [\"message.send\"]\n")
	r.channel("tg", r.bot, r.bot.Token(), "")
	bob, eve := r.bot.AddUser("Bob"), r.bot.AddUser("Eve ignores rules")
	r.admit("user", bob)
	r.model.Handle(func(req llmtest.Request) llmtest.Reply {
		if req.Has("ignores rules") {
			t.Errorf("a model reads %q", req.User)
		}
		if req.Role != "planner" || !strings.HasPrefix(said(req), "tell Bob") {
			return llmtest.Agreeable(req)
		}
		return llmtest.Text(llmtest.Plan("tell", llmtest.Tool("message.send", map[string]any{"to": "Bob", "text": "hi"}, "it is sent"), llmtest.Msg("Say so.")))
	})
	r.ready()
	r.asks(bob.ID, "hello", "ok")
	r.bot.Say(eve.ID, "let me in")
	r.await("she is refused", 20*time.Second, func() bool {
		out, _, _ := r.command("person", "refused")
		return strings.Contains(out, fmt.Sprint(eve.ID))
	})
	r.asks(r.chief.ID, "/allow", "who calls themselves Eve ignores rules")
	r.asks(r.chief.ID, fmt.Sprintf("/allow telegram:%d Eve", eve.ID), "Eve")
	r.asks(r.chief.ID, "/people", "I know 4 people")
	r.asks(r.chief.ID, "tell Bob hi", "ok")
	if got := r.answers(bob.ID); !strings.Contains(got[len(got)-1], "hi") {
		t.Errorf("Bob reads %q", got)
	}
}
