package turns_test

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
	"switchboard/store/storetest"
)

// In a long session the agent sees the thirty latest messages, oldest first, whether they are read with the claim or later, and that there
// were more which are not in the summary.
func TestRecentOfALongSession(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var said []string
		for n := range 60 { // 120 messages, among those of another session
			ref := h.Begun("c", fmt.Sprint(n))
			other := h.Begun("d", fmt.Sprint("other-", n))
			for ref, of := range map[core.TurnRef]string{ref: "mine", other: "theirs"} {
				answer := fmt.Sprintf("%s: answer %d", of, n)
				step := storetest.End("done", "answered")
				step.Say = []agent.Say{{Text: answer, Final: true}}
				h.Commit(ref, step, outbox.Reply{Text: answer, Parts: []channels.Body{{Text: answer}}})
			}
			said = append(said, fmt.Sprint("hello ", n), fmt.Sprintf("mine: answer %d", n))
		}
		for _, tt := range []struct {
			summed  string
			want    int
			leftOut bool
		}{{"", 30, true}, {"hello 20", 30, true}, {"mine: answer 55", 30, false}, {"mine: answer 59", 30, false}} {
			h.Exec(fmt.Sprintf("UPDATE sessions SET summed_to = coalesce((SELECT id FROM messages WHERE session_id = sessions.id AND text = '%s'), 0)", tt.summed))
			claimed := h.Accept(storetest.Claiming(storetest.Entry("c", "after "+tt.summed, "and now?")))[0].Claimed
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
					if in := slices.Index(said, line.Text) <= slices.Index(said, tt.summed); line.Bot != strings.HasPrefix(line.Text, "mine") || line.Summed != in {
						t.Errorf("%s, %q: line %d is said by %q, a bot: %v, summed up: %v", way, tt.summed, i, line.Author, line.Bot, line.Summed)
					}
					got = append(got, line.Text)
				}
				if want := said[len(said)-tt.want:]; !slices.Equal(got, want) || data.State.LeftOut != tt.leftOut {
					t.Errorf("%s, after %q the agent sees\n%q, not\n%q; %v are left out", way, tt.summed, got, want, data.State.LeftOut)
				}
			}
			h.Commit(claimed.TurnRef, storetest.End("failed", "x"))
			said = append(said, "and now?")
		}
	})
}

// What a job asked for is known as a job's; where nobody was answered it is not shown, and is not what /why is about.
func TestWhatAJobAskedForIsNoLineOfItsOwner(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.WithRun()
		var spoke int64
		for _, key := range []string{"still", "loud", "mute"} {
			s := storetest.Submission(key)
			s.Run, s.Text = 0, key
			ref := h.Submit(s, intake.TurnIntent{MayClaim: true}).Claimed.TurnRef
			step := storetest.End("done", "quiet")
			if key == "loud" {
				spoke, step.Say = ref.TurnID, []agent.Say{{Text: "here", Final: true}}
				h.Commit(ref, step, outbox.Reply{Text: "here", Parts: []channels.Body{{Text: "here"}}})
				continue
			}
			h.Commit(ref, step)
		}
		if turn, err := h.Router.TurnOf(h.Ctx, storetest.ConversationC, ""); err != nil || turn != spoke {
			t.Errorf("the newest turn is %d, %v, not %d", turn, err, spoke)
		}
		claimed := h.Accept(storetest.Claiming(storetest.Entry("c", "last", "and now?")))[0].Claimed
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
