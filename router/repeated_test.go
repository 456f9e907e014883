package router

import (
	"testing"

	"switchboard/agent/tools"
)

// What /status, /plan and /why repeat of a turn has its taint, and that of another
// person's words for everybody else.
//
// promise: P5.others-words
func TestRepeatedWordsKeepTheirTaint(t *testing.T) {
	t.Parallel()
	clean := TurnView{Person: "ada", Plans: []PlanView{{Tasks: []TaskView{{}}}}}
	sent, read := clean, clean
	sent.Taint, read.Plans = "enclosed", []PlanView{{Tasks: []TaskView{{}, {Taint: "web"}}}}
	for _, c := range []struct {
		turn   TurnView
		person string
		want   tools.Taint
	}{{clean, "ada", ""}, {clean, "bob", tools.Others}, {sent, "ada", "enclosed"}, {read, "ada", "web"}} {
		if got := c.turn.repeated(c.person); got != c.want {
			t.Errorf("%+v to %s: %q, want %q", c.turn, c.person, got, c.want)
		}
		e := Explanation{TurnView: c.turn}
		if got := e.taint(c.person); got != c.want {
			t.Errorf("explained: %q, want %q", got, c.want)
		}
	}
}
