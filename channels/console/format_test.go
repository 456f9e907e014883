package console

import (
	"slices"
	"strings"
	"testing"
)

const marked = "# Title\n\nSome **bold**, *slanted*, ~~gone~~ and `code` words in a sentence that goes on for a while.\n\n" +
	"- one item with several words\n  - another within\n- [x] done\n\n3. third\n\n> quoted words that go on\n\n```go\nfunc main() {}\n```\n\n" +
	"| name | 数 |\n| --- | ---: |\n| müsli | 12 |\n| 寿司 🍣 | 3 |\n"

func TestFormattedLooksAsItIsMeant(t *testing.T) {
	t.Parallel()
	got := formatted(marked, 80)
	want := []string{
		"\x1b[1;4mTitle\x1b[0m", "",
		"Some \x1b[1mbold\x1b[0m, \x1b[3mslanted\x1b[0m, \x1b[9mgone\x1b[0m and \x1b[36mcode\x1b[0m words in a sentence that goes on for a while.", "",
		"• one item with several words", "  ◦ another within", "☑ done", "",
		"3. third", "", "│ quoted words that go on", "",
		"\x1b[36mfunc main() {}\x1b[0m", "",
		"name    | 数", "--------+---", "müsli   | 12", "寿司 🍣 |  3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// At any width each row fits, no word is torn that has room, and further rows of an item
// stand below its first.
func TestFormattedFitsAnyWidth(t *testing.T) {
	t.Parallel()
	words := strings.Fields(unstyled(strings.Join(formatted(marked, 1000), " ")))
	for limit := 10; limit < 90; limit++ {
		rows := formatted(marked, limit)
		var shown []string
		for _, row := range rows {
			if width(row) > limit {
				t.Errorf("%d: %q takes %d", limit, row, width(row))
			}
			shown = append(shown, strings.Fields(unstyled(row))...)
		}
		for _, word := range []string{"Title", "sentence", "several", "another", "third", "quoted", "müsli", "寿司"} {
			if slices.Contains(words, word) && !slices.Contains(shown, word) && !slices.Contains(shown, word+":") {
				t.Errorf("%d: %s is torn: %q", limit, word, rows)
			}
		}
	}
	if got := formatted("- one two three\n- four", 11); !slices.Equal(got, []string{"• one two", "  three", "• four"}) {
		t.Errorf("%q", got)
	}
	if got := formatted("a very **bold thing** here", 11); !slices.Equal(got, []string{"a very \x1b[1mbold\x1b[0m", "\x1b[1mthing\x1b[0m here"}) {
		t.Errorf("%q", got)
	}
}

// What an answer quotes commands no terminal.
func TestFormattedHoldsNoSequencesOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\x1b[2Jb", "**a\x1b]0;x\x07b**", "`\x1b[31m`", "\u009b2J", "a\u202eb", "```\n\x1b[2J\n```"} {
		got := unstyled(strings.Join(formatted(text, 40), "\n"))
		if strings.ContainsAny(got, "\x1b\x07\u009b\u202e") {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Colours are for terminals that have them; NoColor is what NO_COLOR asks for.
func TestTerminalShowsMarkdown(t *testing.T) {
	for _, color := range []bool{true, false} {
		t.Setenv("TERM", "xterm")
		t.Setenv("NO_COLOR", "")
		s := sit(t, newEngine(t, func(_ string, u *turn) {
			u.grow("Some **bo")
			u.ends("Some **bold** words.")
		}), func(o *Options) { o.NoColor = !color })
		s.press("go\r")
		s.standing("> go", "Some bold words.", ">")
		if got := strings.Contains(s.screen.String(), "\x1b[1mbold\x1b[0m"); got != color {
			t.Errorf("bold is shown: %v, want %v", got, color)
		}
		s.leave()
	}
}
