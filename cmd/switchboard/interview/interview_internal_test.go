package interview

import "testing"

func TestPastedKeysAreFreedOfWhatCameAlong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		" \t ":                         "",
		"123:abc":                      "123:abc",
		"  123:abc\r\n":                "123:abc",
		"\"123:abc\"":                  "123:abc",
		" “xoxb-1” ":                   "xoxb-1",
		"Bearer xoxb-1":                "xoxb-1",
		"Authorization: bearer 'sk-1'": "sk-1",
		"Bot a.b.c":                    "a.b.c",
		"\u200bsk-1\ufeff":             "sk-1",
		"env:MY_TOKEN":                 "env:MY_TOKEN",
		"file:/run/secrets/a token":    "file:/run/secrets/a token",
		"bot":                          "bot",
	} {
		if got := pasted(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAddressOfAModelServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"localhost:11434":                "http://localhost:11434/v1",
		"http://127.0.0.1:8080/":         "http://127.0.0.1:8080/v1",
		"https://host.example/api/v1/":   "https://host.example/api/v1",
		"http://h:1/v1/chat/completions": "http://h:1/v1",
		"[::1]:1234":                     "http://[::1]:1234/v1",
		"ftp://host":                     "",
		"http://":                        "",
		"not an address":                 "",
		"http://h:port":                  "",
	} {
		if got := addressOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
