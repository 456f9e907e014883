package agent

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/tools"
)

// The planner reads a line of each tool. How one is used in detail it reads where something of the kind was
// said lately, or where a plan got it wrong.
func TestPagesAreShownWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	const page = "Give it a word."
	pages := func(w *world) (shown []int) {
		t.Helper()
		w.run()
		for _, req := range w.requests(rolePlanner) {
			if !strings.Contains(req.System, "\n- look(word): Does look.") || strings.Contains(req.System, page) {
				t.Errorf("the system part is %s", req.System)
			}
			shown = append(shown, strings.Count(req.User, page+"\nArguments: {"))
		}
		return shown
	}
	wants := func(how string, got []int, want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: the pages of %v tools are shown, want %v", how, got, want)
		}
	}
	peep := func(w *world, run func(context.Context, tools.Call) tools.Result) {
		tool := w.tool("peep", tools.EffectRead, false)
		tool.Words = regexp.MustCompile(`(?i)\bpeek`).MatchString
		if run != nil {
			tool.Run = run
		}
		w.extra = append(w.extra, tool)
	}
	said := func(message, before string) *world {
		w := newWorld(t)
		peep(w, nil)
		w.turn.Message.Text = message
		if before != "" {
			w.journal.context.Recent = []Line{{Author: "marco", Text: before}}
		}
		w.script(map[string][]string{rolePlanner: {planText(answerTask("yes"))}})
		return w
	}
	wants("nothing of the kind", pages(said("hello", "good morning")), 0)
	wants("said now", pages(said("Peek at it", "")), 1)
	wants("said before", pages(said("yes, please", "peek at it?")), 1)

	w := newWorld(t)
	wrong := toolTask("look", "a")
	wrong.Args = ptr(`{"world": "a"}`)
	w.script(map[string][]string{rolePlanner: {planText(wrong, msgTask("tell")), planText(answerTask("no"))}})
	wants("a fault in the plan", pages(w), 0, 1)

	w = newWorld(t)
	peep(w, func(context.Context, tools.Call) tools.Result { return tools.Result{End: tools.EndError, Output: "no"} })
	w.script(map[string][]string{
		rolePlanner: {planText(toolTask("peep", "a"), msgTask("tell")), planText(answerTask("no"))}, roleReviewer: {replanText("it failed")},
	})
	wants("a tool that failed", pages(w), 0, 1)
}
