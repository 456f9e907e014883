package turns

import (
	"fmt"
	"math"
	"strings"
	"time"

	"switchboard/internal/words"
)

// Show says a turn whole: what Explanation.Show says of it with nothing cut, what its
// tasks brought and, where they were read, the requests and answers of its model calls.
func (v *Turn) Show(currency string, zone *time.Location) string {
	return v.Explanation().show(&report{currency: currency, zone: zone, full: true})
}

// report is a text in the making.
type report struct {
	strings.Builder
	currency string
	zone     *time.Location
	full     bool // nothing is cut
}

func (t *report) line(depth int, format string, args ...any) {
	t.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(t, format, args...)
	t.WriteByte('\n')
}

func (t *report) at(when time.Time) string { return when.In(t.zone).Format("2006-01-02 15:04:05 MST") }

// used says what model calls used.
func used(calls int, in, out int64) string {
	return fmt.Sprintf("%s, %d tokens in, %d out", words.Count(calls, "model call"), in, out)
}

// tokens are what a call used.
func (c *Call) tokens() string {
	in := fmt.Sprintf("%d tokens in", c.TokensIn)
	if c.CachedTokens > 0 {
		in += fmt.Sprintf(" (%d cached)", c.CachedTokens)
	}
	return fmt.Sprintf("%s, %d out", in, c.TokensOut)
}

// price is what something cost, as the end of a list; nothing where no price is known.
func price(cost float64, currency string) string {
	if cost == 0 {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(", %.6f %s", cost, currency), " ")
}

// most is how many runes of a text are shown where a part of it is mostly enough.
func (t *report) most(runes int) int {
	if t.full {
		return math.MaxInt
	}
	return runes
}

// text writes what somebody wrote: its lines, or in one line how it begins.
func (t *report) text(depth int, text string) {
	if t.full {
		t.lines(depth, "", text)
	} else {
		t.line(depth, "%s", words.OneLine(text, 300))
	}
}

// lines writes every line of text with by before it.
func (t *report) lines(depth int, by, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		t.line(depth, "%s%s", by, strings.TrimRight(line, "\n"))
	}
}
