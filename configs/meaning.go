package configs

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Meaning is what Sample says of a setting; empty: it says nothing. Where several stand below one comment, or the
// table alone has one, it is that.
func (s *Settings) Meaning(key string) string {
	key, _, _ = strings.Cut(key, "[")
	kind := ""
	if rest, of := strings.CutPrefix(key, "channels."); of {
		name, _, _ := strings.Cut(rest, ".")
		kind = s.Channels[name].Kind
	}
	found := ""
	for _, m := range meanings() {
		if (m.kind == "" || m.kind == kind || found == "") && matches(m.key, key) {
			found = m.text
			if m.kind == kind {
				break
			}
		}
	}
	return found
}

// Changeable says why a setting cannot be changed at run time; empty: it can.
func Changeable(key string) (why string) { return notChangeable(key) }

// A meaning is what a comment of Sample says; * in the key stands for one name.
type meaning struct{ key, kind, text string }

var (
	sampleTable = regexp.MustCompile(`^#?\[([a-z_.\-]+)\]$`)
	sampleKey   = regexp.MustCompile(`^#?([a-z_]+) = (.*)$`)
	// named are tables whose last name in Sample is an example.
	named = regexp.MustCompile(`^(llm\.providers|llm\.models|channels)\.[a-z\-]+$`)
)

// meanings are the comments of Sample, those of keys before those of tables.
var meanings = sync.OnceValue(func() []meaning {
	var keys, tables []meaning
	table, kind, about := "", "", []string(nil)
	for line := range strings.Lines(Sample) {
		line = strings.TrimSpace(line)
		text, comment := strings.CutPrefix(line, "# ")
		head, pair := sampleTable.FindStringSubmatch(line), sampleKey.FindStringSubmatch(line)
		switch {
		case comment:
			about = append(about, text)
			continue
		case head != nil:
			table, kind = head[1], ""
			if named.MatchString(table) {
				table = table[:strings.LastIndexByte(table, '.')] + ".*"
			}
			if len(about) > 0 && !strings.HasPrefix(table, "channels.") {
				tables = append(tables, meaning{table, "", strings.Join(about, " ")})
			}
		case pair != nil:
			if pair[1] == "kind" && strings.HasPrefix(table, "channels.") {
				kind = strings.Trim(pair[2], `"`)
			}
			if len(about) > 0 {
				keys = append(keys, meaning{dot(table, pair[1]), kind, strings.Join(about, " ")})
			}
		}
		about = nil
	}
	slices.SortStableFunc(tables, func(a, b meaning) int { return len(b.key) - len(a.key) }) // the innermost first
	return append(keys, tables...)
})
