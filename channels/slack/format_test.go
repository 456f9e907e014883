package slack

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/render/rendertest"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/secrets"
)

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var looks = []struct{ markdown, text, rich string }{
	{"plain", "plain", `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"plain"}]}]}]`},
	{
		"**b** *i* ~~s~~ `c` [l](https://a.example)", "b i s c l",
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[` +
			`{"type":"text","text":"b","style":{"bold":true}},{"type":"text","text":" "},{"type":"text","text":"i","style":{"italic":true}},{"type":"text","text":" "},` +
			`{"type":"text","text":"s","style":{"strike":true}},{"type":"text","text":" "},{"type":"text","text":"c","style":{"code":true}},{"type":"text","text":" "},` +
			`{"type":"link","text":"l","url":"https://a.example"}]}]}]`,
	},
	{
		"one\n\n```go\nx := 1\n\ny\n```\n\ntwo", "one\nx := 1\n\ny\ntwo",
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]},` +
			`{"type":"rich_text_preformatted","elements":[{"type":"text","text":"x := 1\n\ny"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"two"}]}]}]`,
	},
	{
		"> quoted\n> more\n\nafter", "quoted\nmore\nafter",
		`[{"type":"rich_text","elements":[{"type":"rich_text_quote","elements":[{"type":"text","text":"quoted\nmore"}]},` +
			`{"type":"rich_text_section","elements":[{"type":"text","text":"after"}]}]}]`,
	},
	{"- a\n  - b\n- c", "• a\n    ◦ b\n• c", ""},
	{"1. a\n2. b\n\n   more", "1. a\n\n2. b\n\n    more", ""},
	{"# Head\n\ntext", "Head\n\ntext", ""},
	{"| a | b |\n|---|---|\n| 1 | 2 |", "", `"rich_text_preformatted"`},
	{"[x]: https://a.example", "[x]: https://a.example", ""},
}

func TestFormatLooksAsItIsMeant(t *testing.T) {
	t.Parallel()
	c := New("sl", Config{}, discard())
	for _, l := range looks {
		bodies := c.Format(render.Parse(l.markdown), c.Features(channels.Conversation{}))
		if len(bodies) != 1 {
			t.Fatalf("%q has %d parts", l.markdown, len(bodies))
		}
		if l.text != "" && bodies[0].Text != l.text {
			t.Errorf("%q shows %q, want %q", l.markdown, bodies[0].Text, l.text)
		}
		if !strings.Contains(string(bodies[0].Rich), l.rich) {
			t.Errorf("%q is\n%s, want\n%s", l.markdown, bodies[0].Rich, l.rich)
		}
	}
}

func TestMarkStandsInTextAndBlocks(t *testing.T) {
	t.Parallel()
	c := New("sl", Config{}, discard())
	for _, markdown := range []string{"text **b**", "```\ncode\n```"} {
		body := c.Format(render.Parse(markdown), c.Features(channels.Conversation{}))[0]
		marked := c.Mark(body, "(repeated) ", "\nbelow")
		if !strings.HasPrefix(marked.Text, "(repeated) ") || !strings.Contains(string(marked.Rich), "(repeated)") || !strings.Contains(string(marked.Rich), `"below"`) {
			t.Errorf("%+v, %s", marked, marked.Rich)
		}
	}
	if marked := c.Mark(channels.Body{Text: "x"}, "a ", " b"); marked.Text != "a x b" || marked.Rich != nil {
		t.Errorf("%+v", marked)
	}
}

// Whatever is rendered, the platform takes it, and each part is within the limit.
func FuzzFormat(f *testing.F) {
	for _, l := range looks {
		f.Add(l.markdown)
	}
	f.Add(strings.Repeat("**b** `c` [l](https://a.example/x) ", 400))
	f.Add(strings.Repeat("| a | b |\n", 3) + strings.Repeat("<!channel> \"q\" \\ \n", 500))
	f.Add("> > a\n> ```\n> x\n> ```\n> - y\n\n||z||")
	f.Fuzz(func(t *testing.T, markdown string) {
		c := New("sl", Config{}, discard())
		features := c.Features(channels.Conversation{})
		for _, body := range c.Format(render.Parse(markdown), features) {
			if n := render.Units(body.Text); n > maxText+1 {
				t.Errorf("a part is %d long", n)
			}
			if !utf8.ValidString(body.Text) {
				t.Error("a part is no UTF-8")
			}
			if body.Rich == nil {
				continue
			}
			list, err := blocks("test", body)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			if why := slacktest.CheckBlocks(string(data)); why != nil {
				t.Errorf("%v: %s", why, data)
			}
			if n := len(fallback(body.Text)); n > maxFallback+3 {
				t.Errorf("the text for notifications is %d long", n)
			}
		}
	})
}

// masked parses markdown to be shown without rendertest.Secret.
func masked(markdown string) *render.Document {
	return render.Parse(rendertest.Masked(markdown)).Masked(&render.Mask{Find: rendertest.Find, Placeholder: secrets.Placeholder})
}

func TestFormatShowsNoSecretThatMarkupHides(t *testing.T) {
	t.Parallel()
	for name, markdown := range rendertest.Secrets() {
		for _, b := range new(Client).Format(masked(markdown), channels.Features{MaxText: maxText}) {
			if shown := b.Text + string(b.Rich); strings.Contains(shown, rendertest.SecretPart) || !strings.Contains(shown, "redacted") && name != "address" {
				t.Errorf("%s: %q becomes %s", name, markdown, shown)
			}
		}
	}
}
