package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels/channelstest"
	"switchboard/router/routertest"
)

// longAnswer has more parts of 150 runes than [router] max_parts.
var longAnswer = "All of it: " + strings.Repeat("some **more** words of it, ", 90) + "and the end."

// A long answer goes as its first part and a file, where files can be sent.
func TestLongAnswerIsAFile(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.MaxText, r.Script.Files = true, 150, 2
		r.Files = r.Filed()
		r.Brain.Think = func(context.Context, agent.Turn) (string, error) { return longAnswer, nil }
		r.Start()
		r.Platform.Say("c1", "ada", "all of it")
		sent := r.Await(2)
		if text := sent[0].Text; !strings.HasPrefix(text, "All of it: some more words") || !strings.HasSuffix(text, "\n\n(The whole answer is in the file below.)") || len(text) > 150 {
			t.Errorf("the first part is %q", text)
		}
		if got := whole(sent[1]); got != longAnswer {
			t.Errorf("the file is %q", got)
		}
		r.Settle()
		if sent := r.Platform.Sent(); len(sent) != 2 {
			t.Errorf("sent %q", routertest.Texts(sent))
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
		"no files can be sent": func(r *rig) { r.Script.Files = 0 },
		"no limit is set":      func(r *rig) { r.Config.MaxParts = 0 },
		"the limit is higher":  func(r *rig) { r.Config.MaxParts = 100 },
		"no file can be kept": func(r *rig) {
			files := r.Filed()
			files.Room = func(context.Context) error { return errors.New("the disk is nearly full") }
			r.Files = files
		},
		"choices stand under it": func(r *rig) { r.Agent = routertest.Asks(longAnswer, "tea", "coffee") },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Script.MaxText, r.Script.Files = 100, 2
				r.Files = r.Filed()
				r.Brain.Think = func(context.Context, agent.Turn) (string, error) { return longAnswer, nil }
				set(r)
				r.Start()
				r.Platform.Say("c1", "ada", "ask")
				r.Await(1)
				r.Settle()
				sent := r.Platform.Sent()
				for _, s := range sent {
					if len(s.Files) > 0 || strings.Contains(s.Text, "in the file") {
						t.Errorf("sent %+v", s)
					}
				}
				if all := strings.Join(routertest.Texts(sent), " "); len(sent) < 12 || !strings.Contains(all, "and the end.") {
					t.Errorf("sent %q", all)
				}
			})
		})
	}
}

// The first part of a long answer takes the draft's place, the others follow it, the
// last one with the buttons, files behind.
func TestLongAnswerTakesTheDraftsPlace(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.MaxText, r.Script.Buttons, r.Script.Files = 100, true, 2
		r.Files = routertest.Shelf{"1": "one"}
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			return errors.Join(p.Plan(0, "Tidy", "sweep"), p.Work(0, 0, 4*time.Second), p.Commit(p.Ctx, agent.Step{
				Say: []agent.Say{{Text: strings.Repeat("many words ", 20) + "[file](attachment:1)", Choices: []string{"yes", "no"}}},
				End: &agent.End{State: "done", Outcome: "asked"},
			}))
		})
		r.Start()
		r.Platform.Say("c1", "ada", "tidy")
		r.Settled(4)
		sent := r.Platform.Sent()
		if len(sent) != 4 || sent[0].Edits == 0 || sent[1].Edits != 0 {
			t.Fatalf("shown %+v", sent)
		}
		for i, s := range sent {
			if (len(s.Buttons) == 2) != (i == 2) || (len(s.Files) == 1) != (i == 3) {
				t.Errorf("part %d: %+v", i, s)
			}
		}
	})
}
