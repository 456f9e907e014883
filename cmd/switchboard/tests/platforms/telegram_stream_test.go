package platforms_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// An answer is seen in the chat while the model writes it, in one message that the
// finished answer takes the place of.
func TestTelegramAnswerGrows(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	const answer = "one **two** three four five six seven eight nine ten"
	plan, rest := llmtest.Plan("count", llmtest.Answer(answer)), make(chan struct{})
	at := strings.Index(plan, "four") // the rest comes once this is seen
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: plan, Pieces: append([]string{plan[:at]}, strings.SplitAfter(plan[at:], " ")...), Pause: 10 * time.Millisecond, HoldAt: 1, Hold: rest}
	})
	r.Up()
	r.Bot.Say(r.Chief.ID, "count")
	var seen []string
	sees := func(what string) func() bool {
		return func() bool {
			shown := r.Answers(r.Chief.ID)
			if len(shown) == 1 && !slices.Contains(seen, shown[0]) {
				seen = append(seen, shown[0])
			}
			return len(shown) > 0 && strings.Contains(shown[0], what)
		}
	}
	r.Await("the answer grows", 30*time.Second, sees("three"))
	close(rest)
	r.Await("the answer is whole", 30*time.Second, sees("ten"))
	plain := strings.ReplaceAll(answer, "**", "")
	r.Expect(r.Chief.ID, plain)
	if len(seen) < 2 {
		t.Errorf("it came as one: %q", seen)
	}
	for _, text := range seen {
		if !strings.HasPrefix(plain, strings.TrimRight(text, " *…")) {
			t.Errorf("the chat showed %q", text)
		}
	}
	if all := r.Bot.History(r.Chief.ID); len(all) != 2 {
		t.Errorf("%d messages were ever in the chat, want the question and the answer", len(all))
	}
}
