package words_test

import (
	"testing"

	"switchboard/internal/words"
)

func TestNearestFindsTheMistypedWord(t *testing.T) {
	t.Parallel()
	list := []string{"status", "plan", "why", "turn", "list", "cancel", "reset", "retry", "tool", "help", "router.busy", "SWITCHBOARD_LLM__PROVIDERS__A__API_KEY"}
	for word, want := range map[string]string{
		"staus": "status", "stauts": "status", "statsu": "status", "trun": "turn", "lsit": "list", "cancle": "cancel",
		"rerty": "retry", "wyh": "why", "hepl": "help", "w": "", "nonsense": "", "foo": "", "clean": "", "router.nosuch": "", "router.bussy": "router.busy",
		"SWITCHBOARD_LLM_PROVIDERS_A_API_KEY": "SWITCHBOARD_LLM__PROVIDERS__A__API_KEY", "status": "status", "": "", "été": "",
	} {
		if got := words.Nearest(word, list); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestEndsReadAsPeopleWrite(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"cancelled", "cancelled cancelled"}:   "cancelled",
		{"cancelled", "cancelled"}:             "cancelled",
		{"done", "ok"}:                         "done",
		{"done", "answered"}:                   "done",
		{"failed", "error exit_status"}:        "failed (exit status)",
		{"failed", "timeout timeout"}:          "failed (timeout)",
		{"failed", "error"}:                    "failed",
		{"interrupted", "error interrupted"}:   "interrupted",
		{"failed", "refused person.tools"}:     "failed (refused, person.tools)",
		{"failed", "nothing_to_retry"}:         "failed (nothing to retry)",
		{"running", ""}:                        "running",
		{"sent", "found"}:                      "sent (found)",
		{"cancelled", "cancelled not_started"}: "cancelled (not started)",
	} {
		if got := words.Ended(in[0], in[1]); got != want {
			t.Errorf("%s, %s: %q, want %q", in[0], in[1], got, want)
		}
	}
}
