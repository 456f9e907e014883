package channels_test

import (
	"fmt"
	"testing"

	"switchboard/channels"
)

// Buttons stand beside each other where they ask for it and have room, and fill the rows where
// those run out; none is lost.
func TestRowsOfButtons(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		buttons     string // small letters stand beside the one before
		most, inRow int
	}{
		"[]":              {"", 5, 5},
		"[A B]":           {"AB", 5, 5},
		"[Ab Cd E]":       {"AbCdE", 5, 5},
		"[ab C]":          {"abC", 5, 5}, // there is none before the first
		"[Abc de F]":      {"AbcdeF", 5, 3},
		"[AbC dEf G]":     {"AbCdEfG", 3, 3},
		"[AbCdEfGhIj Kl]": {"AbCdEfGhIjKl", 5, 10},
	} {
		var list []channels.Button
		for _, r := range c.buttons {
			list = append(list, channels.Button{Label: string(r), Beside: r >= 'a'})
		}
		var got []string
		for _, row := range channels.Rows(list, c.most, c.inRow) {
			text := ""
			for _, b := range row {
				text += b.Label
			}
			got = append(got, text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s in %d rows of %d: %v, want %s", c.buttons, c.most, c.inRow, got, want)
		}
	}
}
