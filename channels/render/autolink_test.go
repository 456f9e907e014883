package render

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/util"
	"pgregory.net/rapid"
)

// gfmFull looks for addresses as the library does.
var gfmFull = newParser(util.Prioritized(extension.NewLinkifyParser(), 999))

func TestLinksAndBareAddressesAreFoundApart(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]found{
		"":                                       {},
		"a word":                                 {},
		"[a](https://x.test/b) ![](http://y.te)": {targets: 2},
		"[a](https://x.test) http://y.test":      {web: true},
		"[a](https://x.test":                     {targets: 1},
		"https://x.test":                         {web: true},
		"(www.x.test)":                           {web: true},
		"**http://x.test**":                      {web: true},
		"`a`ftp://x.test":                        {web: true},
		"awww.x.test":                            {},
		"a@x.test":                               {mail: true},
		"@everyone, a @ b":                       {},
		"a@":                                     {},
	} {
		if got := addresses([]byte(source)); got != want {
			t.Errorf("%q: %+v", source, got)
		}
	}
}

// What is read without looking for addresses is read as if there had been a look.
func TestAddressesAreFound(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"a", "x.test", " ", "\n", "*", "_", "~", "(", ")", "](", "[", "`", "<", ">", "\\", "|", "/", "!",
		"http:", "https://", "ftp://", "www.", "@", "word", "[a](https://x.test/*b*)", "[a](<http://x.test>)",
	})
	check := func(t interface{ Fatalf(string, ...any) }, source string) {
		full, _ := parsed([]byte(source), gfmFull, found{})
		if got, want := bracketed(Parse(source).Lay(&linkedStyle)), bracketed(full.Lay(&linkedStyle)); got != want {
			t.Fatalf("%q is read as %s, not %s", source, got, want)
		}
	}
	check(t, `\[a](https://x.test/*b*)`)
	check(t, "`[a](https://x.test)` [b](https://x.test/*c*")
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "source"), ""))
	})
}
