package words_test

import (
	"testing"

	"switchboard/internal/words"
)

func TestConsent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"yes": {true, true}, " Yes! ": {true, true}, "OK.": {true, true}, "Ja, bitte": {true, true}, "SÌ": {true, true}, "sí": {true, true},
		"d’accord": {true, true}, "no": {false, true}, "Nein.": {false, true}, "non merci": {false, true}, "no,  grazie": {false, true},
		"": {}, ".": {}, "yes?": {}, "yes and no": {}, "yes|no": {}, "|": {}, "not yet": {}, "yes, but tomorrow": {}, "yesterday": {}, "o": {}, "yes no": {},
	} {
		if yes, plain := words.Consent(text); yes != want[0] || plain != want[1] {
			t.Errorf("%q: yes %t, plain %t", text, yes, plain)
		}
	}
}
