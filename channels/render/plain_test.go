package render

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestPlainIsThatOfTheGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plain/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := Parse(string(source)).Plain() + "\n"
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestEveryElementHasAPlainForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"empty":                {"", ""},
		"plain":                {"It is 9:41.", "It is 9:41."},
		"line breaks stay":     {"one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"},
		"emphasis":             {"**so** *very* ~~not~~ `a*b`", "so very ~~not~~ `a*b`"},
		"escapes":              {`\*not\* &amp; &#65; \&amp; &nonsense; & a;b`, "*not* & A &amp; &nonsense; & a;b"},
		"link":                 {"see [the page](https://x.test/a_b) now", "see the page (https://x.test/a_b) now"},
		"bare link":            {"https://x.test/a?b=1&c=2", "https://x.test/a?b=1&c=2"},
		"link of itself":       {"[https://x.test](https://x.test)", "https://x.test"},
		"mail":                 {"<a@x.test>", "a@x.test"},
		"empty link":           {"[](https://x.test)", "https://x.test"},
		"image":                {"![a cat](https://x.test/c.png)", "a cat (https://x.test/c.png)"},
		"reference link":       {"[a][1]\n\n[1]: https://x.test", "a (https://x.test)"},
		"numbers go on":        {"7. a\n8. b", "7. a\n8. b"},
		"wide numbers":         {"9. a\n10. b\n\n    c", "9. a\n\n10. b\n\n    c"},
		"nested":               {"- a\n  - b\n    1. c\n- d", "- a\n  - b\n    1. c\n- d"},
		"tasks":                {"- [x] done\n- [ ] open", "- [x] done\n- [ ] open"},
		"empty item":           {"-\n- b", "-\n- b"},
		"quote":                {"> a\n> b\n>\n> - c\n\nd", "> a\n> b\n>\n> - c\n\nd"},
		"code":                 {"```go\nx := 1\n\n  y\n```\nend", "```go\nx := 1\n\n  y\n```\n\nend"},
		"code with fence":      {"````\n```\n````", "````\n```\n````"},
		"code in item":         {"- a\n\n      x\n", "- a\n\n  ```\n  x\n  ```"},
		"html stays":           {"a <b>c</b><br>d", "a <b>c</b>\nd"},
		"html block":           {"<div>\nx\n</div>", "<div>\nx\n</div>"},
		"rule":                 {"a\n\n---\n\nb", "a\n\n---\n\nb"},
		"heading":              {"# A *b*\n\ntext", "A b\n===\n\ntext"},
		"invalid UTF-8":        {"a\xffb", "a\uFFFDb"},
		"character reference":  {"&#27;[2J", "\x1b[2J"},
		"table wide cells":     {"| a | 名前 |\n|---|--:|\n| 日本 | 1 |\n| 👩‍👩‍👧 | x |", "a    | 名前\n-----+-----\n日本 |    1\n👩‍👩‍👧   |    x"},
		"definition alone":     {"[1]: https://x.test", ""},
		"right to left":        {"שלום **עולם**", "שלום עולם"},
		"table without body":   {"| a | b |\n|---|---|", "a | b\n--+--"},
		"table, escaped pipes": {"| a |\n|---|\n| x \\| y |", "a\n-----\nx | y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Parse(c.in).Plain(); got != c.want {
				t.Errorf("Plain(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

// words are what every rendering must keep, in order.
func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func TestPlainKeepsEveryWord(t *testing.T) {
	t.Parallel()
	block := rapid.SampledFrom([]string{
		"%s", "# %s", "> %s", "- %s\n- %s", "> - %s\n>   > %s", "```\n%s\n%s\n```", "**%s** *%s*",
		"a `%s` b", "[%s](http://%s.test)", "| %s | %s |\n|---|:-:|\n| %s | %s |", "3) %s\n   %s", "~~%s~~", "    %s",
	})
	word := rapid.StringMatching(`[a-zäß日本]{1,30}`)
	rapid.Check(t, func(t *rapid.T) {
		var source strings.Builder
		var want []string
		for range rapid.IntRange(1, 6).Draw(t, "blocks") {
			b := block.Draw(t, "block")
			for strings.Contains(b, "%s") {
				w := "q" + word.Draw(t, "word")
				b = strings.Replace(b, "%s", w, 1)
				want = append(want, w)
			}
			source.WriteString(b + "\n\n")
		}
		got := wordsOf(Parse(source.String()).Plain())
		for _, w := range got {
			if len(want) > 0 && w == want[0] {
				want = want[1:]
			}
		}
		if len(want) > 0 {
			t.Fatalf("%q is lost or out of order:\n%s", want[0], Parse(source.String()).Plain())
		}
	})
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"# a\n- b\n  > c", "| a |\n|---|\n| b |", "1. a\n\n\tb", "&#0;&amp", "[a](b \"c\")", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		got := Parse(s).Plain()
		if got != strings.ToValidUTF8(got, "") {
			t.Errorf("%q is rendered as invalid UTF-8 %q", s, got)
		}
		if got != Parse(s).Plain() {
			t.Errorf("%q is rendered in two ways", s)
		}
	})
}

func BenchmarkParsePlain(b *testing.B) {
	source, err := os.ReadFile("testdata/plain/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(string(source)).Plain()
	}
}
