package telegram

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/render/rendertest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/secrets"
)

var formatUpdate = flag.Bool("update", false, "rewrite the golden files")

// formatted renders markdown in parts of at most limit units.
func formatted(markdown string, limit int) []channels.Body {
	return format(render.Parse(markdown), channels.Features{MaxText: limit, Measure: render.Units})
}

// formatFatal is what fails a test, a fuzz case or a property.
type formatFatal interface {
	Helper()
	Fatalf(string, ...any)
}

// checkFormat holds every part against the rules of the platform, and returns the
// entities by part.
func checkFormat(t formatFatal, bodies []channels.Body, limit int) [][]telegramtest.Entity {
	t.Helper()
	if len(bodies) == 0 {
		t.Fatalf("no part")
	}
	all := make([][]telegramtest.Entity, len(bodies))
	for i, b := range bodies {
		if b.Rich != nil {
			if err := json.Unmarshal(b.Rich, &all[i]); err != nil {
				t.Fatalf("part %d: %v", i, err)
			}
		}
		if err := telegramtest.CheckText(b.Text, all[i], limit); err != nil {
			t.Fatalf("part %d is refused: %v\n%q\n%s", i, err, b.Text, b.Rich)
		}
		for _, e := range telegramtest.Detect(b.Text, all[i]) {
			if e.Type == "mention" {
				t.Fatalf("part %d mentions %q:\n%q\n%s", i, entityText(b.Text, e), b.Text, b.Rich)
			}
		}
		if len(all[i]) > formatMaxEntities {
			t.Fatalf("part %d has %d entities", i, len(all[i]))
		}
		for n, e := range all[i] {
			switch e.Type {
			case "bold", "italic", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote":
			default:
				t.Fatalf("part %d has an entity of type %s", i, e.Type)
			}
			if n > 0 && e.Offset < all[i][n-1].Offset {
				t.Fatalf("the entities of part %d are not sorted: %s", i, b.Rich)
			}
			if shown := entityText(b.Text, e); strings.TrimSpace(shown) == "" || strings.TrimRight(shown, " \n") != shown {
				t.Fatalf("part %d: entity %+v is %q", i, e, shown)
			}
		}
	}
	return all
}

// entityText is what e marks.
func entityText(text string, e telegramtest.Entity) string {
	units := utf16.Encode([]rune(text))
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}

// described is a part as the golden files have it.
func described(b channels.Body, entities []telegramtest.Entity) string {
	var out strings.Builder
	out.WriteString(b.Text + "\n")
	for _, e := range entities {
		fmt.Fprintf(&out, "-- %d+%d %s%s%s %q\n", e.Offset, e.Length, e.Type,
			strings.TrimSuffix(" "+e.URL, " "), strings.TrimSuffix(" "+e.Language, " "), entityText(b.Text, e))
	}
	return out.String()
}

func TestFormatIsThatOfTheGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/format/*.md")
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
			limit := 4096
			if strings.HasPrefix(filepath.Base(file), "long_") {
				limit = 400
			}
			bodies := formatted(string(source), limit)
			var parts []string
			for i, entities := range checkFormat(t, bodies, limit) {
				parts = append(parts, described(bodies[i], entities))
			}
			got := strings.Join(parts, "======\n")
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			if *formatUpdate {
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

func TestFormatIsBounded(t *testing.T) {
	for name, c := range rendertest.Hard() {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{4096, 100} {
				var bodies []channels.Body
				rendertest.Bounded(t, func() { bodies = formatted(c.Source, limit) })
				size := 0
				for _, b := range bodies {
					size += len(b.Text) + len(b.Rich)
				}
				// An entity takes fifty bytes; what it marks may take one.
				if most := 64*len(c.Source) + 1<<16; size > most {
					t.Errorf("%d bytes became %d", len(c.Source), size)
				}
				checkFormat(t, bodies, limit)
			}
		})
	}
}

func TestOnlyAddressesThePlatformTakesAreLinks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://x.test":                                      true,
		"HTTP://X.test:8080/a?b=c#d":                          true,
		"https://münchen.example/ä":                           true,
		"https://192.0.2.1/":                                  true,
		"https://x.test/" + strings.Repeat("a", 9):            true,
		"https://x.test/" + strings.Repeat("a", formatMaxURL): false,
		"http://localhost:8080":                               false,
		"http://x.test:0":                                     false,
		"http://x.test:99999":                                 false,
		"http://.test":                                        false,
		"http://a..test":                                      false,
		"http://a_b.test":                                     false,
		"http://user@x.test":                                  false,
		"https://[2001:db8::1]/":                              false,
		"https://x.test/a b":                                  false,
		"https://x.test/\u2028":                               false,
		"ftp://x.test":                                        false,
		"tg://user?id=1":                                      false,
		"tg:user?id=1":                                        false,
		"mailto:a@x.test":                                     false,
		"javascript:alert(1)//a.b":                            false,
		"//x.test":                                            false,
		"x.test":                                              false,
		"":                                                    false,
		"%":                                                   false,
	} {
		if got := formatLinkable(address); got != want {
			t.Errorf("%.60q: %v", address, got)
		}
	}
}

func TestTextWithNothingToSeeIsAnEllipsis(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "…",
		" \n":                      "…",
		"&#8203;":                  "&#8203;", // a space without width: its source can be seen
		"\u200b\u2060\ufe0f\u2800": "…",
		"\x01":                     "…",
		"[1]: https://x.test":      "[1]: https://x.test",
		"![](attachment:1)":        "📎",
		"-":                        "•",
		"**&nbsp;**":               "**&nbsp;**",
	} {
		bodies := formatted(in, 4096)
		checkFormat(t, bodies, 4096)
		if len(bodies) != 1 || bodies[0].Text != want {
			t.Errorf("%q is shown as %+v, not %q", in, bodies, want)
		}
	}
}

func TestFormatHoldsTheLimitOfEntities(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("**a** *b* ", 120) // 240 entities
	bodies := formatted(many, 4096)
	if all := checkFormat(t, bodies, 4096); len(all) != 3 || len(all[0]) != formatMaxEntities {
		t.Errorf("%d parts, the first with %d entities", len(all), len(all[0]))
	}
	emoji := strings.Repeat("😀", 3000) // two units each
	if bodies := formatted(emoji, 4096); len(bodies) != 2 || render.Units(bodies[0].Text) != 4096 {
		t.Errorf("%d parts", len(bodies))
	}
	if bodies := format(render.Parse(strings.Repeat("a ", 9000)), channels.Features{}); len(bodies) != 1 {
		t.Errorf("without a limit there are %d parts", len(bodies))
	}
}

func TestMarkMovesTheEntities(t *testing.T) {
	t.Parallel()
	body := formatted("a **b**", 4096)[0]
	got := mark(body, "😀 ", "")
	if got.Text != "😀 a b" || string(got.Rich) != `[{"type":"bold","offset":5,"length":1}]` {
		t.Errorf("%q %s", got.Text, got.Rich)
	}
	if string(body.Rich) != `[{"type":"bold","offset":2,"length":1}]` {
		t.Errorf("the original has changed: %s", body.Rich)
	}
	if got := mark(channels.Body{Text: "a", Rich: json.RawMessage(`{`)}, "b ", ""); got.Text != "b a" || got.Rich != nil {
		t.Errorf("what cannot be read became %+v", got)
	}
}

// masked parses markdown to be shown without rendertest.Secret.
func masked(markdown string) *render.Document {
	return render.Parse(rendertest.Masked(markdown)).Masked(&render.Mask{Find: rendertest.Find, Placeholder: secrets.Placeholder})
}

func TestFormatShowsNoSecretThatMarkupHides(t *testing.T) {
	t.Parallel()
	for name, markdown := range rendertest.Secrets() {
		for _, limit := range []int{maxText, 30} {
			bodies := format(masked(markdown), channels.Features{MaxText: limit, Measure: render.Units})
			checkFormat(t, bodies, limit)
			for _, b := range bodies {
				if shown := b.Text + string(b.Rich); strings.Contains(shown, rendertest.SecretPart) || limit == maxText && !strings.Contains(shown, "redacted") && name != "address" {
					t.Errorf("%s: %q becomes %s", name, markdown, shown)
				}
			}
		}
	}
	// What stands around it looks as it did.
	got := format(masked(`**is 😀 Zq9Can**_ary"kestrel&47 it_ **so**`), channels.Features{MaxText: maxText, Measure: render.Units})
	want := `[{"type":"bold","offset":0,"length":5},{"type":"italic","offset":17,"length":2},{"type":"bold","offset":20,"length":2}]`
	if len(got) != 1 || got[0].Text != "is 😀 [redacted] it so" || string(got[0].Rich) != want {
		t.Errorf("%+v, not %s", got, want)
	}
}
