package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct {
		alone   bool
		targets int
	}{
		"":                                       {},
		"a word":                                 {},
		"[a](https://x.test/b) ![](http://y.te)": {targets: 2},
		"[a](https://x.test) http://y.test":      {alone: true},
		"[a](https://x.test":                     {targets: 1},
		"https://x.test":                         {alone: true},
		"(www.x.test)":                           {alone: true},
		"**http://x.test**":                      {alone: true},
		"`a`ftp://x.test":                        {alone: true},
		"awww.x.test":                            {},
		"a@x.test":                               {alone: true},
		"@everyone, a @ b":                       {},
		"a@":                                     {},
	} {
		if alone, targets := addresses([]byte(source)); alone != want.alone || targets != want.targets {
			t.Errorf("%q: %v, %d", source, alone, targets)
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
		full, _ := parsed([]byte(source), gfmAddressed)
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
