package secrets_test

import (
	"slices"
	"strings"
	"testing"

	"switchboard/internal/secrets"
)

// The samples are put together here, so that nothing takes this file for a leak.
const (
	random35 = "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
	random36 = "Zx81bqDkf03mNcTy72LpWvRs9aUoXh5GeJi4"
)

func TestKnownShapesAreHidden(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]string{
		"sk" + "-" + random36: "an API key",
		"sk" + "-ant-api03-" + random36 + "-" + random35 + "AA":                       "an API key",
		"sk" + "-proj-" + random36 + "_" + random36:                                   "an API key",
		"sk" + "_live_" + random36:                                                    "an API key",
		"AI" + "za" + random35:                                                        "an API key",
		"SG" + "." + random35[:22] + "." + random36 + "AbCdE12":                       "an API key",
		"gh" + "p_" + random36:                                                        "an access token",
		"github" + "_pat_" + random36:                                                 "an access token",
		"gl" + "pat-" + random36[:20]:                                                 "an access token",
		"xo" + "xb-123456789012-1234567890123-" + random36[:24]:                       "a bot's token",
		"xa" + "pp-1-A0123456789-1234567890123-" + random36:                           "a bot's token",
		"AK" + "IAIOSFODNN7EXAMPLE":                                                   "an access key",
		"110201543:" + random35:                                                       "a bot's token",
		"M" + random36[:23] + ".GaBcDe." + random36[:30]:                              "a bot's token",
		"ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + random36:                   "a signed token",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----": "a private key",
		"-----BEGIN PRIVATE KEY-----\nMIIEow and it is cut off":                       "a private key",
		"AGE-SECRET-KEY-1" + strings.Repeat("QPZRY9X8GF", 6)[:58]:                     "a private key",
	} {
		for _, around := range [][2]string{{"", ""}, {"use ", " please"}, {"key=", ";"}, {`{"a":"`, `"}`}, {"(", ")."}, {"`", "`, `" + text + "`"}} {
			if kind == "a private key" && strings.HasSuffix(text, "off") {
				around[1] = ""
			}
			got, kinds := secrets.Hide(around[0] + text + around[1])
			if want := strings.ReplaceAll(around[0]+text+around[1], text, "[redacted]"); got != want || !slices.Equal(kinds, []string{kind}) {
				t.Errorf("%q became %q (%q), not %q (%q)", around[0]+text+around[1], got, kinds, want, kind)
			}
		}
	}
}

func TestOrdinaryTextIsNoCredential(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Hello! Please remind me tomorrow at 9:30 to call 0049301234567.",
		"sk-learn and task-force-of-the-many-words-in-a-row-here", "ask-me-anything-about-the-2026-roadmap-please", "the branch sk-rework-of-the-2026-start-page is merged",
		"commit 079d196c8cf143992e3ce8060fac940449f0aabb of main", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"550e8400-e29b-41d4-a716-446655440000", "01HZX3J8K9QWERTYUIOPASDFGH",
		"https://example.com/a/very/long/path/with-many-parts_and_more/2026/11/23?id=1234567890&token=no#part",
		"https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
		"func (m *Masker) Text(s string) string { return m.matcher().mask(s, true) }",
		"os.Getenv(\"GITHUB_TOKEN\"); slack_token = \"xoxb-...\"; export OPENAI_API_KEY=sk-...",
		"12345678:not-a-token, 10:15-11:45, 1700000000:1700000001",
		"node_modules/.package-lock.json v1.2.3-beta.4.5.6-rc.7+build.2026.11.23.abcdef0123456789",
		"MTIzNDU2Nzg5MDEyMzQ1Njc4 and -----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"a PRIVATE KEY is a file that begins with BEGIN PRIVATE KEY", "AKIA and ASIA are prefixes", "eyJ is how a JSON object begins in base64: eyJhIjoxfQ==",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJv7TlqgLZ0kPq3h1Xq9l0f2dH3k4m5n6o7p8q9r0sTu me@host",
		"+49 30 1234567, DE89 3704 0044 0532 0130 00, 4111 1111 1111 1111",
	} {
		if got, kinds := secrets.Hide(text); got != text || kinds != nil {
			t.Errorf("%q became %q (%q)", text, got, kinds)
		}
	}
}
