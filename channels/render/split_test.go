package render

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchboard/channels"
)

func utf16Len(s string) int { return len(utf16.Encode([]rune(s))) }

// split is Text.Split for a text that means nothing but its characters. A nil measure
// counts runes. Bytes that are not UTF-8 become U+FFFD.
func split(text string, limit int, measure func(string) int) []string {
	if measure == nil {
		measure = utf8.RuneCountInString
	}
	whole := Text{Text: strings.ToValidUTF8(text, "\uFFFD")}
	pieces := whole.Split(limit, func(t Text) int { return measure(t.Text) })
	parts := make([]string, len(pieces))
	for i, piece := range pieces {
		parts[i] = piece.Text
	}
	return parts
}

func TestSplitCutsAtTheBestPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		limit int
		want  []string
	}{
		"no limit":             {"a b c", 0, []string{"a b c"}},
		"below no limit":       {"a b c", -1, []string{"a b c"}},
		"empty":                {"", 5, []string{""}},
		"fits":                 {" a b ", 5, []string{" a b "}},
		"blank line":           {"aaa\n\nbbb ccc", 10, []string{"aaa", "bbb ccc"}},
		"last blank line":      {"a\n\nb\n\nccccc", 7, []string{"a\n\nb", "ccccc"}},
		"blank line of spaces": {"aaa\n  \nbbb ccc", 10, []string{"aaa", "bbb ccc"}},
		"line break":           {"aaa bb\nccc dd", 9, []string{"aaa bb", "ccc dd"}},
		"windows line break":   {"aaa bb\r\nccc dd", 9, []string{"aaa bb", "ccc dd"}},
		"space":                {"aaa bbb ccc", 8, []string{"aaa bbb", "ccc"}},
		"space after window":   {"aaa bbb ccc", 7, []string{"aaa bbb", "ccc"}},
		"hard":                 {"abcdefgh", 3, []string{"abc", "def", "gh"}},
		"no stub":              {"a\n\nbbbb bbbb bbbb bbbb", 16, []string{"a\n\nbbbb bbbb", "bbbb bbbb"}},
		"stub before a word":   {"a bbbbbbbbbbbbbbb", 15, []string{"a", "bbbbbbbbbbbbbbb"}},
		"indentation stays":    {"- aaaaaa\n    - bbbb", 12, []string{"- aaaaaa", "    - bbbb"}},
		"only space":           {strings.Repeat(" ", 20), 5, []string{""}},
		"family stays whole":   {"ab👩‍👩‍👧cd", 6, []string{"ab", "👩‍👩‍👧c", "d"}},
		"cluster too long":     {"e\u0301\u0301\u0301x", 2, []string{"e\u0301", "\u0301\u0301", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, split(c.in, c.limit, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var measures = map[string]func(string) int{
	"runes":  utf8.RuneCountInString,
	"bytes":  func(s string) int { return len(s) },
	"utf16":  utf16Len,
	"cells":  Width,
	"uneven": func(s string) int { return utf8.RuneCountInString(s) + 3*strings.Count(s, "a") - strings.Count(s, "b") },
}

// checkSplit holds what Split promises, for any text, limit and measure.
func checkSplit(t interface{ Fatalf(string, ...any) }, text string, limit int, measure func(string) int) {
	parts := split(text, limit, measure)
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(parts) == 0 {
		t.Fatalf("Split(%q, %d) has no part", text, limit)
	}
	inside := clusterEnds(text)
	at := 0
	for i, part := range parts {
		if n := measure(part); limit > 0 && n > limit && utf8.RuneCountInString(part) > 1 {
			t.Fatalf("part %d of Split(%q, %d) measures %d: %q", i, text, limit, n, part)
		}
		if len(parts) > 1 && strings.Trim(part, blank) == "" {
			t.Fatalf("part %d of Split(%q, %d) is blank", i, text, limit)
		}
		gap := strings.Index(text[at:], part)
		if gap < 0 || strings.Trim(text[at:at+gap], blank) != "" {
			t.Fatalf("text before part %d of Split(%q, %d) is lost: %q", i, text, limit, part)
		}
		at += gap + len(part)
		if !inside[at] && at < len(text) && fits(text, at, limit, measure) {
			t.Fatalf("part %d of Split(%q, %d) ends inside a character: %q", i, text, limit, part)
		}
	}
	if strings.Trim(text[at:], blank) != "" {
		t.Fatalf("the end of Split(%q, %d) is lost: %q", text, limit, text[at:])
	}
}

func clusterEnds(text string) map[int]bool {
	ends := map[int]bool{}
	at := 0
	for seg := graphemes.FromString(text); seg.Next(); {
		at += len(seg.Value())
		ends[at] = true
	}
	return ends
}

// fits says whether the character around byte at is within the limit by itself,
// so that there is no excuse for cutting it.
func fits(text string, at, limit int, measure func(string) int) bool {
	start := 0
	for seg := graphemes.FromString(text); seg.Next(); {
		end := start + len(seg.Value())
		if start < at && at < end {
			return measure(seg.Value()) <= limit
		}
		start = end
	}
	return false
}

func TestSplitByMeasureHoldsTheLimit(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "\n", "\n\n", "\r\n", "\t", "  ", "\u0301", "👩‍👩‍👧", "🇩🇪", "😀", "é", "日本", "a", "b", "word", "שלום", "\u200d", " \u0301"}),
		rapid.StringN(0, 8, 20),
	)
	for name, measure := range measures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				text := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "text"), "")
				checkSplit(t, text, rapid.IntRange(-1, 40).Draw(t, "limit"), measure)
			})
		})
	}
}

func TestPartsHoldTheLimitOfTheChannel(t *testing.T) {
	t.Parallel()
	long := "# Title\n\n" + strings.Repeat("Some **text** with 😀 in it.\n\n", 400)
	f := channels.Features{MaxText: 200, Measure: utf16Len}
	parts := Parse(long).Parts(f)
	if len(parts) < 20 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, p := range parts {
		if n := utf16Len(p.Text); n > 200 || n == 0 {
			t.Errorf("part %d has %d units", i, n)
		}
		if strings.Contains(p.Text, "**") || p.Rich != nil {
			t.Errorf("part %d is not plain: %q", i, p.Text)
		}
	}
	if got := Parse(long).Parts(channels.Features{}); len(got) != 1 {
		t.Errorf("without a limit there are %d parts", len(got))
	}
	for in, want := range map[string]string{"": "", "[1]: https://x.test": "[1]: https://x.test"} {
		if got := Parse(in).Parts(f); len(got) != 1 || got[0].Text != want {
			t.Errorf("Parts(%q) = %+v", in, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a b\n\nc 😀", 3)
	f.Add("\u0301\u0301 \u0301", 1)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 2048 {
			return
		}
		for _, measure := range measures {
			checkSplit(t, text, limit, measure)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Some text that goes on for a while, in lines.\n", 1400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		split(text, 4096, utf16Len)
	}
}
