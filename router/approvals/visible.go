package approvals

import (
	"fmt"
	"strings"
	"unicode"

	"switchboard/internal/words"
)

// wideSpace is the width from which white space within a line is written out: it would push
// what follows out of sight.
const wideSpace = 24

// spaces are runs of white space within a line.
var spaces = words.Pattern("[ \t]{3,}")

// blankLines are two and more of them: they would push what follows out of sight.
var blankLines = words.Pattern(`\n(?:[ \t]*\n){2,}`)

// mostLines is how many lines a question shows of a text as they are. In a longer one line
// breaks are written out.
const mostLines = 30

// folded writes out the line breaks of a text of many lines.
func folded(text string) string {
	if strings.Count(text, "\n") < mostLines {
		return text
	}
	return strings.ReplaceAll(text, "\n", "⟨line break⟩ ")
}

// visible writes out what a reader would not see, or see in another order.
func visible(text string) string {
	var b strings.Builder
	text = blankLines().ReplaceAllStringFunc("\n"+text, func(run string) string {
		return fmt.Sprintf("\n⟨%d blank lines⟩\n", strings.Count(run, "\n")-1)
	})[1:]
	text = spaces().ReplaceAllStringFunc(text, func(run string) string {
		tabs := strings.Count(run, "\t")
		switch plain := len(run) - tabs; {
		case plain+8*tabs < wideSpace:
			return run
		case tabs == 0:
			return fmt.Sprintf("⟨%d spaces⟩", plain)
		case plain == 0:
			return fmt.Sprintf("⟨%d tabs⟩", tabs)
		default:
			return fmt.Sprintf("⟨%d spaces, %d tabs⟩", plain, tabs)
		}
	})
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) && !strings.ContainsRune(hollow, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// hollow are letters and symbols that show nothing.
const hollow = "\u115f\u1160\u2800\u3164\uffa0\ufffc\U0001d159"
