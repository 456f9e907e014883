package api

import (
	"log/slog"
	"testing"
)

// The end of one turn's text is not the end of what the next one writes already.
func TestStreamOfAnotherTurnStays(t *testing.T) {
	t.Parallel()
	c := NewChannel("api", Kind, Features, slog.New(slog.DiscardHandler))
	c.Stream("ada", 2, "second")
	c.Stream("ada", 1, "")
	if g := c.growing("ada").Text; g != "second" {
		t.Errorf("%q grows", g)
	}
	c.Stream("ada", 2, "")
	if g := c.growing("ada").Text; g != "" {
		t.Errorf("%q grows still", g)
	}
}
