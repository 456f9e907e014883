package memory

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A word in another form is the same word in the index, in each of the five languages, with or without its accents.
func TestFormsOfAWordMeet(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"The deploy key rotates on Fridays.", "When does the deploy key rotate?"},
		{"Die Plätze sind in der ersten Reihe.", "Wo ist mein Platz?"},
		{"La réunion est le lundi avec les clients.", "Quand sont les reunions?"},
		{"La reunión es el lunes con los clientes.", "¿Cuándo son las reuniones?"},
		{"La riunione è il lunedì con i clienti.", "Quando sono le riunioni?"},
		{"Straße in Łódź", "strasse lodz"},
		{"締め切りは金曜日です", "締め切り"},
		{"마감은 금요일", "마감이 언제"},
		{"猫が好き", "猫"},
		{"Bob's code is 10:30", "BOB"},
	} {
		words := " " + Words(c[0]) + " "
		if terms := Terms(c[1]); !slices.ContainsFunc(terms, func(t Term) bool { return t.in(words) }) {
			t.Errorf("%q is not found by %q: %q, %v", c[0], c[1], words, terms)
		}
	}
}

// What says nothing is not looked for.
func TestTermsLeaveOutStopWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"What is the name of my dog?":   "name dog",
		"Wie heißt denn mein Zahnarzt?": "heisst zahnarzt",
		"and so on, is it?":             "",
		"":                              "",
		"die Welle":                     "welle",
	} {
		var list []string
		for _, term := range Terms(text) {
			list = append(list, term.Forms[0])
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if n := len(Terms(strings.Repeat("harbour lantern ferry zeppelin dawn cabin lamp key box fuse dentist passport crane anchor ", 50))); n != maxTerms {
		t.Errorf("%d terms", n)
	}
}

// Words have letters, marks and digits alone, which both databases take as they are, and a text is found by its own words.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"The deploy key", "締め切りは 金曜日", "e\u0301\u0300", "\xff\x00", `" OR '`, "İıſßﷺ", "ไปโรงเรียน", strings.Repeat("é", 50), "𝔘𝔫𝔦 ꟼ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := Words(text)
		for word := range strings.SplitSeq(words, " ") {
			for _, r := range word {
				if !unicode.In(r, unicode.L, unicode.M, unicode.N) {
					t.Fatalf("%q has %q", text, word)
				}
			}
		}
		for _, term := range Terms(text) {
			if !term.in(" " + words + " ") {
				t.Fatalf("%q has no %q", words, term.Forms)
			}
			for _, w := range slices.Concat(term.Forms, term.Ends) {
				if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }) {
					t.Fatalf("%q asks for %q", text, w)
				}
			}
		}
	})
}

// What a person wants gone is what has their words, as words.
func TestHasWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, words string
		has         bool
	}{
		{"plan A is cheap", "plan A", true},
		{"plan A is cheap", "plan B", false},
		{"vitamin C is good", "vitamin A", false},
		{"Ann's code is 11234", "Ann's code", true},
		{"Ann's code is 11234", "Ann code 11234", true},
		{"Ann's code is 12345", "code 11234", false},
		{"l'école ouvre à huit heures", "l'école", true},
		{"mon école ouvre à huit heures", "l'école", true},
		{"testing is fun", "1test", false},
		{"the universe is expanding", "university", false},
		{"our organization has ten people", "organ", false},
		{"the deploy key rotates on Fridays", "deploy keys rotate Friday", true},
		{"my two insurances end in May", "insurance", true},
		{"my son is Leo", "son", true},
		{"the US office is closed", "US", true},
		{"he waits for us at the office", "us", false},
		{"the office is closed", "the", false},
		{"he waits for us at the office", "US", false},
		{"the office is closed", "THE", false},
		{"la porte est rouge et le chat est noir", "C'est", false},
		{"he is out", "he is", true},
		{"Paola arriva alle sei", "Paolo", false},
		{"Mario's birthday is 9 June", "Maria", false},
		{"le nostre informazioni sono qui", "informazione", true},
		{"las habitaciones del hotel son grandes", "habitación", true},
		{"unsere Besprechungen sind am Montag", "Besprechung", true},
		{"both universities are in Rome", "university", true},
		{"Straße in Łódź", "strasse lodz", true},
		{"王さんは猫が好き", "猫", true},
		{"I like C++", "C++", true},
		{"I like C++", "", false},
	} {
		if HasWords(c.text, c.words) != c.has {
			t.Errorf("%q by %q: %v", c.text, c.words, !c.has)
		}
	}
}

// A letter that is a word tells things apart; a number is like no part of a word.
func TestLettersAndNumbersTellApart(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"our plan B costs much", "our plan A costs much"}, {"the code is 12345", "the code is 11234"}, {"the code is 92345", "the code is 12345"}} {
		if HasAll(Words(c[0]), Terms(c[1])) || !HasAll(Words(c[1]), Terms(c[1])) {
			t.Errorf("%q says what %q does", c[0], c[1])
		}
	}
}
