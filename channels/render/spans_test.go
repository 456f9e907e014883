package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchboard/channels"
)

// linkedStyle is that of a platform with links of its own.
var linkedStyle = Style{
	Bullets: []string{"* ", "+ "}, Done: "x ", Open: "o ", Rule: "***", TableWidth: 20,
	Link: func(address string) bool { return strings.HasPrefix(address, "https://") },
}

var kindNames = map[Kind]string{
	Bold: "bold", Italic: "italic", Strike: "strike", Spoiler: "spoiler", Code: "code", Link: "link",
	Heading: "heading", Pre: "pre", Table: "table", Quote: "quote", Item: "item",
}

// bracketed shows a text with its spans in it.
func bracketed(t Text) string {
	b := &brackets{}
	t.Emit(b)
	return b.out.String()
}

type brackets struct{ out strings.Builder }

func (b *brackets) Open(s Span, _ []Span) {
	b.out.WriteString("{" + kindNames[s.Kind])
	if s.Continued {
		b.out.WriteString("+")
	}
	if s.Value != "" {
		fmt.Fprintf(&b.out, "=%s", s.Value)
	}
	b.out.WriteString(": ")
}
func (b *brackets) Close(Span, []Span) { b.out.WriteString("}") }
func (b *brackets) Line([]Span)        { b.out.WriteString("\n") }
func (b *brackets) Write(s string)     { b.out.WriteString(s) }

func TestMarkdownIsLaidOutAsTextAndSpans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"empty":                 {"", ""},
		"emphasis":              {"**a *b* c** ~~d~~ `e f`", "{bold: a {italic: b} c} {strike: d} {code: e f}"},
		"within itself":         {"**a **b** c** *d _e_ f*", "{bold: a b c} {italic: d e f}"},
		"spaces outside":        {"a` b `c ~~d~~ ", "a{code: b}c {strike: d}"},
		"spoiler":               {"a ||b *c*|| d", "a {spoiler: b {italic: c}} d"},
		"no spoiler":            {"a || b || c |d| ||| e |||", "a || b || c |d| ||| e |||"},
		"spoiler in code":       {"`a || b`||c", "{code: a || b}||c"},
		"link":                  {"[a **b**](https://x.test)", "{link=https://x.test: a {bold: b}}"},
		"link that cannot be":   {"[a](tel:1)", "{link: a (tel:1)}"},
		"link without text":     {"[](https://x.test)", "{link=https://x.test: https://x.test}"},
		"bare link":             {"see https://x.test/a.", "see {link=https://x.test/a: https://x.test/a}."},
		"image":                 {"![a *cat*](https://x.test/c.png?q=1)", "a {italic: cat} ({link=https://x.test/c.png?q=1: https://x.test/c.png?q=1})"},
		"image without text":    {"![](https://x.test/c.png)", "{link=https://x.test/c.png: https://x.test/c.png}"},
		"image by reference":    {"![a][1]\n\n[1]: https://x.test/c.png", "a ({link=https://x.test/c.png: https://x.test/c.png})"},
		"image that is no link": {"![a](tel:1)", "a ({link: tel:1})"},
		"image in link":         {"[![a](https://i.test)](https://x.test)", "{link=https://x.test: a}"},
		"attachment":            {"[the *file*](attachment:1) ![](Attachment:2) <attachment:3>", "the {italic: file} 📎 📎"},
		"footnote":              {"a[^1] [^2]\n\n[^1]: b", "a[1] [^2]\n\n[1]: b"},
		"footnote of one word":  {"a[^n]\n\n[^n]: b", "a[n]\n\n[n]: b"},
		"footnote after a link": {"[a] [^1]\n\n[a]: https://x.test\n[^1]: b\n[^2]: c", "{link=https://x.test: a} [1]\n\n[1]: b\n[2]: c"},
		"heading":               {"## a\n\nb", "{heading: a}\n\nb"},
		"list":                  {"- a\n  - b\n    - c\n- d", "{item=* : a\n{item=+ : b\n{item=+ : c}}}\n{item=* : d}"},
		"loose list":            {"1) a\n\n   b\n2) c", "{item=1) : a\n\nb}\n\n{item=2) : c}"},
		"tasks":                 {"- [x] a\n- [ ] b", "{item=x : a}\n{item=o : b}"},
		"empty item":            {"-\n- a\n-", "{item=* : }\n{item=* : a}\n{item=* : }"},
		"quote":                 {"> a\n>\n> > b\n\nc", "{quote: a\n\n{quote: b}}\n\nc"},
		"empty quote":           {"> \n\na", "a"},
		"code":                  {"```go\n\n\tx\n\n```", "{pre=go: \tx}"},
		"code without text":     {"```\n```", "{pre: }"},
		"long language":         {"```" + strings.Repeat("l", 40) + "\nx\n```", "{pre: " + strings.Repeat("l", 40) + "\nx}"},
		"code in item":          {"- a\n  ```\n  x\n  ```", "{item=* : a\n{pre: x}}"},
		"rule":                  {"a\n***\nb", "a\n\n***\n\nb"},
		"table":                 {"|a|b|\n|-|-:|\n|`c`|**日本**|", "{table: a |    b\n--+-----\nc | 日本}"},
		"table, wide":           {"|**a**|b|\n|-|-|\n|a long, long `value`|c|\n||d|", "{bold: a}: a long, long {code: value}\n{bold: b}: c\n\n{bold: b}: d"},
		"table, links":          {"|a|\n|-|\n|[b](https://x.test)|", "{bold: a}: {link=https://x.test: b}"},
		"breaks":                {"a<br><br>b\\\nc", "a\n\nb\nc"},
		"break at the end":      {"a<br>\n\nb", "a\n\nb"},
		"control characters":    {"a\x01b\x7f `\x1bc`\n\n```\n\x02d\n```", "ab {code: c}\n\n{pre: d}"},
		"link that turns":       {"[a](https://x.test/\x1b\u202eb)", "{link=https://x.test/%1B%E2%80%AEb: a}"},
		"reference to a break":  {"a&#10;b", "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, bracketed(Parse(c.in).Lay(&linkedStyle))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAttachmentLinksAreListedAndAnnotated(t *testing.T) {
	t.Parallel()
	doc := Parse("[a *b*](attachment:7), ![c](attachment:9) and [again](attachment:7), [d](https://x.test/attachment:1), <attachment:3>\n\n" +
		"[![small](attachment:5)](attachment:4) `[e](attachment:6)` [f][1]\n\n[1]: attachment:8")
	want := []AttachmentRef{{"7", "a b"}, {"9", "c"}, {"3", ""}, {"4", "small"}, {"5", "small"}, {"8", "f"}}
	if diff := cmp.Diff(want, doc.Attachments()); diff != "" {
		t.Error(diff)
	}
	noted := doc.Annotate(map[string]string{"9": "(file not available)", "3": "report.pdf", "x": "y"})
	plain := "a b, c (file not available) and again, d (https://x.test/attachment:1), 📎 report.pdf\n\nsmall `[e](attachment:6)` f"
	if got := noted.Plain(); got != plain {
		t.Errorf("annotated: %q", got)
	}
	if got := doc.Plain(); strings.Contains(got, "available") || strings.Contains(strings.ReplaceAll(got, "(attachment:6)", ""), "(attachment:") {
		t.Errorf("not annotated: %q", got)
	}
	if got := Parse("plain").Attachments(); got != nil {
		t.Errorf("nothing refers to %+v", got)
	}
}

func TestSplitTextKeepsSpansWholeWhereTheyFit(t *testing.T) {
	t.Parallel()
	runes := func(t Text) int { return utf8.RuneCountInString(t.Text) }
	for name, c := range map[string]struct {
		in    string
		limit int
		want  []string
	}{
		"fits":                    {"**a** b", 10, []string{"{bold: a} b"}},
		"link stays whole":        {"aaaa [bb cc](https://x.test) dd", 9, []string{"aaaa", "{link=https://x.test: bb cc} dd"}},
		"bold stays whole":        {"aaaa **bb cc** dd", 9, []string{"aaaa", "{bold: bb cc} dd"}},
		"bold is too long":        {"**aaa bbb ccc**", 8, []string{"{bold: aaa bbb}", "{bold+: ccc}"}},
		"fence stays whole":       {"aaaa\n\nbbb\n\n```\nc\nd\n```", 12, []string{"aaaa\n\nbbb", "{pre: c\nd}"}},
		"fence is too long":       {"```go\naaaa\nbbbb\n\ncccc\n```\n\nd", 9, []string{"{pre=go: aaaa\nbbbb}", "{pre+=go: cccc}\n\nd"}},
		"indented code":           {"```\naaaa\n  bbbb\n```", 8, []string{"{pre: aaaa}", "{pre+:   bbbb}"}},
		"heading stays with text": {"aaaa\n\n# bb\n\ncccc dddd", 15, []string{"aaaa", "{heading: bb}\n\ncccc dddd"}},
		"quote":                   {"> aaa bbb\n> ccc", 9, []string{"{quote: aaa bbb}", "{quote+: ccc}"}},
		"items":                   {"8. aaaa bbbb\n9. cc", 6, []string{"{item=8. : aaaa}", "{item+=8. : bbbb}", "{item=9. : cc}"}},
		"nested items":            {"- aaa\n  - bbb\n  - ccc", 7, []string{"{item=* : aaa\n{item=+ : bbb}}", "{item+=* : {item=+ : ccc}}"}},
		"empty items":             {"aaaa bbbb\n\n-\n-\n- cc", 6, []string{"aaaa", "bbbb", "{item=* : }\n{item=* : }\n{item=* : cc}"}},
		"last item empty":         {"- aaaa bbbb\n-", 4, []string{"{item=* : aaaa}", "{item+=* : bbbb}", "{item=* : }"}},
		"long word in link":       {"a [bbbbbbbb](https://x.test)", 5, []string{"a", "{link=https://x.test: bbbbb}", "{link+=https://x.test: bbb}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, piece := range Parse(c.in).Lay(&linkedStyle).Split(c.limit, runes) {
				got = append(got, bracketed(piece))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPartsReopenWhatIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		limit int
		want  []string
	}{
		"fence":          {"```go\naaaaaaaaaa\nbbbbbbbbbb\ncccccccccc\n```", 32, []string{"```go\naaaaaaaaaa\nbbbbbbbbbb\n```", "```go\ncccccccccc\n```"}},
		"fence in item":  {"1. ```\n   aaaaaaaaaa\n   bbbbbbbbbb\n   ```\n2. c", 36, []string{"1. ```\n   aaaaaaaaaa\n   ```", "   ```\n   bbbbbbbbbb\n   ```\n2. c"}},
		"quote":          {"> aaaaaaaaaa bbbbbbbbbb cccccccccc", 24, []string{"> aaaaaaaaaa bbbbbbbbbb", "> cccccccccc"}},
		"struck out":     {"~~aaaaaaaaaa bbbbbbbbbb cccccccccc~~", 26, []string{"~~aaaaaaaaaa bbbbbbbbbb~~", "~~cccccccccc~~"}},
		"marks too wide": {strings.Repeat("> ", 8) + "aaaaa bbbbb", 12, []string{"aaaaa bbbbb"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, b := range Parse(c.in).Parts(channels.Features{MaxText: c.limit}) {
				got = append(got, b.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// checkText holds what is said of a Text, or of a piece of one.
func checkText(t interface{ Fatalf(string, ...any) }, x Text, whole bool) {
	var open []Span
	for i, s := range x.Spans {
		if s.Start < 0 || s.End > len(x.Text) || s.Start > s.End || i > 0 && s.Start < x.Spans[i-1].Start {
			t.Fatalf("span %d of %q lies badly: %+v", i, x.Text, x.Spans)
		}
		if empty(s) && s.Kind != Item && s.Kind != Pre && s.Kind != Quote {
			t.Fatalf("span %d of %q is empty: %+v", i, x.Text, s)
		}
		inner := x.Text[s.Start:s.End]
		if whole && s.Kind <= Heading && strings.Trim(inner, blank) != inner {
			t.Fatalf("span %d of %q has white space around: %q", i, x.Text, inner)
		}
		open = slices.DeleteFunc(open, func(o Span) bool { return o.End <= s.Start && !empty(s) })
		for _, o := range open {
			if s.End > o.End && o.End > s.Start || !o.Kind.Block() && (s.Kind.Block() && !empty(s) || s.Kind == o.Kind) && o.End > s.Start {
				t.Fatalf("span %+v of %q stands in %+v", s, x.Text, o)
			}
		}
		open = append(open, s)
	}
}

func TestSplitTextByMeasureHoldsTheLimit(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"word", "two words ", " ", "\n", "\n\n", "**", "_", "~~", "||", "`", "```\n", "```go\n", "# ", "> ", "\n> > ", "\n- ", "\n- [ ] ", "\n1. ",
		"    ", "[a](", "](https://x.test)", "\n|a|b|\n|-|-|\n|c|d|\n", "<br>", "😀", "👩‍👩‍👧", "e\u0301", "日本", "\u0301",
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		source := strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "source"), "")
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		var p plainer
		size := func(t Text) int { return utf16Len(p.text(t)) }
		for _, style := range []*Style{&plainStyle, &linkedStyle} {
			x := Parse(source).Lay(style)
			checkText(t, x, true)
			var all strings.Builder
			for i, piece := range x.Split(limit, size) {
				checkText(t, piece, false)
				if got := size(piece); got > limit && utf8.RuneCountInString(piece.Text) > 1 {
					t.Fatalf("piece %d of %q measures %d, not %d: %q", i, source, got, limit, piece.Text)
				}
				all.WriteString(piece.Text)
			}
			if bare(all.String()) != bare(x.Text) {
				t.Fatalf("%q became %q", x.Text, all.String())
			}
		}
	})
}
