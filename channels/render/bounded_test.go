package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/channels/render/rendertest"
)

func TestSplitIsBounded(t *testing.T) {
	marks := strings.Repeat("\u0301", 400_000)
	zero := func(string) int { return 0 }
	for name, c := range map[string]struct {
		text    string
		limit   int
		measure func(string) int
	}{
		"marks":             {marks, 4096, nil},
		"marks, short":      {marks, 11, nil},
		"marks, bytes":      {marks, 11, measures["bytes"]},
		"marks, cells":      {marks + " aaaa", 2, measures["cells"]},
		"families":          {strings.Repeat("👩\u200d", 100_000), 100, nil},
		"indic":             {strings.Repeat("क\u094d", 60_000), 100, nil},
		"flags":             {strings.Repeat("🇩", 100_000), 100, nil},
		"prepended":         {strings.Repeat("\u0600", 200_000), 100, nil},
		"spaces with marks": {strings.Repeat(" \u0301", 200_000), 100, nil},
		"indentation":       {"a\n" + strings.Repeat(" ", 400_000) + "b", 100, nil},
		"blank lines":       {"a" + strings.Repeat(" \n", 200_000) + "b", 100, nil},
		"one at a time":     {strings.Repeat("a", 200_000), 1, nil},
		"no measure":        {marks, 1, zero},
		"uneven":            {strings.Repeat("a b", 100_000), 100, measures["uneven"]},
		// Every cut at a space is too long; only what ends in a letter fits.
		"measure by its end": {strings.Repeat("ab ", 100_000), 1000, func(s string) int {
			if strings.HasSuffix(s, "b") {
				return len(s) + 5000
			}
			return len(s)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []string
			rendertest.Bounded(t, func() { parts = split(c.text, c.limit, c.measure) })
			measure := c.measure
			if measure == nil {
				measure = utf8.RuneCountInString
			}
			for i, part := range parts {
				if measure(part) > c.limit && utf8.RuneCountInString(part) > 1 {
					t.Fatalf("part %d measures %d", i, measure(part))
				}
			}
			if bare(strings.Join(parts, "")) != bare(c.text) {
				t.Error("text is lost")
			}
		})
	}
	t.Run("parts", func(t *testing.T) {
		for _, limit := range []int{11, 4096} {
			rendertest.Bounded(t, func() { Parse(marks).Parts(channels.Features{MaxText: limit}) })
		}
	})
}

// bare is s without white space.
func bare(s string) string {
	return strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "").Replace(s)
}

func TestPlainIsBounded(t *testing.T) {
	for name, c := range rendertest.Hard() {
		t.Run(name, func(t *testing.T) {
			var got string
			rendertest.Bounded(t, func() { got = Parse(c.Source).Plain() })
			if most := max(c.Grows, 8)*len(c.Source) + 1<<16; len(got) > most {
				t.Errorf("%d bytes became %d", len(c.Source), len(got))
			}
			rest := strings.Join(wordsOf(got), "")
			for _, w := range wordsOf(c.Source) {
				if c.Hides {
					break
				}
				at := strings.Index(rest, w)
				if at < 0 {
					t.Fatalf("%.20q is lost or out of order", w)
				}
				rest = rest[at+len(w):]
			}
		})
	}
}
