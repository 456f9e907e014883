package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"switchboard/internal/secrets"
)

const canary = `Canary/+7%"<&>=zebra?x`

// written are the ways in which a value is written that a Masker knows.
func written(value string) map[string]string {
	escaped, _ := json.Marshal(value)
	forms := map[string]string{
		"plain":       value,
		"hex":         hex.EncodeToString([]byte(value)),
		"hex, large":  strings.ToUpper(hex.EncodeToString([]byte(value))),
		"query":       url.QueryEscape(value),
		"path":        url.PathEscape(value),
		"small":       strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3E", "%3e", "%3D", "%3d", "%3F", "%3f").Replace(url.QueryEscape(value)),
		"json":        string(escaped[1 : len(escaped)-1]),
		"json, quote": fmt.Sprintf("%q", value)[1:],
		"html":        html.EscapeString(value),
		"across":      value[:9] + "\r\n" + value[9:],
	}
	for i := range 3 {
		before := strings.Repeat("x", i)
		forms[fmt.Sprintf("base64 %d", i)] = base64.StdEncoding.EncodeToString([]byte(before + value + "yz"))
		forms[fmt.Sprintf("base64 url %d", i)] = base64.RawURLEncoding.EncodeToString([]byte(before + value))
	}
	mime := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some text ", 4) + value + " and more of it"))
	forms["base64, in lines"] = mime[:66] + "\n" + mime[66:]
	return forms
}

// kept says that a text gives the value away; letters at both ends of base64 do not.
func kept(text, form string) bool {
	core := strings.NewReplacer("\n", "", "\r", "").Replace(form)
	text = strings.NewReplacer("\n", "", "\r", "").Replace(text)
	for i := 0; i+10 <= len(core)-6; i++ {
		if i >= 6 && strings.Contains(text, core[i:i+10]) && !strings.Contains("some text some text", core[i:i+10]) {
			return true
		}
	}
	return false
}

func TestKnownValuesAreMaskedInEveryEncoding(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker(canary, "another-value-1")
	for name, form := range written(canary) {
		text := "before " + form + " after"
		if name == "base64, in lines" {
			text = form
		}
		got := m.Text(text)
		if !strings.Contains(got, "[redacted]") || strings.Contains(got, form) || name != "base64, in lines" && kept(got, form) {
			t.Errorf("%s: %q is left of %q", name, got, text)
		}
		if string(m.Bytes([]byte(text))) != got {
			t.Errorf("%s: bytes are masked otherwise", name)
		}
	}
	for _, text := range []string{"", "plain words", "Canary", strings.Repeat("Can\n", 9), "caf\xe9 \x00"} {
		if got := m.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	escaped := strings.NewReplacer("C", `\u0043`, "z", `\u007a`, "/", `\/`, `"`, `\"`).Replace(canary)
	if got := m.JSON(`{"answer":"` + escaped + `\\u0043"}`); got != `{"answer":"[redacted]\\u0043"}` {
		t.Errorf("written with escapes that JSON does not need: %s", got)
	}
}

// What is taken out of a text later, or shows nothing, does not hide a value; nor do escapes of
// JSON, be it within JSON.
func TestNothingInvisibleHidesAValue(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker(canary, "schlüssel-ñ-ø")
	for name, between := range map[string]string{
		"NUL": "\x00", "an escape": "\x1b", "no width": "\u200b", "a soft hyphen": "\u00ad", "a mark of direction": "\u202e", "a variation": "\ufe0f",
		"a tag": "\U000e0041", "lines": "\r\n", "several": "\x00\u2060\n\u200d",
	} {
		text := "before " + strings.Join(strings.Split(canary, ""), between) + " after"
		if got := m.Text(text); got != "before [redacted] after" {
			t.Errorf("%s: %q", name, got)
		}
		if got := m.JSON(fmt.Sprintf(`{"a":%s}`, quoted(text))); got != `{"a":"before [redacted] after"}` {
			t.Errorf("%s, in JSON: %q", name, got)
		}
		growing := m.Growing()
		for i := range len(text) + 1 {
			if got := growing(text[:i]); !strings.HasPrefix("before [redacted] after", got) {
				t.Fatalf("%s: %q is shown of %q", name, got, text[:i])
			}
		}
	}
	growing := m.Growing()
	for i := range len("a schlüssel-ñ-ø b") + 1 {
		if got := growing("a schlüssel-ñ-ø b"[:i]); !strings.HasPrefix("a [redacted] b", got) {
			t.Fatalf("%q is shown", got)
		}
	}
	inner := strings.NewReplacer(`a`, `\u0061`, `z`, `\u007A`).Replace(quoted(canary))
	for range 3 {
		inner = quoted(`{"args":` + inner + `}`)
		if got := m.JSON(`[` + inner + `]`); strings.Contains(got, "u0061") || !strings.Contains(got, "[redacted]") || !json.Valid([]byte(got)) {
			t.Errorf("%s", got)
		}
	}
	for _, text := range []string{`{"a":"x\ny","b":"c:\\d"}`, `"\`, `"\u12`, `{"a":"\ud800"}`} {
		if got := m.JSON(text); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	if got := m.Text("Canary/+7%&quot;&lt;&amp;&gt;=zebra?x"); got != "[redacted]" {
		t.Errorf("named references: %q", got)
	}
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// Of a value that began before the end that is kept, nothing is left, however many lines it
// goes over.
func TestNoEndOfAValueIsLeft(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker(canary)
	for _, between := range []string{"", "\n", "\r\n", "\n\n\n\n\n\n", "\x00\u200b\n"} {
		text := "before " + strings.Join(strings.Split(canary, ""), between) + " after. " + strings.Repeat("And so on. ", 90)
		for cut := 7; cut < 200; cut++ {
			kept := text[cut:]
			from := min(m.Margin(), len(kept))
			if got := m.End(kept, from); strings.Contains(got, "ebra") || strings.Contains(strings.ReplaceAll(got, between, ""), "bra") || !strings.HasSuffix(got, "And so on. ") {
				t.Fatalf("%q, cut at %d: %q", between, cut, got)
			}
		}
	}
}

func TestValuesThatTouchLeaveNoRest(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker("alpha-beta-gamma", "gamma-delta-omega", "beta-g")
	for text, want := range map[string]string{
		"<alpha-beta-gamma-delta-omega>":        "<[redacted]>",
		"alpha-beta-gammaalpha-beta-gamma":      "[redacted][redacted]",
		"alpha-beta-gamm beta-g":                "alpha-[redacted]amm [redacted]",
		"gamma-delta-omega\n":                   "[redacted]\n",
		"\nalpha\n-\nbeta\n-gam\nma, and so on": "\n[redacted], and so on",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func TestShortAndReplacedValues(t *testing.T) {
	t.Parallel()
	var none *secrets.Masker
	if got := none.Text("text"); got != "text" {
		t.Errorf("nobody's masker says %q", got)
	}
	m := secrets.NewMasker("none", "", " \n")
	if got := m.Text("none of it"); got != "none of it" {
		t.Errorf("a word became %q", got)
	}
	m.Add("first-value")
	m.Add("second-value\n")
	if got := m.Text("first-value second-value"); got != "[redacted] [redacted]" {
		t.Errorf("after a change: %q", got)
	}
}

// TestStreamsAreMaskedAcrossPieces cuts a text at every place, and into random pieces.
func TestStreamsAreMaskedAcrossPieces(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker(canary, "zebra?x-and-more-of-it")
	for name, form := range written(canary) {
		text := "before " + form + ", " + canary[:12] + " after " + form + "-and-more-of-it"
		whole := m.Text(text)
		growing := m.Growing()
		for cut := range len(text) + 1 {
			shown := growing(text[:cut])
			if !strings.HasPrefix(whole, shown) {
				t.Fatalf("%s: %q is shown of %q, which becomes %q", name, shown, text[:cut], whole)
			}
		}
		for range 20 {
			var out bytes.Buffer
			w := m.Writer(&out)
			for rest := text; rest != ""; {
				n := min(len(rest), rand.IntN(7))
				fmt.Fprint(w, rest[:n])
				rest = rest[n:]
			}
			if err := w.Close(); err != nil || out.String() != whole {
				t.Fatalf("%s: %q was written, not %q (%v)", name, &out, whole, err)
			}
		}
	}
	growing := m.Growing()
	if got := growing("is it Can"); got != "is it " {
		t.Errorf("%q is shown", got)
	}
	if got := growing("no more is held back than that"); got != "no more is held back than that" {
		t.Errorf("%q is shown", got)
	}
}

// The stable part of a prompt is looked through once, and again when a value became known.
func TestStableTextIsMaskedByWhatIsKnownNow(t *testing.T) {
	t.Parallel()
	m := secrets.NewMasker("first-value")
	text := "first-value and second-value"
	for range 3 {
		if got := m.Stable(text); got != m.Text(text) || strings.Contains(got, "first-value") {
			t.Fatalf("%q", got)
		}
	}
	m.Add("second-value")
	if got := m.Stable(text); got != m.Text(text) || strings.Contains(got, "value") {
		t.Errorf("after a value was added: %q", got)
	}
	for i := range 1000 {
		if got := m.Stable(fmt.Sprint(i, text)); strings.Contains(got, "value") {
			t.Errorf("%q", got)
		}
	}
	var none *secrets.Masker
	if none.Stable(text) != text {
		t.Error("who knows no value changes the text")
	}
}

func FuzzMaskedTextHoldsNoValue(f *testing.F) {
	f.Add("a text with Canary/+7 in it", uint8(3))
	m := secrets.NewMasker(canary, "abcabcabd", "bcabca")
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		text = text[:min(len(text), int(cut))] + "abcabcabd" + text[min(len(text), int(cut)):]
		got := m.Text(text)
		if strings.Contains(got, "abcabcabd") {
			t.Fatalf("%q is left of %q", got, text)
		}
		var out strings.Builder
		w := m.Writer(&out)
		for i := range len(text) {
			fmt.Fprint(w, text[i:i+1])
		}
		_ = w.Close()
		if out.String() != got {
			t.Fatalf("in pieces %q, at once %q", out.String(), got)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	var values []secrets.Secret
	for i := range 20 {
		values = append(values, secrets.Secret(fmt.Sprintf("xoxb-%d-value-that-is-long-%x", i*7919, i*104729)))
	}
	message := "Could you look at the last ten commits of the project and tell me in two sentences what has changed, please? "
	for name, text := range map[string]string{"message": message, "prompt": strings.Repeat(message, 300)} {
		for known, m := range map[string]*secrets.Masker{"none": secrets.NewMasker(), "20": secrets.NewMasker(values...)} {
			b.Run(name+"/"+known, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					m.Text(text)
				}
			})
		}
		b.Run(name+"/shapes", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secrets.Hide(text)
			}
		})
	}
}
