package scheduler

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed languages.txt
var languagesText string

// A language is what of languages.txt one section holds.
type language struct {
	name     string
	dayFirst bool
	phrases  map[string][]phrase // by their first word
	elided   []string
	foreign  bool // its words of time are known, and not read
	// vocabulary are words that may be meant by one with a typing error, and known those that are none.
	vocabulary []string
	known      map[string]bool
}

// A phrase is said for what the grammar reads, or stands next to a time with a role: "request", "timer" and so on.
type phrase struct {
	words []string
	means []string
	role  string
	says  string // what a timer's reminder says
}

var languages = sync.OnceValue(func() (list []*language) {
	var l *language
	for line := range strings.Lines(languagesText) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, order, _ := strings.Cut(name, "]")
			l = &language{name: name, dayFirst: strings.TrimSpace(order) == "day-first", phrases: map[string][]phrase{}, known: map[string]bool{}, foreign: name == "other"}
			list = append(list, l)
			continue
		}
		means, said, ok := strings.Cut(line, " = ")
		if !ok || line[0] == '#' {
			continue
		}
		p := phrase{means: strings.Fields(means)}
		if role, ok := strings.CutPrefix(means, "!"); ok {
			p.role, p.says, _ = strings.Cut(role, " ")
			p.means = nil
		}
		for one := range strings.SplitSeq(said, " | ") {
			switch p.role {
			case "elide":
				l.elided = append(l.elided, one)
				continue
			case "known", "unlike":
				l.learn(one, p.role == "known")
				continue
			}
			p := p
			for _, t := range tokenize(one, l.elided) {
				p.words = append(p.words, t.word)
			}
			l.phrases[p.words[0]] = append(l.phrases[p.words[0]], p)
			for i, word := range p.words {
				l.learn(word, i == 0 && (p.role == "" || p.role == "request"))
			}
		}
	}
	for _, l := range list {
		for _, phrases := range l.phrases { // the longest first
			slices.SortStableFunc(phrases, func(a, b phrase) int { return len(b.words) - len(a.words) })
		}
	}
	return list
})

// learn knows a word, which may be meant by one like it.
func (l *language) learn(word string, meant bool) {
	if meant && len([]rune(word)) > 4 && !slices.Contains(l.vocabulary, word) {
		l.vocabulary = append(l.vocabulary, word)
	}
	l.known[word] = true
}

// match is the longest phrase that stands at i in tokens, with what its holes hold; nil: none does.
func (l *language) match(tokens []token, i int, roles bool) (found *phrase, holes []string) {
	first := l.phrases[tokens[i].word]
	for _, list := range [][]phrase{first, l.phrases["{n}"]} {
	next:
		for k := range list {
			p := &list[k]
			if len(p.means) == 1 && p.means[0] == "time-of" && i > 0 { // "dans une heure de …"
				if counted, _ := l.meaning(tokens[i-1].word); counted == "a" {
					continue
				}
			}
			if (p.role != "") != roles || i+len(p.words) > len(tokens) || found != nil && len(found.words) >= len(p.words) {
				continue
			}
			var in []string
			for j, word := range p.words {
				switch is := tokens[i+j].word; {
				case word == "{n}" || word == "{d}":
					hole, ok := l.hole(is, word)
					if !ok {
						continue next
					}
					in = append(in, hole)
				case word != is || j+1 < len(p.words) && strings.ContainsAny(tokens[i+j].raw, ",;:.") && word+"'" != tokens[i+j].raw:
					continue next
				}
			}
			found, holes = p, in
		}
	}
	return found, holes
}

// hole is what a number or a day of the week is in English.
func (l *language) hole(word, kind string) (string, bool) {
	if meant, ok := l.meaning(word); ok {
		word = meant
	}
	if kind == "{d}" {
		return word, isWeekday(word)
	}
	_, isNumber := number(word)
	word, _ = l.ordinal(word)
	_, _, isDate := date(word)
	return word, isNumber || isDate
}

// meaning is the English word for a word.
func (l *language) meaning(word string) (string, bool) {
	for _, p := range l.phrases[word] {
		if len(p.words) == 1 && len(p.means) == 1 {
			return p.means[0], true
		}
	}
	return "", false
}

// ordinal reads "1." and "1er" as 1st.
func (l *language) ordinal(word string) (string, bool) {
	for _, end := range []string{".", "er", "º", "°"} {
		if n, ok := strings.CutSuffix(word, end); ok && l.name != "en" && len(n) <= 2 && n != "" && strings.Trim(n, "0123456789") == "" {
			return n + "th", true
		}
	}
	return word, false
}

// read is what tokens are in the English of the grammar. Words that are none of time there begin with a dot, so that
// they are taken for none in English; roles say which tokens are no part of the time.
func (l *language) read(tokens []token) []token {
	var out []token
	for i := 0; i < len(tokens); {
		p, holes := l.match(tokens, i, false)
		if role, _ := l.match(tokens, i, true); role != nil && role.role == "text" {
			for _, t := range tokens[i : i+len(role.words)] {
				t.word = "·" + t.word
				out = append(out, t)
			}
			i += len(role.words)
			continue
		}
		if p == nil {
			t := tokens[i]
			if word, ok := l.ordinal(strings.TrimRight(strings.ToLower(t.raw), ",;:!?")); ok {
				t.word, t.raw, t.meant = word, word, true
			} else if l.name != "en" && t.word != "" && !strings.ContainsFunc(t.word, unicode.IsDigit) && t.word != "-" && t.word != "–" && t.word != "@" {
				t.word = "·" + t.word
			}
			out = append(out, t)
			i++
			continue
		}
		last := tokens[i+len(p.words)-1]
		for n, word := range p.means {
			t := token{word: word, raw: last.raw, from: tokens[i].from, to: last.to, meant: true}
			if n+1 < len(p.means) {
				t.raw = word
			}
			if strings.Contains(word, "{") {
				for k, hole := range holes {
					word = strings.ReplaceAll(word, "{"+string(rune('1'+k))+"}", hole)
				}
				t.word = word
			}
			out = append(out, t)
		}
		i += len(p.words)
	}
	return out
}
