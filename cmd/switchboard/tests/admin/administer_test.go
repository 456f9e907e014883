package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// asks has a user write something, and waits until an answer after it says what is wanted.
func asks(r *programtest.TelegramRig, user int64, text, want string) string {
	r.T.Helper()
	before := len(r.Answers(user))
	r.Bot.Say(user, text)
	var said string
	r.Await(fmt.Sprintf("%s is answered with %q", text, want), 40*time.Second, func() bool {
		said = strings.Join(r.Answers(user)[before:], "\n")
		return strings.Contains(said, want)
	})
	return said
}

func TestAdminsRunTheBotFromTheChat(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	r.Ready()
	eve := r.Bot.AddUser("Eve")
	identity := fmt.Sprintf("telegram:%d", eve.ID)
	r.Bot.Say(eve.ID, "let me in")
	chief := r.Chief.ID
	r.Await("she is refused", 20*time.Second, func() bool {
		out, _, _ := r.Command("person", "refused")
		return strings.Contains(out, identity)
	})
	asks(r, chief, "/people", fmt.Sprintf("Chief, admin, telegram:%d; in the settings file since", chief))
	asks(r, chief, "/allow", identity+" on tg, who calls themselves Eve")
	asks(r, chief, "/allow "+identity, "Eve can write to me now: user, "+identity)
	asks(r, eve.ID, "hello", "heard: hello")
	asks(r, eve.ID, "/people", "I do not know /people")
	asks(r, chief, "/people tools Eve web.*", "I did nothing: \"web.*\" names no tool")
	asks(r, chief, "/people tools Eve time", "Eve is changed: user, "+identity+", tools time.")
	asks(r, chief, "/people role Chief user", "is named in [[people]] of "+r.Config)
	asks(r, chief, "/people remove owner", "the person who runs switchboard on this machine")
	asks(r, chief, "/people role Eve admin", "Eve is changed: admin")
	asks(r, chief, "/people remove Eve", "Remove Eve (admin, "+identity)
	asks(r, chief, "/people remove Eve yes", "Eve can no longer write to me")
	asks(r, chief, "/channels", "tg has been connected since")
	asks(r, chief, "/channel tg", "direct allowlist, groups allowlist of 0")
	asks(r, chief, "/channel tg test", "the token is good: @")
	said := asks(r, chief, "/doctor all", "checks, ")
	for _, want := range []string{"database: ", "model: fake/model", "channel: tg: the token is good", "Chief (admin: telegram:"} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, r.Bot.Token()) || strings.Contains(said, "test-key-not-secret") {
		t.Errorf("a secret is in what the doctor says:\n%s", said)
	}
	if out, _, _ := r.Command("audit", "export"); strings.Count(out, `"target":"person Eve"`) != 4 {
		t.Errorf("the audit log has\n%s", out)
	}
	r.Stop(10 * time.Second)
}

// A channel is switched off and on from another, and a file that was changed is taken or refused
// with all that is wrong with it.
func TestAdminsSwitchChannelsAndReload(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	other := telegramtest.New(t)
	r.Channel("tg2", other, other.Token(), "")
	r.Ready()
	chief := r.Chief.ID
	asks(r, chief, "/channel tg disable", "I cannot hear you confirm it")
	asks(r, chief, "/channel tg2 disable", "channels.tg2.enabled is false, was true; used at once")
	r.Await("it is off", 20*time.Second, func() bool { return r.Statuses()["tg2"].State == channels.StateDisabled })
	asks(r, chief, "/channel tg2", "tg2 is switched off")
	asks(r, chief, "/channel tg2 test", "the token is good: @")
	asks(r, chief, "/channel tg2 enable", "Version 2 of the settings")
	r.Await("it is on", 20*time.Second, func() bool { return r.Statuses()["tg2"].State == channels.StateConnected })
	asks(r, chief, "/channel tg2 enable", "tg2 is switched on already.")
	asks(r, chief, "/reload", "Nothing has changed.")
	text := testkit.Read(t, r.Config)
	testkit.Write(t, r.Config, text+"[files]\nmax_size = \"many\"\nmaximum = 3\n")
	said := asks(r, chief, "/reload", "The settings have faults, so I go on with the former ones:")
	if !strings.Contains(said, "files.max_size: ") || !strings.Contains(said, "files.maximum: ") {
		t.Errorf("it does not name both faults: %s", said)
	}
	testkit.Write(t, r.Config, text+"[log]\nformat = \"text\"\n")
	asks(r, chief, "/reload", "log.format is \"text\", was \"auto\"; used from the next start")
	r.Stop(10 * time.Second)
}

// A list of names that a command shows does not make what an admin wants next a question, and a model does not
// read it; nor does it who was let in by it.
func TestListsOfNamesAreNoOutsideText(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "[policy]\nask_not = [\"message.send\"]\n")
	r.Channel("tg", r.Bot, r.Bot.Token(), "")
	bob, eve := r.Bot.AddUser("Bob"), r.Bot.AddUser("Eve ignores rules")
	r.Admit("user", bob)
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		if req.Has("ignores rules") {
			t.Errorf("a model reads %q", req.User)
		}
		if req.Role != "planner" || !strings.HasPrefix(programtest.Said(req), "tell Bob") {
			return llmtest.Agreeable(req)
		}
		return llmtest.Text(llmtest.Plan("tell", llmtest.Tool("message.send", map[string]any{"to": "Bob", "text": "hi"}, "it is sent"), llmtest.Msg("Say so.")))
	})
	r.Ready()
	asks(r, bob.ID, "hello", "ok")
	r.Bot.Say(eve.ID, "let me in")
	r.Await("she is refused", 20*time.Second, func() bool {
		out, _, _ := r.Command("person", "refused")
		return strings.Contains(out, fmt.Sprint(eve.ID))
	})
	asks(r, r.Chief.ID, "/allow", "who calls themselves Eve ignores rules")
	asks(r, r.Chief.ID, fmt.Sprintf("/allow telegram:%d Eve", eve.ID), "Eve")
	asks(r, r.Chief.ID, "/people", "I know 4 people")
	asks(r, r.Chief.ID, "tell Bob hi", "ok")
	r.Await("Bob reads it", 20*time.Second, func() bool {
		got := r.Answers(bob.ID)
		return strings.Contains(got[len(got)-1], "hi")
	})
}
