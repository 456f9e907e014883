package settings_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/router/routertest"
)

// What is applied counts from the next event on; a turn that runs goes on.
func TestSettingsAppliedWhileATurnRuns(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		long := strings.Repeat("long ", 300)
		r.Config.MessageLimit, r.Config.Workers = 1<<10, 1
		goOn := make(chan struct{})
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "wait" {
				select {
				case <-goOn:
				case <-ctx.Done():
				}
			}
			return "answer to " + turn.Message.Text[:4], nil
		}
		r.Start()
		r.Begins("c1", "ada", "wait")
		r.Platform.Say("c2", "bob", long)
		r.Mentions(1, "I take up to 1 KB")

		r.Config.MessageLimit, r.Config.Workers, r.Config.StopWords = 4<<10, 8, []string{"genug"}
		if err := r.Router.Apply(r.Settings()); err != nil {
			t.Fatal(err)
		}
		r.Platform.Say("c2", "bob", long)
		r.Shows(2, "answer to long") // the only worker that there was is busy still
		r.Platform.Say("c1", "ada", "stop")
		r.Until("it is no stop word any more", func() bool { return len(r.Turns()) == 3 })
		close(goOn)
		r.Until("both are answered", func() bool {
			sent := routertest.Texts(r.Platform.Sent())
			return slices.Contains(sent, "answer to wait") && slices.Contains(sent, "answer to stop")
		})

		r.Config.RatePerson = "1/h"
		if err := r.Router.Apply(r.Settings()); err != nil {
			t.Fatal(err)
		}
		r.Platform.Say("c3", "ada", "more")
		r.Shows(5, "answer to more")
		r.Platform.Say("c3", "ada", "even more")
		r.Mentions(6, "I read 1 message an hour")

		r.Config.RatePerson = "often"
		if err := r.Router.Apply(r.Settings()); err == nil {
			t.Error("a rate that is none was applied")
		}
	})
}
