package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
)

// A choice is answered by its number or its words wherever choices are numbered lines.
func TestChoicesInAPipeAreTypedByNumberOrWords(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	const ask = "choose between red, green and blue\n"
	out, errs, code := r.CommandWith(ask+"2\n"+ask+"green\n", "chat")
	if code != 0 || strings.Count(out, "You chose green.") != 2 {
		t.Errorf("exit %d, says %q\n%s", code, out, errs)
	}
}

// A file that was sent is found under its name, and nothing of a failed look for it, or
// of the program's own words for failures, is in the chat.
func TestOfflineModelOnTelegramFindsWhatWasSent(t *testing.T) {
	t.Parallel()
	r := &programtest.TelegramRig{Bot: telegramtest.New(t)}
	r.Rig = programtest.NewRig(t, nil, "[agent]\nplanner = \"offline\"\n[router]\nrate_person = \"off\"\n")
	r.Chief = r.Bot.AddUser("Chief")
	r.Admit("admin", r.Chief)
	r.Channel("telegram", r.Bot, r.Bot.Bot().Token, "")
	r.Up()
	chat, n := r.Chief.ID, 1
	answer := func(says string, want ...string) {
		t.Helper()
		r.Await("an answer to "+says, 30*time.Second, func() bool { return len(r.Answers(chat)) >= n })
		r.Settle()
		got := r.Answers(chat)
		if len(got) != n || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got[n-1], w) }) {
			t.Errorf("%s: the chat shows %q, want %q at the end", says, got, want)
		}
		for _, word := range []string{"planning again", "not_found", "error (", "hint"} {
			if strings.Contains(strings.Join(got, "\n"), word) {
				t.Errorf("%s: %q is in the chat: %q", says, word, got)
			}
		}
		n = len(r.Answers(chat)) + 1
	}
	r.Bot.Post(telegramtest.Post{Chat: chat, Files: []telegramtest.File{{Name: "in.csv", Type: "text/csv", Data: []byte("a,b\n1,2\n")}}})
	answer("a file", "a,b")
	for says, want := range map[string]string{
		"what is in it?": "a,b", "read in.csv": "a,b", "list files": "in.csv", "read out.csv": "there is no out.csv",
	} {
		r.Bot.Say(chat, says)
		answer(says, want)
	}
	r.Bot.Say(chat, "choose between tea and coffee")
	answer("a choice", "Which one")
	r.Bot.Say(chat, "tea")
	answer("the choice made", "You chose tea.")
}
