package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
)

// An answer is seen in the chat while the model writes it, in one message that the
// finished answer takes the place of.
func TestTelegramAnswerGrows(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	const answer = "one **two** three four five six seven eight nine ten"
	r.model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := llmtest.Text(llmtest.Plan("count", llmtest.Answer(answer)))
		reply.Pause = 300 * time.Millisecond
		return reply
	})
	r.up()
	r.bot.Say(r.chief.ID, "count")
	var seen []string
	r.await("the answer is whole", 30*time.Second, func() bool {
		shown := r.answers(r.chief.ID)
		if len(shown) == 1 && !slices.Contains(seen, shown[0]) {
			seen = append(seen, shown[0])
		}
		return len(shown) > 0 && strings.HasSuffix(shown[0], "ten")
	})
	plain := strings.ReplaceAll(answer, "**", "")
	r.expect(r.chief.ID, plain)
	if len(seen) < 2 {
		t.Errorf("it came as one: %q", seen)
	}
	for _, text := range seen {
		if !strings.HasPrefix(plain, strings.TrimRight(text, " *…")) {
			t.Errorf("the chat showed %q", text)
		}
	}
	if all := r.bot.History(r.chief.ID); len(all) != 2 {
		t.Errorf("%d messages were ever in the chat, want the question and the answer", len(all))
	}
}
