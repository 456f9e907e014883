package agent

import (
	"strings"
	"testing"

	"switchboard/agent/llm"
)

// What fits is what leaving out one line after the other comes to, and is found in a few tries.
func TestFitLeavesOutAsLittleAsItCan(t *testing.T) {
	t.Parallel()
	const lines = 100
	rendered := 0
	render := func(c cut) string {
		rendered++
		return strings.Repeat("a line of the conversation\n", c.lines) + strings.Repeat("x", c.output/64)
	}
	whole := llm.Tokens(render(cut{lines, maxShown}))
	for size := 1; size <= whole+1; size += 7 {
		want := cut{lines, maxShown}
		for llm.Tokens(render(want)) > size && (want.lines > 0 || want.output > minShown) {
			if want.lines > 0 {
				want.lines--
			} else {
				want.output /= 2
			}
		}
		rendered = 0
		got := fit(size+llm.Tokens("system"), "system", lines, render)
		if tries := rendered; got != render(want) || tries > 15 {
			t.Errorf("of %d tokens: %d lines in %d tries, not %d", size, strings.Count(got, "\n"), tries, want.lines)
		}
	}
	if got := fit(0, "system", lines, render); got != render(cut{lines, maxShown}) {
		t.Error("without a bound something is left out")
	}
}
