package console

import "testing"

// The end of one turn's text is not the end of what the next one writes already.
func TestStreamOfAnotherTurnStays(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(string, *turn) {})
	e.channel.Stream("ada", 2, "second")
	e.channel.Stream("ada", 1, "")
	if g := e.channel.growing("ada").text; g != "second" {
		t.Errorf("%q grows", g)
	}
	e.channel.Stream("ada", 2, "")
	if g := e.channel.growing("ada").text; g != "" {
		t.Errorf("%q grows still", g)
	}
}
