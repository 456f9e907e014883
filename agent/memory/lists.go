package memory

import (
	_ "embed"
	"slices"
	"strings"

	"switchboard/internal/words"
)

// RuleCategories are those of rules. Those of style and the general ones hold for every message, the others when it speaks of them.
var RuleCategories = []string{"general", "style", "channel", "scheduling", "tools"}

var (
	//go:embed topics.txt
	topicWords string
	//go:embed categories.txt
	categoryWords string

	topics     = listsOf(topicWords)
	categories = listsOf(categoryWords)
)

// A wordList is words of what they speak of.
type wordList struct {
	name  string
	about func(text string) bool
}

// wordLists are in the order of their file.
type wordLists []wordList

// listsOf reads lines "name: word word …"; a line that begins with spaces goes on with the list before. Words are beginnings of words.
func listsOf(file string) (all wordLists) {
	for entry := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(file), "\n ", " "), "\n") {
		name, list, _ := strings.Cut(entry, ":")
		pattern := words.Pattern(`(?i)(?:^|\PL)(?:` + strings.Join(strings.Fields(list), "|") + `)`)
		all = append(all, wordList{name, func(text string) bool { return pattern().MatchString(text) }})
	}
	return all
}

// speaks says whether a text speaks of what one of them is of; known: there is that one.
func (l wordLists) speaks(of, text string) (speaks, known bool) {
	i := slices.IndexFunc(l, func(one wordList) bool { return one.name == of })
	return i >= 0 && l[i].about(text), i >= 0
}

// Categories are those of what people may not want to be remembered, by name.
func Categories() (names []string) {
	for _, c := range categories {
		names = append(names, c.name)
	}
	return names
}

// Denied is the first of some categories of which a text speaks by its words, or to which its own category belongs; empty: none.
func Denied(denied []string, category, text string) string {
	for _, name := range denied {
		if speaks, _ := categories.speaks(name, text); speaks || name == category {
			return name
		}
	}
	return ""
}
