package telegram

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"switchboard/channels"
	"switchboard/channels/render"
)

// anyMarkdown is text as models write it, and as nobody does.
func anyMarkdown() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"word", "some more words ", " ", "\n", "\n\n", "**", "*", "_", "~~", "||", "`", "``", "```\n", "```go\n", "~~~\n",
			"# ", "\n## ", "> ", "\n> > ", "- ", "\n- [x] ", "\n1. ", "\n   2) ", "    ", "\n---\n", "[a](", "](https://x.test/a)", "![", "[x][y]", "\n[y]: https://y.test\n",
			"\n|a|b|\n|-|:-:|\n|c|`d`|\n", "|", "<br>", "<b>", "&nbsp;", "&#10;", "&#8203;", "\\", "😀", "👩‍👩‍👧", "🇩🇪", "e\u0301", "日本", "שלום",
			"https://z.test/q?a=b", "tg://user?id=1", "@everyone", "@", "[ann](tg://user?id=1)", "(attachment:1)", "\u0301", "\u200b", "\x00", "\r\n", "\t", "[^1]", "\n[^1]: note\n",
		}),
		rapid.StringN(0, 6, 16),
	)
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 100).Draw(t, "n")
		return strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "pieces"), "")
	})
}

// letters is s without what a cut may drop or put in.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '>' || !render.Visible(string(r)) {
			return -1
		}
		return r
	}, s)
}

// checkKept holds that the parts show everything, in order.
func checkKept(t formatFatal, markdown string, bodies []channels.Body) {
	t.Helper()
	var e formatEmitter
	render.Parse(markdown).Lay(&formatStyle).Emit(&e)
	whole, _ := e.end()
	var all strings.Builder
	for _, b := range bodies {
		all.WriteString(b.Text)
	}
	if got, want := letters(all.String()), letters(whole); got != want && render.Visible(whole) {
		t.Fatalf("%q is shown as\n%q, not\n%q", markdown, got, want)
	}
}

func TestFormatIsNeverRefused(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{"**bold `code` bold**", "~~*a `b` c*~~ **`d`**", "> **a\n> `b`**\n> ```\n> c\n> ```\n", "[a `b` **c**](https://x.test/)", "> a **b `c`** [`d`](https://x.test/)\n> > `e`"} {
		for _, limit := range []int{4096, 20, 7} {
			checkTaken(t, markdown, limit)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		checkTaken(t, anyMarkdown().Draw(t, "markdown"), rapid.SampledFrom([]int{4096, 4096, 200, 64, 20, 7}).Draw(t, "limit"))
	})
}

// checkTaken holds that the platform takes every part as it is, and as a repeat.
func checkTaken(t formatFatal, markdown string, limit int) {
	t.Helper()
	bodies := formatted(markdown, limit)
	checkFormat(t, bodies, limit)
	if limit >= 200 {
		checkKept(t, markdown, bodies)
	}
	for i, b := range bodies {
		const again, more = "(repeated) ", "\n\n(more)"
		marked := mark(b, again, more)
		checkFormat(t, []channels.Body{marked}, limit+len(again+more))
		if marked.Text != again+b.Text+more || (marked.Rich == nil) != (b.Rich == nil) {
			t.Fatalf("part %d is marked as %+v", i, marked)
		}
	}
}

func TestFormatCutsNoLinkAndNoFence(t *testing.T) {
	t.Parallel()
	words := rapid.StringMatching(`[a-z]{1,9}( [a-z日]{1,9}){0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		var source strings.Builder
		whole := map[string]bool{} // every stretch that has to stay in one entity
		var fences []string
		for i := range rapid.IntRange(1, 12).Draw(t, "blocks") {
			text := fmt.Sprintf("x%d %s", i, words.Draw(t, "words"))
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&source, "%s [%s](https://x.test/%d) %s\n\n", words.Draw(t, "before"), text, i, words.Draw(t, "behind"))
				whole[fmt.Sprintf("text_link  https://x.test/%d %s", i, text)] = true
			case 1:
				fmt.Fprintf(&source, "%s **%s** %s\n", words.Draw(t, "before"), text, words.Draw(t, "behind"))
				whole["bold   "+text] = true
			case 2:
				fmt.Fprintf(&source, "```go\n%s\n\n  %s\n```\n\n", text, text)
				whole[fmt.Sprintf("pre go  %s\n\n  %s", text, text)] = true
			case 3:
				lines := strings.Repeat(text+"\n", rapid.IntRange(4, 30).Draw(t, "lines"))
				fmt.Fprintf(&source, "```sh\n%s```\n", lines)
				fences = append(fences, strings.TrimSuffix(lines, "\n"))
			case 4:
				fmt.Fprintf(&source, "%s\n\n> %s\n\n", words.Draw(t, "paragraph"), text)
			}
		}
		const limit = 260
		bodies := formatted(source.String(), limit)
		var code []string
		for i, entities := range checkFormat(t, bodies, limit) {
			for _, e := range entities {
				shown := entityText(bodies[i].Text, e)
				delete(whole, fmt.Sprintf("%s %s %s %s", e.Type, e.Language, e.URL, shown))
				if e.Type == "pre" && e.Language == "sh" {
					code = append(code, shown)
				}
			}
		}
		for missing := range whole {
			t.Fatalf("%q is not in one piece:\n%s\n%v", missing, source.String(), bodies)
		}
		if got, want := strings.Join(code, "\n"), strings.Join(fences, "\n"); got != want {
			t.Fatalf("the code is\n%q, not\n%q", got, want)
		}
		checkKept(t, source.String(), bodies)
	})
}

func TestFormatMentionsNobody(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{
		"[Ann](tg://user?id=1)", "[Ann](TG://user?id=1)", "<tg://user?id=1>", "[Ann][1]\n\n[1]: tg://user?id=1", "![Ann](tg://user?id=1)",
		`[Ann](tg:\//user?id=1)`, "[Ann](&#116;g://user?id=1)", "|a|\n|-|\n|[Ann](tg://user?id=1)|", "[**Ann**](tg:user?id=1)", "[Ann](mention:1)",
	} {
		bodies := formatted(markdown, 4096)
		for i, entities := range checkFormat(t, bodies, 4096) {
			for _, e := range entities {
				if e.Type == "text_link" || e.User != nil {
					t.Errorf("%q: part %d has %+v", markdown, i, e)
				}
			}
			if b := bodies[i].Text; !strings.Contains(b, "1") {
				t.Errorf("%q hides where it leads: %q", markdown, b)
			}
		}
	}
}

// The platform finds the names in a text by itself; checkFormat asks its fake. What is
// no name stays as it is.
func TestFormatMentionsNobodyByName(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{
		"@ann", "ask @ann_b.", "(@ann)", "@@ann", "/@ann", "**@**ann", "@**ann**", "@*a*nn", "*@ann*", "[@ann](tg://user?id=1)",
		"[@ann](https://nohost/)", "- @ann\n- > @ann", "|@ann|\n|-|\n|x|", "http://nohost/@ann", "@gif @42", "日本 @ann",
	} {
		for _, limit := range []int{4096, 3} {
			checkFormat(t, formatted(markdown, limit), limit)
		}
		if text := formatted(markdown, 4096)[0].Text; !strings.Contains(letters(text), "@") {
			t.Errorf("%q is shown as %q", markdown, text)
		}
	}
	for _, text := range []string{"write to ann@example.org", "5 @ 3", "a @-b", "`@ann`", "```\n@ann\n```", "https://x.test/@ann", "[@ann](https://x.test/)"} {
		for _, body := range formatted(text, 4096) {
			if strings.Contains(body.Text, "\u2060") {
				t.Errorf("%q is shown as %q", text, body.Text)
			}
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{
		"# a `b` c\n- b\n  > c\n  > > d", "| a |\n|---|\n| [b](https://x.test) |", "```go\n\tx\n```", "**a `b` *c* ||d||**",
		"- ```\n      a\n  ```\n-\n1. > ![x](attachment:1)", "&nbsp;**a**&nbsp;", "a\x00**b\x01**\x7f", "[a](https://x.test/\u2028b)",
	} {
		f.Add(s, 4096)
		f.Add(s, 9)
	}
	f.Fuzz(func(t *testing.T, markdown string, limit int) {
		if len(markdown) > 4096 || limit < 2 {
			return
		}
		limit = min(limit, 4096)
		bodies := formatted(markdown, limit)
		checkFormat(t, bodies, limit)
		if limit >= 200 {
			checkKept(t, markdown, bodies)
		}
	})
}
