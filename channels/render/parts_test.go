package render_test

import (
	"testing"

	"switchboard/channels/render"
)

func TestUnitsAreThoseOfUTF16(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "日本": 2, "a😀b": 4, "\xff": 1} {
		if got := render.Units(text); got != want {
			t.Errorf("%q has %d, want %d", text, got, want)
		}
	}
	for limit, want := range []string{"", "a", "a", "a😀", "a😀b", "a😀b"} {
		if got := render.Clip("a😀b", limit); got != want {
			t.Errorf("%d of it are %q, want %q", limit, got, want)
		}
	}
}

func TestTextOfBlanksIsNotVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, " \n\u00a0": false, "\u2060\u200b\u2800\ufe0f": false, ".": true, "\u2060é": true} {
		if got := render.Visible(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
