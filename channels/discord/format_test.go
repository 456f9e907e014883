package discord

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/render"
	"switchboard/channels/render/rendertest"
	"switchboard/internal/secrets"
)

func formatted(markdown string, limit int) []channels.Body {
	return format(render.Parse(markdown), channels.Features{MaxText: limit})
}

func contentOf(t interface{ Fatal(...any) }, b channels.Body) string {
	text, err := wireText("test", b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFormatIsThatOfTheGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/format/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, b := range formatted(string(source), maxText) {
			got.WriteString(contentOf(t, b) + "\n")
		}
		name := strings.TrimSuffix(file, ".md") + ".golden"
		if *update {
			if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// anyMarkdown is text as models write it, and as nobody does.
func anyMarkdown() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"word", "some more words ", " ", "\n", "\n\n", "**", "*", "_", "~~", "||", "`", "``", "```\n", "```go\n", "~~~\n",
			"# ", "\n## ", "> ", "\n> > ", "- ", "\n- [x] ", "\n1. ", "\n   2) ", "    ", "\n---\n", "[a](", "](https://x.test/a)", "![",
			"\n|a|b|\n|-|:-:|\n|c|`d`|\n", "|", "<br>", "&nbsp;", "&#8203;", "\\", "😀", "👩‍👩‍👧", "e\u0301", "日本", "שלום",
			"https://z.test/q?a=b", "@everyone", "@here", "<@80351110224678912>", "<@&1>", "<#2>", "@", "<", "everyone", "(attachment:1)", "\x00", "\r\n", "\t", "[^1]", "\n[^1]: note\n",
		}),
		rapid.StringN(0, 6, 16),
	)
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 100).Draw(t, "n")
		return strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "pieces"), "")
	})
}

func TestFormatHoldsTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{2000, 2000, 300, 100}).Draw(t, "limit")
		for _, b := range formatted(anyMarkdown().Draw(t, "markdown"), limit) {
			text := contentOf(t, b)
			if render.Units(text) > limit {
				t.Fatalf("%d units of %d: %q", render.Units(text), limit, text)
			}
			if !render.Visible(b.Text) || strings.TrimSpace(text) == "" {
				t.Fatalf("an empty part: %q, %q", b.Text, text)
			}
			bare := outsideCode(text)
			if strings.Contains(bare, "@everyone") || strings.Contains(bare, "@here") || strings.Contains(strings.ReplaceAll(bare, `\<`, ""), "<@") {
				t.Fatalf("somebody is mentioned: %q", text)
			}
			marked := mark(b, "(repeated) ", "\n\n(more)")
			if marked.Text != "(repeated) "+b.Text+"\n\n(more)" || !strings.Contains(contentOf(t, marked), text) {
				t.Fatalf("marked as %+v", marked)
			}
		}
	})
}

// A backtick in an address begins no code: what stands in code further on would be text.
func TestAddressesBeginNoCode(t *testing.T) {
	t.Parallel()
	for _, markdown := range []string{"](https://x.test/a)```\n```\n@everyone", "see https://x.test/a``` and\n\n```\n@here\n```", "[a](https://x.test/a```b)\n\n```\n@here\n```"} {
		for _, b := range formatted(markdown, 2000) {
			if text := contentOf(t, b); strings.Contains(outsideCode(text), "@everyone") || strings.Contains(outsideCode(text), "@here") {
				t.Errorf("%q is sent as %q", markdown, text)
			}
		}
	}
}

// code is lines of code, or a few words of it: nobody is mentioned there.
var code = regexp.MustCompile("(?s)```.*?```|``.*?``|`[^`]*`")

// outsideCode is a text without code.
func outsideCode(text string) string {
	return code.ReplaceAllString(strings.ReplaceAll(text, "\\`", ""), "")
}

func TestPlainTextsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		shown := strings.ReplaceAll(s.Seen(discordtest.Message{Content: escape(text)}), apart, "")
		if want := strings.ReplaceAll(text, apart, ""); shown != want {
			t.Fatalf("%q is sent as %q and shown as %q", text, escape(text), shown)
		}
	}
	for _, text := range []string{"*a* _b_ `c` ~~d~~ ||e||", "# a\n- b\n1. c\n> d", `\*`, "[a](https://x.test/)", "<https://x.test/>", "@everyone <@1>", "https://x.test/a_b_c *d*"} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, anyMarkdown().Draw(t, "text")) })
}

func TestHardTextsTakeNoTime(t *testing.T) {
	for name, hard := range rendertest.Hard() {
		t.Run(name, func(t *testing.T) {
			rendertest.Bounded(t, func() { formatted(hard.Source, maxText) })
		})
	}
}

// masked parses markdown to be shown without rendertest.Secret.
func masked(markdown string) *render.Document {
	return render.Parse(rendertest.Masked(markdown)).Masked(&render.Mask{Find: rendertest.Find, Placeholder: secrets.Placeholder})
}

func TestFormatShowsNoSecretThatMarkupHides(t *testing.T) {
	t.Parallel()
	for name, markdown := range rendertest.Secrets() {
		for _, b := range format(masked(markdown), channels.Features{MaxText: maxText}) {
			if shown := b.Text + contentOf(t, b); strings.Contains(shown, rendertest.SecretPart) || !strings.Contains(shown, "redacted") && name != "address" {
				t.Errorf("%s: %q becomes %s", name, markdown, shown)
			}
		}
	}
}
