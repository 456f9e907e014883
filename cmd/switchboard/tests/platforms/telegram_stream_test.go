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
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := llmtest.Text(llmtest.Plan("count", llmtest.Answer(answer)))
		reply.Pause = 300 * time.Millisecond
		return reply
	})
	r.Up()
	r.Bot.Say(r.Chief.ID, "count")
	var seen []string
	r.Await("the answer is whole", 30*time.Second, func() bool {
		shown := r.Answers(r.Chief.ID)
		if len(shown) == 1 && !slices.Contains(seen, shown[0]) {
			seen = append(seen, shown[0])
		}
		return len(shown) > 0 && strings.HasSuffix(shown[0], "ten")
	})
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
