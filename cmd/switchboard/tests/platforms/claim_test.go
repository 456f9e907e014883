package platforms_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// From a bot that knows nobody to an admin's first answer; the code is good once.
func TestClaimMakesTheFirstAdmin(t *testing.T) {
	t.Parallel()
	r := &programtest.TelegramRig{Slow: programtest.NewSlowModel(), Bot: telegramtest.New(t)}
	r.Rig = programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(r.Slow.Think)
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	eve, mallory := r.Bot.AddUser("Eve"), r.Bot.AddUser("Mallory")
	r.Ready()
	found := regexp.MustCompile(`to be an admin, send /claim ([A-Z2-7-]{14}) on [a-z, ]*telegram to the bot`).FindStringSubmatch(r.Log.String())
	if found == nil {
		t.Fatal("the log names no code")
	}
	code := found[1]
	r.Bot.Say(mallory.ID, "/claim AAAA-BBBB-CCCC")
	r.Bot.Say(eve.ID, "/start "+code) // what a link to the bot sends
	r.Await("she is welcome", 20*time.Second, func() bool { return len(r.Answers(eve.ID)) == 1 })
	if got := r.Answers(eve.ID)[0]; !strings.HasPrefix(got, "Welcome! You are an admin") {
		t.Errorf("%q", got)
	}
	r.Bot.Say(eve.ID, "hello")
	r.Bot.Say(mallory.ID, "/claim "+code)
	r.Bot.Say(mallory.ID, "hello")
	r.Await("she is answered", 20*time.Second, func() bool { return len(r.Answers(eve.ID)) == 2 })
	r.Prints("person list", 0, "Eve", "admin")
	r.Stop(10 * time.Second)

	r.Log = &testkit.Log{}
	r.Ready()
	if r.Log.Has("to be an admin, send") || r.Log.Has("nobody may write on this channel yet\",\"channel\":\"telegram") {
		t.Error("it says that there is no admin yet")
	}
	r.Bot.Say(eve.ID, "again")
	r.Await("she is answered after a restart", 20*time.Second, func() bool { return len(r.Answers(eve.ID)) == 3 })
	second, _, exit := r.Command("person", "claim")
	second = strings.TrimSuffix(second, "\n")
	if exit != 0 || !regexp.MustCompile(`^[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}$`).MatchString(second) || second == code {
		t.Fatalf("exit %d, %q", exit, second)
	}
	if out, _, _ := r.CommandWith("/claim "+second+"\n", "chat"); !strings.Contains(out, "in a direct chat on a chat platform") {
		t.Errorf("the terminal answers %q", out)
	}
	r.Bot.Say(eve.ID, "/claim "+code)
	r.Await("the second use is refused", 20*time.Second, func() bool { return len(r.Answers(eve.ID)) == 4 })
	r.Settle()
	want := []string{"heard: hello", "heard: again", "That code is no longer valid"}
	for i, got := range r.Answers(eve.ID)[1:] {
		if !strings.HasPrefix(got, want[i]) {
			t.Errorf("answer %d: %q", i+1, got)
		}
	}
	if got := r.Answers(mallory.ID); len(got) != 0 {
		t.Errorf("a stranger reads %q", got)
	}
}
