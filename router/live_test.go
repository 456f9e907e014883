package router_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"switchboard/agent"
)

// What is applied counts from the next event on; a turn that runs goes on.
func TestSettingsAppliedWhileATurnRuns(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		long := strings.Repeat("long ", 300)
		r.config.MessageLimit, r.config.Workers = 1<<10, 1
		goOn := make(chan struct{})
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "wait" {
				select {
				case <-goOn:
				case <-ctx.Done():
				}
			}
			return "answer to " + turn.Message.Text[:4], nil
		}
		r.start()
		r.begins("c1", "ada", "wait")
		r.platform.Say("c2", "bob", long)
		r.mentions(1, "I take up to 1 KB")

		r.config.MessageLimit, r.config.Workers, r.config.StopWords = 4<<10, 8, []string{"genug"}
		if err := r.router.Apply(r.settings()); err != nil {
			t.Fatal(err)
		}
		r.platform.Say("c2", "bob", long)
		r.shows(2, "answer to long") // the only worker that there was is busy still
		r.platform.Say("c1", "ada", "stop")
		r.until("it is no stop word any more", func() bool { return len(r.turns()) == 3 })
		close(goOn)
		r.until("both are answered", func() bool {
			sent := texts(r.platform.Sent())
			return slices.Contains(sent, "answer to wait") && slices.Contains(sent, "answer to stop")
		})

		r.config.RatePerson = "1/h"
		if err := r.router.Apply(r.settings()); err != nil {
			t.Fatal(err)
		}
		r.platform.Say("c3", "ada", "more")
		r.shows(5, "answer to more")
		r.platform.Say("c3", "ada", "even more")
		r.mentions(6, "I read 1 message an hour")

		r.config.RatePerson = "often"
		if err := r.router.Apply(r.settings()); err == nil {
			t.Error("a rate that is none was applied")
		}
	})
}
