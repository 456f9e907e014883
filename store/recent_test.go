package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// In a long session the agent sees the thirty latest messages, oldest first, whether
// they are read with the claim or later; /reset leaves what came after it.
func TestRecentOfALongSessionIsItsLatestThirty(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var said []string
		for n := range 25 { // 50 messages, among those of another session
			ref := h.Begun("c", fmt.Sprint(n))
			other := h.Begun("d", fmt.Sprint("other-", n))
			for ref, of := range map[core.TurnRef]string{ref: "mine", other: "theirs"} {
				answer := fmt.Sprintf("%s: answer %d", of, n)
				step := end("done", "answered")
				step.Say = []agent.Say{{Text: answer, Final: true}}
				h.Commit(ref, step, outbox.Reply{Text: answer, Parts: []channels.Body{{Text: answer}}})
			}
			said = append(said, fmt.Sprint("hello ", n), fmt.Sprintf("mine: answer %d", n))
		}
		claimed := h.Accept(claiming(entry("c", "last", "and now?")))[0].Claimed
		if claimed == nil {
			t.Fatal("not claimed")
		}
		d, err := h.Router.Load(h.Ctx, claimed.TurnRef)
		if err != nil {
			t.Fatal(err)
		}
		for way, data := range map[string]*core.TurnData{"loaded": d, "read with the claim": claimed.Data} {
			if data == nil {
				if strings.HasSuffix(t.Name(), "sqlite") {
					continue
				}
				t.Fatal("nothing was read with the claim")
			}
			var got []string
			for i, line := range data.State.Recent {
				if line.Bot != (i%2 == 1) {
					t.Errorf("%s: line %d is said by %q, a bot: %v", way, i, line.Author, line.Bot)
				}
				got = append(got, line.Text)
			}
			if want := said[len(said)-30:]; !slices.Equal(got, want) {
				t.Errorf("%s, the agent sees\n%q, not\n%q", way, got, want)
			}
		}
	})
}

// What a job asked for is known as a job's; where nobody was answered it is not shown, and is not what /why is about.
func TestWhatAJobAskedForIsNoLineOfItsOwner(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.withRun()
		var spoke int64
		for _, key := range []string{"still", "loud", "mute"} {
			s := submission(key)
			s.Run, s.Text = 0, key
			ref := h.submit(s, intake.TurnIntent{MayClaim: true}).Claimed.TurnRef
			step := end("done", "quiet")
			if key == "loud" {
				spoke, step.Say = ref.TurnID, []agent.Say{{Text: "here", Final: true}}
				h.Commit(ref, step, outbox.Reply{Text: "here", Parts: []channels.Body{{Text: "here"}}})
				continue
			}
			h.Commit(ref, step)
		}
		if turn, err := h.Router.TurnOf(h.Ctx, inC, ""); err != nil || turn != spoke {
			t.Errorf("the newest turn is %d, %v, not %d", turn, err, spoke)
		}
		claimed := h.Accept(claiming(entry("c", "last", "and now?")))[0].Claimed
		loaded, err := h.Router.Load(h.Ctx, claimed.TurnRef)
		if err != nil {
			t.Fatal(err)
		}
		for way, d := range map[string]*core.TurnData{"loaded": loaded, "read with the claim": claimed.Data} {
			if d == nil {
				continue // on SQLite
			}
			var got []string
			for _, line := range d.State.Recent {
				got = append(got, fmt.Sprint(line.Text, " ", line.Bot, line.Job))
			}
			if want := []string{"/help false false", "help true false", "loud false true", "here true false"}; !slices.Equal(got, want) {
				t.Errorf("%s, the agent sees %q, not %q", way, got, want)
			}
		}
	})
}
