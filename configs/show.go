package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/router"
)

// Shown is one effective setting, as `config show` prints it.
type Shown struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // as it would be written in the file; credentials "[redacted]" or "(not set)"
	Source string `json:"source"` // "default", "FILE:LINE", "run-time change", "environment NAME", "--data"; for credentials also where they are kept
	// Kept is where a credential is kept: "env:NAME", "file:PATH", absolute, or "secret:NAME"; empty for
	// one that is written literally.
	Kept string `json:"kept,omitempty"`
}

const (
	redacted = "[redacted]"
	notSet   = "(not set)"
)

// Place is where key was written, as Fault.Source says it; empty: nowhere.
func (s *Settings) Place(key string) string { return s.sources[key].String() }

// Show lists every effective setting in the order of the sample file. No
// credential is in it.
func (s *Settings) Show() []Shown {
	var all []Shown
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		from := "default"
		if src, ok := s.sources[l.key]; ok {
			from = src.String()
		}
		if note := s.notes[l.key]; note != "" {
			from += " (" + note + ")"
		}
		all = append(all, Shown{Key: l.key, Value: shown(l), Source: from, Kept: s.refs[l.key]})
	}
	return all
}

// shown is a setting as it would be written in the file, and nothing secret in it.
func shown(l leaf) string {
	if isHeader(l.key) {
		return redacted
	}
	return format(l)
}

// isHeader says that a setting is a header of a provider, which often carries a credential.
func isHeader(key string) bool { return matches("llm.providers.*.headers.*", key) }

// UsedBy are the keys of the credentials that a secret of the encrypted store stands for.
func (s *Settings) UsedBy(secret string) (keys []string) {
	for key, ref := range s.refs {
		if ref == "secret:"+secret {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// UsesSecrets says that a credential is kept in the encrypted store.
func (s *Settings) UsesSecrets() bool {
	for _, ref := range s.refs {
		if strings.HasPrefix(ref, "secret:") {
			return true
		}
	}
	return false
}

// Kept is where the credential of that key is kept, as Shown.Kept.
func (s *Settings) Kept(key string) string { return s.refs[key] }

// format is a setting as it would be written in the file, credentials masked.
func format(l leaf) string {
	v := l.value
	switch t := v.Type(); {
	case t == reflect.TypeFor[channels.Credential]():
		if _, err := v.Interface().(channels.Credential).Read(); err != nil {
			return notSet
		}
		return redacted
	case isSecret(t):
		if v.Len() == 0 {
			return notSet
		}
		return redacted
	case t == reflect.TypeFor[time.Duration]():
		return quote(formatDuration(time.Duration(v.Int())))
	case l.size:
		return quote(formatSize(v.Int()))
	case t.Kind() == reflect.String:
		return quote(v.String())
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			return notSet
		}
		return format(leaf{l.key, v.Elem(), l.size})
	case t.Kind() == reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = format(leaf{l.key, v.Index(i), l.size})
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// formatSize is the shortest text that parseSize reads as n.
func formatSize(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// formatDuration is d without the zeros that time.Duration writes.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// quote writes s as TOML does; Go's own quoting knows escapes that TOML does not.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// A Difference is a setting that two Settings have otherwise.
type Difference struct {
	Key  string `json:"key"`
	Was  string `json:"was"` // as Shown.Value, or where a credential is kept; empty: it was not there
	Is   string `json:"is"`
	Live bool   `json:"live"` // it is used at once; else from the next start
}

// Diff says what differs, in the order of the sample file. No credential is in it.
func Diff(was, is *Settings) []Difference {
	before, after := was.marks(), is.marks()
	var diff []Difference
	add := func(key string) {
		if before[key] != after[key] {
			diff = append(diff, Difference{Key: key, Was: before[key].text, Is: after[key].text, Live: Live(key)})
		}
	}
	for _, shown := range is.Show() {
		add(shown.Key)
	}
	for _, shown := range was.Show() {
		if _, still := after[shown.Key]; !still {
			add(shown.Key)
		}
	}
	return diff
}

// Touches says whether something changes in one of the settings or tables.
func Touches(diff []Difference, keys ...string) bool {
	return slices.ContainsFunc(diff, func(d Difference) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return In(d.Key, key) })
	})
}

// In says whether a setting is that of a key, or lies in the table or list of it.
func In(setting, key string) bool {
	rest, ok := strings.CutPrefix(setting, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// A mark is what a setting is known by: what is shown, and what is not.
type mark struct{ text, hidden string }

func (s *Settings) marks() map[string]mark {
	marks := map[string]mark{}
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		m := mark{text: shown(l), hidden: hidden(l)}
		if ref := s.refs[l.key]; ref != "" {
			m.text = cmp.Or(s.opts.Changes[l.key], ref)
		}
		marks[l.key] = m
	}
	return marks
}

// hidden is the credential of a setting that is shown masked; empty where it is not read now.
func hidden(l leaf) string {
	switch v := l.value.Interface().(type) {
	case channels.Credential:
		secret, _ := v.Read()
		return secret.Reveal()
	case revealer:
		return v.Reveal()
	}
	if isHeader(l.key) {
		return l.value.String()
	}
	return ""
}

// OfChannel says what a difference changes of a channel: what the router goes by there, or what its
// adapter is made of, which has to be made again then.
func OfChannel(diff []Difference, name string) (rules, adapter bool) {
	var ofRouter []string
	for f := range fieldsOf(reflect.TypeFor[router.ChannelConfig]()) {
		ofRouter = append(ofRouter, f.key)
	}
	for _, d := range diff {
		key, of := strings.CutPrefix(d.Key, "channels."+name+".")
		switch {
		case !of || strings.Contains(key, "."): // of a channel whose name goes on
		case slices.Contains(ofRouter, key):
			rules = true
		default:
			adapter = true
		}
	}
	return rules, adapter
}
