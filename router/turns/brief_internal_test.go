package turns

import (
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
)

// What /status, /plan and /why repeat of a turn has its taint, and that of another
// person's words for everybody else.
func TestRepeatedWordsKeepTheirTaint(t *testing.T) {
	t.Parallel()
	clean := Turn{Person: "ada", Plans: []Plan{{Tasks: []Task{{}}}}}
	sent, read, added := clean, clean, clean
	added.Messages = []Message{
		{SessionMessage: channels.SessionMessage{Direction: "in"}, Taint: "forwarded"},
		{SessionMessage: channels.SessionMessage{Direction: "out"}, Taint: "web"}, // which is not repeated
	}
	sent.Taint, read.Plans = "enclosed", []Plan{{Tasks: []Task{{}, {Taint: "web"}}}}
	for _, c := range []struct {
		turn   Turn
		person string
		want   tools.Taint
	}{{clean, "ada", ""}, {clean, "bob", tools.Others}, {sent, "ada", "enclosed"}, {read, "ada", "web"}, {added, "ada", "forwarded"}} {
		if got := c.turn.Repeated(c.person); got != c.want {
			t.Errorf("%+v to %s: %q, want %q", c.turn, c.person, got, c.want)
		}
	}
}
