package people

import (
	"strings"
	"testing"
)

func TestEveryCodeHasADigit(t *testing.T) {
	t.Parallel()
	for range 1000 {
		if code := newCode(); len(code) != codeLetters || !strings.ContainsAny(code, codeDigits) {
			t.Fatalf("%q", code)
		}
	}
}
