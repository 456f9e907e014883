package memory_test

import (
	"testing"

	"switchboard/agent/memory"
)

// What is denied is known by its words, in each of the languages.
func TestDenied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		denied         []string
		category, text string
		want           string
	}{
		{[]string{"health"}, "", "I am allergic to nuts", "health"},
		{[]string{"health"}, "", "Ich bin krank", "health"},
		{[]string{"health"}, "", "soy alérgico: alergia", "health"},
		{[]string{"health"}, "", "je suis malade", "health"},
		{[]string{"health"}, "", "sono incinta", "health"},
		{[]string{"health"}, "", "the deploy key rotates on Fridays", ""},
		{[]string{"money", "politics"}, "", "she votes for the greens: she voted", "politics"},
		{[]string{"money"}, "", "MY SALARY IS LOW", "money"},
		{[]string{"recipes"}, "recipes", "noodles", "recipes"},
		{nil, "", "I am ill", ""},
		{[]string{"health"}, "", "the hill is still there", ""},
	} {
		if got := memory.Denied(c.denied, c.category, c.text); got != c.want {
			t.Errorf("%v of %q: %q, want %q", c.denied, c.text, got, c.want)
		}
	}
}

// Rules of a topic hold when it is spoken of, the general ones and those of style always.
func TestRulesOfTopics(t *testing.T) {
	t.Parallel()
	known := memory.Known{Standing: []memory.Entry{
		{ID: 1, Kind: memory.Rule, Category: "general"},
		{ID: 2, Kind: memory.Rule, Category: "style"},
		{ID: 3, Kind: memory.Rule, Category: "scheduling"},
		{ID: 4, Kind: memory.Rule, Category: "channel"},
		{ID: 5, Kind: memory.Rule, Category: "tools", Always: true},
		{ID: 6, Kind: memory.Preference},
	}}
	for said, want := range map[string]string{
		"hello":                     "125",
		"remind me tomorrow at 9":   "1235",
		"erinnere mich morgen":      "1235",
		"recuérdame mañana el té":   "1235",
		"rappelle-moi demain":       "1235",
		"ricordami domani":          "1235",
		"schick Bob eine Nachricht": "1245",
	} {
		got := ""
		for _, r := range known.Rules(said) {
			got += string(rune('0' + r.ID))
		}
		if got != want {
			t.Errorf("%s: %s, want %s", said, got, want)
		}
	}
	if a := known.Always(); len(a) != 1 || a[0].ID != 5 {
		t.Errorf("always: %v", a)
	}
}
