package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
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
