package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// notAvailable is what a setting says that this build knows and does not use.
const notAvailable = "not available in this build"

// A laterKey is a setting that this build knows and does not use; * stands for one name.
type laterKey struct {
	key    string
	values []string // only these are not available; nil: all
	then   string   // what becomes of it; empty: the setting has no effect
	hidden bool     // its only other value is the default: Sample does not have it
}

// laterKeys are not in Sample but for those with other values.
var laterKeys = []laterKey{
	{key: "server.webhook_secret"},
	{key: "llm.providers.*.kind", values: []string{"anthropic"}},
	{key: "agent.context_messages"},
	{key: "channels.*.mode", values: []string{"webhook"}, then: "the channel does not connect", hidden: true},
	{key: "channels.*.webhook_secret", values: []string{}, hidden: true}, // of that mode
	{key: "channels.*.signing_secret", values: []string{}, hidden: true},
	{key: "transcription"},
}

// later warns of settings that this build knows and does not use.
func (c *checker) later(s *Settings) {
	defaults := map[string]string{}
	for _, shown := range Defaults().Show() {
		defaults[shown.Key] = shown.Value
	}
	warned := map[string]bool{}
	for _, shown := range s.Show() {
		key, _, _ := strings.Cut(shown.Key, "[")
		for _, l := range laterKeys {
			if !matches(l.key, key) || warned[key] || shown.Value == defaults[shown.Key] {
				continue
			}
			if l.values == nil || slices.Contains(l.values, strings.Trim(shown.Value, `"`)) {
				warned[key] = true
				c.warn(c.source(shown.Key), key, fmt.Sprintf("%s; %s", notAvailable, cmp.Or(l.then, "the setting has no effect")))
			}
		}
	}
}

// matches reports whether key is pattern or lies below it.
func matches(pattern, key string) bool {
	for more, on := true, true; more; {
		var p, k string
		if !on {
			return false
		}
		p, pattern, more = strings.Cut(pattern, ".")
		k, key, on = strings.Cut(key, ".")
		if p != "*" && p != k {
			return false
		}
	}
	return true
}

// liveness says of every part of the settings that has an effect whether a change of it is used at once;
// the longest key that fits decides. docs/settings.md repeats it.
var liveness = []struct {
	key  string
	live bool
}{
	{"data_dir", false},
	{"server", false},
	{"server.allow_private", true},
	{"server.tokens", true},
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
	{"files", true},
	{"notify", true},
	{"retention", true},
}

// Live says whether a change of that setting is used at once; else it is from the next start. One that
// stands among laterKeys alone is: nothing waits for a start.
func Live(key string) bool {
	key, _, _ = strings.Cut(key, "[")
	best, live := "", slices.ContainsFunc(laterKeys, func(l laterKey) bool { return l.values == nil && matches(l.key, key) })
	for _, part := range liveness {
		if matches(part.key, key) && len(part.key) > len(best) {
			best, live = part.key, part.live
		}
	}
	return live
}

// fixed are the settings that no change at run time reaches; * stands for one name.
var fixed = []struct{ key, why string }{
	{"data_dir", "cannot be changed while the program runs: changes made at run time are kept there; write it in the file"},
	{"store", "cannot be changed while the program runs: changes made at run time are kept in that database; write it in the file"},
	{"people", "people are changed with /people, or in the file"},
	{"agent.sandbox", hostOnly},
	{"agent.admin_unconfined", hostOnly},
	{"files.scan_command", hostOnly},
	{"policy.service", aboveAdmins},
	{"policy.service_token", aboveAdmins},
	{"server.tokens", "lists of tables can be set only in the file"},
	{"llm.providers.*.headers", "often holds a credential, which would stand readable in the database; write it in the file"},
}

// hostOnly is why a setting that lets a chat reach the machine stands in the file alone.
const hostOnly = "decides what reaches the machine itself, so it is changed in the file alone"

// aboveAdmins is why what narrows the rights of admins, too, stands in the file alone.
const aboveAdmins = "decides about admins too, so it is changed in the file alone"

// notChangeable says why a setting cannot be changed at run time; empty: it can.
func notChangeable(key string) string {
	bare, _, isEntry := strings.Cut(key, "[")
	for _, f := range fixed {
		if matches(f.key, bare) {
			return f.why
		}
	}
	if isEntry {
		return "is an entry of a list; change the whole list"
	}
	return ""
}
