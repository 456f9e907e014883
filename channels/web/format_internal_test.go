package web

import (
	"strings"
	"testing"
)

// Code of a page is highlighted as long as there is time for all of it, and shown plain then.
func TestHighlightingOfAPageIsBounded(t *testing.T) {
	t.Parallel()
	f := newFormatter(func(path string) string { return path })
	const code = "```go\nfunc a() {}\n```"
	left := new(highlightPage)
	if html := string(f.text(code, left)); !strings.Contains(html, `class="k"`) || *left >= highlightPage || *left < highlightPage-highlightFor {
		t.Errorf("with %v left:\n%s", *left, html)
	}
	for range 2 {
		*left = min(*left, 0)
		if html := string(f.text(code, left)); !strings.Contains(html, "<code>func a() {}") {
			t.Errorf("with no time left:\n%s", html)
		}
	}
	if html := string(f.text(code, nil)); !strings.Contains(html, `class="k"`) {
		t.Errorf("alone:\n%s", html)
	}
}

// A line stays one, as on every other channel.
func TestLinesStay(t *testing.T) {
	t.Parallel()
	if html := string(newFormatter(nil).text("To see it: /jobs 1\nTo cancel it: /jobs 1 delete", nil)); !strings.Contains(html, "/jobs 1<br") {
		t.Error(html)
	}
}

// A text links to the web, to addresses of mail and to files of ours, and to nothing else.
func TestTextsLinkToFewSchemes(t *testing.T) {
	t.Parallel()
	f := newFormatter(func(path string) string { return "/bot" + path })
	for to, want := range map[string]string{
		"https://example.org/a?b=c": `href="https://example.org/a?b=c"`, "HTTP://example.org": `href="http://example.org"`, "mailto:ann@example.org": `href="mailto:ann@example.org"`,
		"attachment:7":        `href="/bot/files/7"`,
		"javascript:alert(1)": "", "JaVaScRiPt:alert(1)": "", "java&Tab;script:alert(1)": "", "&#1;javascript:alert(1)": "", "data:text/html,x": "", "vbscript:x": "", "file:///etc/passwd": "",
		"blob:https://example.org/x": "", "tg://resolve?domain=x": "", "/signout": "", "//example.org": "", "signout": "", "?x": "", "#x": "",
	} {
		for _, markdown := range []string{"[x](<" + to + ">)", "![x](<" + to + ">)", "[x][y]\n\n[y]: <" + to + ">"} {
			html := string(f.text(markdown, nil))
			if want == "" && strings.Contains(html, "href") || !strings.Contains(html, want) {
				t.Errorf("%s is\n%s", markdown, html)
			}
		}
	}
}
