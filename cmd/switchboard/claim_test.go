package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

// From a bot that knows nobody to an admin's first answer; the code is good once.
func TestClaimMakesTheFirstAdmin(t *testing.T) {
	t.Parallel()
	r := &telegramRig{mind: newSlowMind(), bot: telegramtest.New(t)}
	r.rig = newRig(t, nil, "[agent]\nplanner = \"fake/model\"\n")
	r.model.Handle(r.mind.think)
	r.channel("telegram", r.bot, r.bot.Token(), "")
	eve, mallory := r.bot.AddUser("Eve"), r.bot.AddUser("Mallory")
	r.ready()
	found := regexp.MustCompile(`to be an admin, send /claim ([A-Z2-7-]{14}) on [a-z, ]*telegram to the bot`).FindStringSubmatch(r.log.String())
	if found == nil {
		t.Fatal("the log names no code")
	}
	code := found[1]
	r.bot.Say(mallory.ID, "/claim AAAA-BBBB-CCCC")
	r.bot.Say(eve.ID, "/start "+code) // what a link to the bot sends
	r.await("she is welcome", 20*time.Second, func() bool { return len(r.answers(eve.ID)) == 1 })
	if got := r.answers(eve.ID)[0]; !strings.HasPrefix(got, "Welcome! You are an admin") {
		t.Errorf("%q", got)
	}
	r.bot.Say(eve.ID, "hello")
	r.bot.Say(mallory.ID, "/claim "+code)
	r.bot.Say(mallory.ID, "hello")
	r.await("she is answered", 20*time.Second, func() bool { return len(r.answers(eve.ID)) == 2 })
	r.prints("person list", 0, "Eve", "admin")
	r.stop(10 * time.Second)

	r.log = &testkit.Log{}
	r.ready()
	if r.log.Has("to be an admin, send") || r.log.Has("nobody may write on this channel yet\",\"channel\":\"telegram") {
		t.Error("it says that there is no admin yet")
	}
	r.bot.Say(eve.ID, "again")
	r.await("she is answered after a restart", 20*time.Second, func() bool { return len(r.answers(eve.ID)) == 3 })
	second, _, exit := r.command("person", "claim")
	second = strings.TrimSuffix(second, "\n")
	if exit != 0 || !regexp.MustCompile(`^[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}$`).MatchString(second) || second == code {
		t.Fatalf("exit %d, %q", exit, second)
	}
	if out, _, _ := r.commandWith("/claim "+second+"\n", "chat"); !strings.Contains(out, "in a direct chat on a chat platform") {
		t.Errorf("the terminal answers %q", out)
	}
	r.bot.Say(eve.ID, "/claim "+code)
	r.await("the second use is refused", 20*time.Second, func() bool { return len(r.answers(eve.ID)) == 4 })
	want := []string{"heard: hello", "heard: again", "That code is no longer valid"}
	for i, got := range r.answers(eve.ID)[1:] {
		if !strings.HasPrefix(got, want[i]) {
			t.Errorf("answer %d: %q", i+1, got)
		}
	}
	r.settle()
	if got := r.answers(mallory.ID); len(got) != 0 {
		t.Errorf("a stranger reads %q", got)
	}
}
