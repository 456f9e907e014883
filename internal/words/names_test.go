package words_test

import (
	"testing"

	"switchboard/internal/words"
)

func TestNamesThatLookAlikeAreFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ada", "Zoë", "Иван", "Νίκος", "李雷", "محمد", "O'Neil", "Ada L. 2", "נועה", "あや", "मीरा"} {
		if fault := words.NameFault(name); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for _, name := range []string{"a\u200bda", "ada\u200d", "\u202eada", "a\u00adda", "ada\ufe0f", "a\u0301da", "ada\u00a0", "ada\u3164", "ada\u2800", "ada\x00", "ada\U000e0061"} {
		if words.NameFault(name) == "" {
			t.Errorf("%q is a name", name)
		}
		if got := words.Visible(name); got != "ada" && got != "ada " && got != "a\u0301da" {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
	for _, name := range []string{"аda", "аԁа", "adа", "ａda", "𝐚𝐝𝐚", "𝚊𝚍𝚊", "αda", "Ada"} {
		if !words.Alike("ada", name) || !words.Alike(name, "ada") {
			t.Errorf("%s does not look like ada", name)
		}
	}
	for a, b := range map[string]string{"ada": "ada", "Bob": "B0b2", "ada2": "ada", "Иван": "Ivan", "bill": "bob", "Zoë": "Zoe"} {
		if words.Alike(a, b) {
			t.Errorf("%s looks like %s", a, b)
		}
	}
	if !words.Alike("Bill", "BiIl") || !words.Alike("Bob1", "Bobl") || !words.Alike("B0b", "BOb") {
		t.Error("figures do not look like letters")
	}
}
