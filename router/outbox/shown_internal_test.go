package outbox

import (
	"strings"
	"testing"

	"switchboard/channels/render"
	"switchboard/channels/render/rendertest"
	"switchboard/internal/secrets"
)

// Whatever a text that grows ends with, no good part of a secret is shown of it, in a draft or
// by clients that lay it out themselves; what is shown goes on where the secret is over.
func TestGrowingTextShowsNoSecretThatMarkupHides(t *testing.T) {
	t.Parallel()
	mask := secrets.NewMasker(rendertest.Secret)
	l := &Composer{Mask: mask}
	links := render.Style{Bullets: []string{"- "}, Link: func(string) bool { return true }}
	marks := strings.NewReplacer("*", "", "_", "", "~", "", "|", "", "`", "", "\n", "", " ", "", "\x00", "", "\u200b", "")
	for name, markdown := range rendertest.Secrets() {
		if name == "address" {
			continue // nothing of it is in the text
		}
		markdown += "\n\nThat is all."
		growing := mask.Growing()
		for i := range len(markdown) + 1 {
			text := growing(markdown[:i])
			for way, shown := range map[string]string{
				"a draft": l.shown(text, true).doc.Lay(&links).Text, "a client": render.Parse(l.Grown(text)).Plain(),
			} {
				if name == "link" && way == "a client" {
					continue // to which the address stands within the secret
				}
				if strings.Contains(marks.Replace(shown), rendertest.SecretPart) {
					t.Errorf("%s: %s shows %q of %q", name, way, shown, markdown[:i])
				}
				if i == len(markdown) && (!strings.Contains(shown, "[redacted]") || !strings.HasSuffix(shown, "That is all.")) {
					t.Errorf("%s: in the end %s shows %q", name, way, shown)
				}
			}
		}
	}
	if got := l.shown("It is Zq9C&#97;n", true).doc.Plain(); got != "It is " {
		t.Errorf("%q is shown", got)
	}
	if got := l.shown("Zq9C&#97;n", true).doc.Plain(); got != "…" {
		t.Errorf("%q is shown where all is held back", got)
	}
	mask.Add("sk-proj-4711-kestrel")
	if got := l.shown("It is sk-p**ro&#106;", true).doc.Plain(); got != "It is " {
		t.Errorf("%q is shown", got)
	}
	if text := "Nothing of **that** is held back, Z"; l.Grown(text) != text {
		t.Errorf("%q is shown", l.Grown(text))
	}
}
