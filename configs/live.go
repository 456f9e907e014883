package configs

import (
	"reflect"
	"strings"
)

// liveness says of every part of the settings whether a change of it is used at once; the longest
// key that fits decides. docs/settings.md repeats it.
var liveness = []struct {
	key  string
	live bool
}{
	{"data_dir", false},
	{"server", false},
	{"server.allow_private", true},
	{"store", false},
	{"log.level", true},
	{"log.format", false},
	{"llm", true},
	{"agent", true},
	{"router", true},
	{"channels", true},
	{"people", true},
	{"policy", true},
	{"approvals", true},
	{"scheduler", true},
	{"heartbeat", true},
	{"budget", true},
	{"memory", true},
	{"embeddings", true},
	{"transcription", true},
	{"files", true},
	{"notify", true},
	{"retention", true},
}

// Live says whether a change of that setting is used at once; else it is from the next start.
func Live(key string) bool {
	key, _, _ = strings.Cut(key, "[")
	best, live := "", false
	for _, part := range liveness {
		if matches(part.key, key) && len(part.key) > len(best) {
			best, live = part.key, part.live
		}
	}
	return live
}

// Keeping is s with those settings of was that a change reaches at the next start alone: what
// counts in a program that was started with was.
func (s *Settings) Keeping(was *Settings) *Settings {
	kept := *s
	to, from := reflect.ValueOf(&kept).Elem(), reflect.ValueOf(was).Elem()
	for f := range fieldsOf(to.Type()) {
		keep(to.FieldByIndex(f.index), from.FieldByIndex(f.index), f.key)
	}
	return &kept
}

func keep(to, from reflect.Value, key string) {
	if inner := to.Type(); inner.Kind() == reflect.Struct {
		for f := range fieldsOf(inner) {
			keep(to.FieldByIndex(f.index), from.FieldByIndex(f.index), dot(key, f.key))
		}
		return
	}
	if !Live(key) {
		to.Set(from)
	}
}
