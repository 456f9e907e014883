package offline

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"switchboard/internal/words"
)

// statement is what a person says of themselves or what is theirs, in five languages.
var statement = words.Pattern(`(?i)^(?:(?:my|our|i am|i'm|i’m|we are|we're|i (?:live|work|prefer|like|use|have|always|never|speak|need)|we (?:use|have|always|never|decided)|call me|the|it is called)` +
	`|(?:mein|meine|unser|unsere|ich (?:bin|wohne|arbeite|mag|nutze|habe|heiße)|wir (?:sind|nutzen|haben))|(?:mi|mis|nuestro|nuestra|soy|vivo|trabajo|prefiero|me llamo|uso|tengo)` +
	`|(?:mon|ma|mes|notre|nos|je suis|je m'appelle|j'habite|je travaille|je préfère|j'utilise|j'ai)|(?:il mio|la mia|i miei|le mie|nostro|nostra|sono|abito|lavoro|preferisco|mi chiamo|uso|ho))\s+\S+`)

// item is a line of a list of messages or memories; its text is empty where it stands in a fence.
var item = regexp.MustCompile(`(?s)^(\d+)\. (?:\d{4}-\d\d-\d\d \d\d:\d\d ([^:]*):|\([^)]*\)) ?(.*)$`)

type noted struct{ n, by, text, whole string }

// items are those of a section. What goes on in indented lines stands in whole alone.
func (s section) items() (list []noted) {
	for _, line := range s.lines {
		if m := item.FindStringSubmatch(line); m != nil {
			list = append(list, noted{m[1], m[2], strings.TrimSpace(m[3]), strings.TrimSpace(m[3])})
		} else if i := len(list) - 1; i >= 0 && list[i].text != "" && strings.HasPrefix(line, "  ") {
			list[i].whole += "\n" + strings.TrimSpace(line)
		}
	}
	return list
}

func states(text string) bool {
	return len(text) <= 300 && !strings.Contains(text, "?") && statement().MatchString(text)
}

// lookFor finds what people say of themselves.
func lookFor(p prompt) map[string]any {
	found := []string{}
	for _, m := range p["Messages"].items() {
		if m.by != "you" && states(m.text) && len(found) < 10 {
			found = append(found, m.text)
		}
	}
	return map[string]any{"learnings": found}
}

// same is a text without what does not tell two apart.
func same(text string) string { return strings.ToLower(bare(text)) }

// curate believes what nobody from outside said, once.
func curate(p prompt) map[string]any {
	known := map[string]bool{}
	for _, m := range p["Known already"].items() {
		known[same(m.whole)] = true
	}
	verdicts := []any{}
	for _, m := range p["Learnings"].items() {
		v := map[string]any{"learning": json.Number(m.n), "verdict": "discard", "kind": nil, "category": nil, "key": nil, "text": nil, "replaces": nil, "reason": nil}
		switch {
		case m.text == "":
			v["reason"] = "outside text that nobody confirmed"
		case known[same(m.whole)]:
			v["reason"] = "known already"
		default:
			known[same(m.whole)] = true
			v["verdict"], v["kind"], v["text"] = "promote", "fact", m.whole
		}
		verdicts = append(verdicts, v)
	}
	return map[string]any{"verdicts": verdicts}
}

// What a summary has room for, in words; less than a summary may have.
const summaryWords, statedWords = 380, 250

// sumUp keeps what people said of themselves, and the beginnings of the newest messages.
func sumUp(p prompt) map[string]any {
	former := p["Summary so far"]
	all := strings.SplitAfter(cmp.Or(former.text(), append(former.fences, "")[0]), ". ")
	fences := p["Messages"].fences
	for _, m := range p["Messages"].items() {
		if m.text == "" && len(fences) > 0 {
			m.text, fences = fences[0], fences[1:]
		}
		all = append(all, strings.ReplaceAll(m.by+": "+strings.TrimRight(words.OneLine(m.text, 120), ".")+".", ". ", "; "))
	}
	count := func(text string) int { return len(strings.Fields(text)) }
	kept, left := make([]bool, len(all)), summaryWords
	for i, text := range all { // the oldest first
		_, what, _ := strings.Cut(text, ": ")
		if kept[i] = states(what) && left-count(text) >= summaryWords-statedWords; kept[i] {
			left -= count(text)
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if !kept[i] && count(all[i]) <= left {
			kept[i], left = true, left-count(all[i])
		}
	}
	sentences := []string{}
	for i, text := range all {
		if text = strings.TrimSpace(text); kept[i] && text != "" {
			sentences = append(sentences, text)
		}
	}
	return map[string]any{"sentences": sentences}
}

// merge makes one of facts that are the same.
func merge(p prompt) map[string]any {
	facts, at := []map[string]any{}, map[string]int{}
	for _, m := range p["Facts"].items() {
		i, there := at[same(m.whole)]
		if !there {
			i, at[same(m.whole)] = len(facts), len(facts)
			facts = append(facts, map[string]any{"text": m.whole, "of": []json.Number{}})
		}
		facts[i]["of"] = append(facts[i]["of"].([]json.Number), json.Number(m.n))
	}
	return map[string]any{"facts": facts}
}
