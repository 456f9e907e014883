package platforms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// An answer of 60 KB is one message and one document with all of it.
func TestTelegramLongAnswerIsAFile(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	var b strings.Builder
	b.WriteString("# All of it\n\n")
	for i := 0; b.Len() < 60_000; i++ {
		fmt.Fprintf(&b, "%d. Take `df -h`, **then** look at _what_ is there: it goes on and on.\n", i+1)
	}
	long := b.String() + "\nThe end."
	r.Model.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text(llmtest.Plan("say it", llmtest.Answer(long))) })
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Up()
	r.Bot.Say(r.Chief.ID, "all of it")
	r.Await("it is answered", 20*time.Second, func() bool { return len(r.Bot.FromBot(r.Chief.ID)) > 1 })
	r.Settle()
	shown := r.Bot.FromBot(r.Chief.ID)
	if len(shown) != 2 || shown[1].Document == nil {
		t.Fatalf("the chat shows %d messages of the bot", len(shown))
	}
	if text := shown[0].Text; !strings.HasPrefix(text, "All of it\n") || !strings.HasSuffix(text, "\n\n(The whole answer is in the file below.)") {
		t.Errorf("it begins with %q", text)
	}
	file, ok := r.Bot.File(shown[1].Document.FileID)
	if !ok || file.Name != "answer.md" || string(file.Data) != long {
		t.Errorf("the file %s has %d bytes, want %d", file.Name, len(file.Data), len(long))
	}
}
