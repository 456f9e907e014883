package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/channels/channelstest"
)

// longAnswer has more parts of 150 runes than [router] max_parts.
var longAnswer = "All of it: " + strings.Repeat("some **more** words of it, ", 90) + "and the end."

// A long answer goes as its first part and a file, where files can be sent.
func TestLongAnswerIsAFile(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.script.Rich, r.script.MaxText, r.script.Files = true, 150, 2
		r.files = r.filed()
		r.brain.think = func(context.Context, agent.Turn) (string, error) { return longAnswer, nil }
		r.start()
		r.platform.Say("c1", "ada", "all of it")
		sent := r.await(2)
		if text := sent[0].Text; !strings.HasPrefix(text, "All of it: some more words") || !strings.HasSuffix(text, "\n\n(The whole answer is in the file below.)") || len(text) > 150 {
			t.Errorf("the first part is %q", text)
		}
		if got := whole(sent[1]); got != longAnswer {
			t.Errorf("the file is %q", got)
		}
		r.settle()
		if sent := r.platform.Sent(); len(sent) != 2 {
			t.Errorf("sent %q", texts(sent))
		}
	})
}

// whole is the text of the file of an answer.
func whole(s channelstest.Sent) string {
	if len(s.Files) != 1 || s.Files[0].Name != "answer.md" || s.Text != "" {
		return fmt.Sprintf("no such part: %+v", s)
	}
	return string(s.Files[0].Data)
}

// Where it cannot be a file it goes in parts, as any answer.
func TestLongAnswerThatCannotBeAFileIsParts(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*rig){
		"no files can be sent": func(r *rig) { r.script.Files = 0 },
		"no limit is set":      func(r *rig) { r.config.MaxParts = 0 },
		"the limit is higher":  func(r *rig) { r.config.MaxParts = 100 },
		"no file can be kept": func(r *rig) {
			files := r.filed()
			files.Room = func(context.Context) error { return errors.New("the disk is nearly full") }
			r.files = files
		},
		"choices stand under it": func(r *rig) { r.agent = asks(longAnswer, "tea", "coffee") },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.script.MaxText, r.script.Files = 100, 2
				r.files = r.filed()
				r.brain.think = func(context.Context, agent.Turn) (string, error) { return longAnswer, nil }
				set(r)
				r.start()
				r.platform.Say("c1", "ada", "ask")
				r.await(1)
				r.settle()
				sent := r.platform.Sent()
				for _, s := range sent {
					if len(s.Files) > 0 || strings.Contains(s.Text, "in the file") {
						t.Errorf("sent %+v", s)
					}
				}
				if all := strings.Join(texts(sent), " "); len(sent) < 12 || !strings.Contains(all, "and the end.") {
					t.Errorf("sent %q", all)
				}
			})
		})
	}
}
