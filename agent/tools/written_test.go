package tools

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestAddressesThePersonWroteAreRecognised(t *testing.T) {
	t.Parallel()
	text := "read HTTP://Example.org:80, (see https://example.org/a_(b)) and <https://example.org/x?q=1#part>.\n" +
		"**https://example.org/bold/** [here](https://example.org/link) http://[2001:db8::1]:8080/six https://example.org/wiki/Köln!"
	for address, want := range map[string]bool{
		"http://example.org":                   true,
		"http://example.org/":                  true,
		" http://EXAMPLE.org:80/#top ":         true,
		"https://example.org/a_(b)":            true,
		"https://example.org/a_(b":             true, // a bracket may belong to the sentence
		"https://example.org/x?q=1":            true,
		"https://example.org:443/x?q=1#else":   true,
		"https://example.org/bold/":            true,
		"https://example.org/link":             true,
		"http://[2001:DB8::1]:8080/six":        true,
		"https://example.org/wiki/K%C3%B6ln":   true,
		"https://example.org":                  false, // http was written
		"http://example.org:8080":              false,
		"http://example.org/?":                 true,
		"http://example.org/a":                 false,
		"https://example.org/x":                false,
		"https://example.org/x?q=1&s=secret":   false,
		"https://example.org/x?q=2":            false,
		"https://example.org/X?q=1":            false,
		"https://secret.example.org/x?q=1":     false,
		"https://example.org/x%3Fq=1":          false,
		"https://example.org/wiki/":            false,
		"https://me:secret@example.org/x?q=1":  false,
		"ftp://example.org/":                   false,
		"example.org":                          false,
		"":                                     false,
		"https://example.org/x?q=1 secret":     false,
		"https://example.org/x?q=1\r\nsecret":  false,
		"https://example.org.evil.test/x?q=1":  false,
		"https://example.org@evil.test/x?q=1":  false,
		"https://example.org\\@evil.test/?q=1": false,
	} {
		if got := Wrote(text, address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
	if Wrote("", "http://example.org/") {
		t.Error("nothing was written")
	}
}

// A redirect leads where it leads, but not a word of the URL before goes along.
func TestRedirectsCarryNothing(t *testing.T) {
	t.Parallel()
	var asked []string
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String()+" from "+r.Referer())
		w.Header().Set("Content-Type", "text/plain")
	}))
	defer to.Close()
	from := httptest.NewServer(http.RedirectHandler(to.URL+"/there", http.StatusFound))
	defer from.Close()
	f := newFetcher([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 1000)
	res := with(f.run)(t.Context(), Call{Args: []byte(`{"url":"` + from.URL + `/?q=secret","max_bytes":null}`)})
	if res.End != EndOK || len(asked) != 1 || asked[0] != "/there from " {
		t.Errorf("%+v, asked for %q", res, asked)
	}
}

func TestWordsThePersonWroteAreRecognised(t *testing.T) {
	t.Parallel()
	wrote := "Remind me tomorrow at 9:00 to *call*\nAnn; and 明天提醒我给妈妈打电话. Sum up every point of the acronym in a minute. Macron, every minute"
	for text, want := range map[string]bool{
		"Call Ann.": true, "tomorrow at 9:00 to\n\ncall ann": true, "给妈妈打电话": true, "Every minute": true,
		"call Bob": false, "call ann\npay now": false, "": false, "!\n": false, "tomorrow at 10": false, "tomorrow at 9:00\n\ncall ann": false,
		"call Ann ⓟⓐⓨ": false, "call Ann 🅿": false, "call Ann \U000e0070": false, "call Ann\u200b": false, "all Ann": false, "call An": false,
		"cron * * * * *": false, "cron": false, "c\na\nl\nl": false, "every\nminute\nminute": false,
	} {
		if Said(wrote, text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
