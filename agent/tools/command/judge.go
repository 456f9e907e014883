// Package command judges shell commands before they run: a shell parser reads the line, and
// what is judged are the commands in it, word by word, never the text. It knows no person,
// no tool and no sandbox.
//
// A line is read as bash and as a plain POSIX shell would read it, because /bin/sh may be
// either; the stricter reading counts. What is in files is not judged: scripts, Makefiles,
// programs that an allowed program starts.
package command

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Rules are patterns of commands. The words of a pattern are matched with those of a
// command one by one; in a word "*" stands for any text, and as the last word for any
// rest, none included. A redirection is judged as a command of its own, "> FILE" or
// "< FILE". Deny and ask go by the name of a program wherever it lies; allow takes it as
// it is written.
type Rules struct {
	// Deny is refused, besides what destroys. Default none.
	Deny []string `toml:"deny"`
	// Ask needs an approval. Default none.
	Ask []string `toml:"ask"`
	// Allow may run; the rest is refused. Default ["*"].
	Allow []string `toml:"allow"`
}

// DefaultRules judge nothing but what destroys.
func DefaultRules() Rules { return Rules{Allow: []string{"*"}} }

// Validate returns an error that begins with the key of a pattern that is none, and a colon.
func (r Rules) Validate() error {
	keys := []string{"deny", "ask", "allow"}
	for n, patterns := range [][]string{r.Deny, r.Ask, r.Allow} {
		for i, pattern := range patterns {
			if len(strings.Fields(pattern)) == 0 {
				return fmt.Errorf("%s[%d]: is empty; write the words of a command, e.g. \"git push *\"", keys[n], i)
			}
		}
	}
	return nil
}

// set says that patterns are set. The default of allow is none.
func (r Rules) set() bool {
	return len(r.Deny)+len(r.Ask) > 0 || !slices.Equal(r.Allow, DefaultRules().Allow)
}

// An Outcome is what becomes of a command, from the mildest to the strictest.
type Outcome int

const (
	Allowed Outcome = iota // it may run
	Asked                  // a person must approve it
	Refused                // it must not run
)

// A Judgement is an outcome with the rule that decided, e.g. `policy.exec.deny "git push *"`.
// The rule is empty where no pattern is set and nothing is destroyed.
type Judgement struct {
	Outcome Outcome
	Rule    string
	Reason  string // a sentence that may be shown
}

// The rules that name no pattern, and the beginnings of those that do.
const (
	ruleDestructive = "policy.exec.destructive" // always refused
	ruleUnknown     = "policy.exec.unclear"     // cannot be judged
	ruleDeny        = "policy.exec.deny"
	ruleAsk         = "policy.exec.ask"
	ruleAllow       = "policy.exec.allow" // alone: nothing in allow matches
)

// Judge says whether a line for /bin/sh may run. Every command in it has to pass; the
// strictest outcome counts. While no patterns are set, only what destroys is refused;
// where they are, what cannot be judged asks.
//
// What is judged is what Runs makes of the line; only that may be run. A comment that ends
// in a backslash always asks.
func (r Rules) Judge(line string) Judgement { return r.judgeFor(host(), line) }

func (r Rules) judgeFor(shell syntax.LangVariant, line string) (strictest Judgement) {
	text, hides, printed := runs(line, shell)
	for _, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		read := &reading{dialect: dialect}
		if hides {
			read.hide()
		}
		read.line(text)
		if !printed {
			read.cannot("its syntax cannot be read")
		}
		if shell == syntax.LangBash && read.evaluates() {
			read.cannot("the shell may run what a variable in a calculation, or an index, holds")
		}
		if j := r.judge(read); dialect == syntax.LangPOSIX || j.Outcome > strictest.Outcome {
			strictest = j
		}
	}
	return strictest
}

func (r Rules) judge(read *reading) (strictest Judgement) {
	if read.destroys != "" {
		return Judgement{Refused, ruleDestructive, "it " + read.destroys + ", which no command of mine may do"}
	} else if !r.set() && !read.hides {
		return Judgement{}
	}
	var judgements []Judgement
	for _, words := range read.commands {
		judgements = append(judgements, r.command(words))
	}
	if read.unknown != "" {
		judgements = append(judgements, Judgement{Asked, ruleUnknown, "it cannot be judged, because " + read.unknown})
	}
	if len(judgements) == 0 { // a comment, or variables of its own
		return Judgement{}
	}
	rank := func(j Judgement) int { // a pattern that denies says more than that none allows
		if j.Rule == ruleAllow {
			return 2 * int(j.Outcome)
		}
		return 2*int(j.Outcome) + 1
	}
	return slices.MaxFunc(judgements, func(a, b Judgement) int { return cmp.Compare(rank(a), rank(b)) })
}

// command judges one command of a line.
func (r Rules) command(words []word) Judgement {
	shown := strconv.Quote(show(words))
	maybe := ""
	for _, pattern := range r.Deny {
		switch match(pattern, words, true) {
		case yes:
			return Judgement{Refused, named(ruleDeny, pattern), shown + " is denied"}
		case unknown:
			maybe = cmp.Or(maybe, named(ruleDeny, pattern))
		}
	}
	if maybe != "" {
		return Judgement{Asked, maybe, "only while it runs is it known whether " + shown + " is denied"}
	}
	for _, pattern := range r.Ask {
		if match(pattern, words, true) != no {
			return Judgement{Asked, named(ruleAsk, pattern), shown + " needs a permission each time"}
		}
	}
	for _, pattern := range r.Allow {
		switch match(pattern, words, false) {
		case yes:
			return Judgement{Allowed, named(ruleAllow, pattern), shown + " is allowed"}
		case unknown:
			maybe = cmp.Or(maybe, named(ruleAllow, pattern))
		}
	}
	if maybe != "" {
		return Judgement{Asked, maybe, "only while it runs is it known whether " + shown + " is allowed"}
	}
	return Judgement{Refused, ruleAllow, shown + " matches nothing that is allowed"}
}

func named(rule, pattern string) string { return rule + " " + strconv.Quote(pattern) }

// show is a command in a line for people.
func show(words []word) string {
	var texts []string
	for _, w := range words {
		if !w.known && !strings.Contains(w.text, gap) {
			w.text += gap
		}
		texts = append(texts, w.text)
	}
	text := strings.Join(texts, " ")
	if most := 80; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// A fit says whether a pattern matches a command; unknown: that depends on words that are
// known only while it runs.
type fit int

const (
	no fit = iota
	unknown
	yes
)

// match compares a pattern with a command. With anywhere the pattern "rm" means /bin/rm too.
func match(pattern string, words []word, anywhere bool) fit {
	wanted := strings.Fields(pattern)
	for i, want := range wanted {
		if want == "*" && i == len(wanted)-1 {
			return yes
		}
		if i >= len(words) {
			return no
		}
		if !words[i].known { // it may become several words, or none
			return unknown
		}
		have := words[i].text
		if i == 0 && anywhere && !strings.Contains(want, "/") {
			have = path.Base(have)
		}
		if !like(want, have) {
			return no
		}
	}
	rest := words[len(wanted):]
	switch {
	case len(rest) == 0:
		return yes
	case slices.ContainsFunc(rest, func(w word) bool { return w.known }):
		return no
	}
	return unknown
}

// like says whether text is pattern, in which "*" stands for any text.
func like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
