package configs

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/router"
)

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
// adapter is made of, which has to be made anew then.
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
