package telegramtest

import (
	"strings"
	"testing"
)

// What the platform shows after trimming passes the strict check, for whatever text
// and entities it took.
func FuzzTrimmedTextPasses(f *testing.F) {
	f.Add(" a👋b \n", "bold", 1, 3, "pre", 0, 2)
	f.Add("  code\n", "code", 0, 4, "blockquote", 0, 7)
	f.Add("a\xffb", "italic", 0, 1, "spoiler", 1, 1)
	f.Fuzz(func(t *testing.T, text, typ1 string, at1, n1 int, typ2 string, at2, n2 int) {
		entities := []Entity{{Type: typ1, Offset: at1, Length: n1}, {Type: typ2, Offset: at2, Length: n2}}
		before := checkText(text, entities, len(text))
		if checkEntities(layout(text), entities) != nil {
			if before == nil {
				t.Fatal("bad entities passed")
			}
			return
		}
		trimmed, kept := trim(text, entities)
		if trimmed == "" || strings.ToValidUTF8(text, "") != text {
			return
		}
		if after := checkText(trimmed, kept, Units(text)); after != nil {
			t.Fatalf("%q %+v became %q %+v: %v", text, entities, trimmed, kept, after)
		}
		if before == nil && (trimmed != text || !same(kept, entities)) {
			t.Fatalf("%q passed and was changed to %q %+v", text, trimmed, kept)
		}
	})
}

// Whatever a parse_mode makes of a text lies within that text.
func FuzzParseMode(f *testing.F) {
	f.Add("HTML", `<b>a <i class="x">b</i></b> <pre><code class="language-go">x</code></pre>&lt;`)
	f.Add("MarkdownV2", "*a _b_* `c\\`` ```go\nx``` [l](http://e.org) ||s|| >q\n**>e||")
	f.Fuzz(func(t *testing.T, mode, text string) {
		if strings.ToValidUTF8(text, "") != text {
			return
		}
		shown, entities, rejected := parseMode(mode, text)
		if rejected != nil {
			return
		}
		units := len(layout(shown)) - 1
		for _, e := range append(entities, Detect(shown, entities)...) {
			if e.Offset < 0 || e.Length <= 0 || e.end() > units {
				t.Fatalf("%q became %q with %+v", text, shown, e)
			}
		}
	})
}
