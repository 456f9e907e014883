package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"switchboard/channels/render/rendertest"
)

// A tally writes a mark where a span begins and ends. One that lies says less than it
// holds until it is told the end.
type tally struct {
	out  strings.Builder
	open int
	lies bool
}

func (y *tally) Reset() { y.out.Reset(); y.open = 0 }

func (y *tally) Size() int {
	n := utf16Len(y.out.String()) + y.open
	if y.lies && y.open > 0 {
		return n / 2
	}
	return n
}

func (y *tally) Open(s Span, _ []Span)  { y.open++; y.out.WriteString("{" + s.Value) }
func (y *tally) Close(_ Span, _ []Span) { y.open--; y.out.WriteString("}") }
func (y *tally) Line([]Span)            { y.out.WriteString("\n") }
func (y *tally) Write(s string)         { y.out.WriteString(s) }

func TestPiecesHoldTheLimitAndLoseNothing(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"word", "two words ", " ", "\n", "\n\n", "**", "_", "`", "```\n", "# ", "> ", "\n- ", "\n1. ",
		"[a](", "](https://x.test)", "😀", "👩‍👩‍👧", "e\u0301", "日本", "\u0301", "\u0600", "\r\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "source"), "")
		limit := rapid.IntRange(0, 60).Draw(t, "limit")
		y := tally{lies: rapid.Bool().Draw(t, "lies")}
		x := Parse(source).Lay(&linkedStyle)
		var all strings.Builder
		for piece := range x.Pieces(limit, &y) {
			checkText(t, piece, false)
			held, size := y.out.String(), y.Size()
			if size > limit && limit > 0 && utf8.RuneCountInString(piece.Text) > 1 {
				t.Fatalf("a piece of %q measures %d, not %d: %q", source, size, limit, piece.Text)
			}
			var again tally
			if piece.Emit(&again); again.out.String() != held {
				t.Fatalf("the gauge holds %q, not %q", held, again.out.String())
			}
			all.WriteString(piece.Text)
		}
		if bare(all.String()) != bare(x.Text) {
			t.Fatalf("%q became %q", x.Text, all.String())
		}
	})
}

// A gauge that holds more in the end than it said costs a search, and the limit holds.
func TestPiecesHoldTheLimitWithAWrongGauge(t *testing.T) {
	t.Parallel()
	words := strings.TrimSpace(strings.Repeat("word ", 100))
	x := Text{Text: words, Spans: []Span{{End: len(words), Kind: Quote}}}
	y, n := tally{lies: true}, 0
	for piece := range x.Pieces(40, &y) {
		if n++; y.Size() > 40 {
			t.Errorf("a piece measures %d: %q", y.Size(), piece.Text)
		}
	}
	if want := (len(words) + 37) / 35; n > want {
		t.Errorf("%d pieces, not %d", n, want)
	}
}

func TestPiecesAreMeasuredAtMostThrice(t *testing.T) {
	t.Parallel()
	x := Text{Text: strings.Repeat("Some text that goes on for a while, in lines.\n", 900)}
	for limit, most := range map[int]int{1 << 20: len(x.Text), 4096: 3 * len(x.Text)} {
		var y counter
		for range x.Pieces(limit, &y) { //nolint:revive // what counts is what was told
		}
		if y.all > most {
			t.Errorf("limit %d: %d bytes were told for %d", limit, y.all, len(x.Text))
		}
	}
}

func TestPiecesAreBounded(t *testing.T) {
	for name, c := range rendertest.Hard() {
		t.Run(name, func(t *testing.T) {
			x := Parse(c.Source).Lay(&linkedStyle)
			for _, limit := range []int{100, 4096} {
				rendertest.Bounded(t, func() {
					for range x.Pieces(limit, &counter{}) { //nolint:revive // only the time counts
					}
				})
			}
		})
	}
}

// A counter only counts: what it holds, and what it was told in all.
type counter struct{ n, all int }

func (c *counter) Reset()             { c.n = 0 }
func (c *counter) Size() int          { return c.n }
func (c *counter) Open(Span, []Span)  { c.n++ }
func (c *counter) Close(Span, []Span) { c.n++ }
func (c *counter) Line([]Span)        { c.n, c.all = c.n+1, c.all+1 }
func (c *counter) Write(s string)     { c.n, c.all = c.n+len(s), c.all+len(s) }
