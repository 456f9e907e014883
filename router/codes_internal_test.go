package router

import (
	"testing"

	"switchboard/channels"
)

func TestTextsAreKeptWithoutCodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ABC2-EFGH-JKLM":  "[redacted]",
		"abc2-efgh-jklm.": "[redacted].",
		"my *ABC2-EFGH-JKLM* _ABC2-EFGH-JKLM_, ok?": "my *[redacted]* _[redacted]_, ok?",
		"t.me/bot?start=ABC2-EFGH-JKLM":             "t.me/bot?start=[redacted]",
		"/status ABC2-EFGH-JKLM":                    "/status [redacted]",
		"/claim ABCD EFGH":                          "/claim [redacted]",
		"/Start@bot abcdefghjklm":                   "/start [redacted]",
		"/claim":                                    "/claim",
		"real-time-data, GOOD-LUCK-MATE":            "real-time-data, GOOD-LUCK-MATE",
		"550e2a6b-e29b-4ad4-a727-446655443322":      "550e2a6b-e29b-4ad4-a727-446655443322",
	} {
		m := channels.Message{Text: text, Quote: text}
		hideCode(&m)
		if m.Text != want || m.Quote != want {
			t.Errorf("%s: %q, %q", text, m.Text, m.Quote)
		}
	}
}
