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
	{key: "server.listen"},
	{key: "server.public_url"},
	{key: "server.webhook_secret"},
	{key: "server.internal_token"},
	{key: "server.tokens"},
	{key: "llm.providers.*.kind", values: []string{"anthropic"}},
	{key: "agent.summarizer"},
	{key: "agent.curator"},
	{key: "agent.paraphraser"},
	{key: "agent.context_messages"},
	{key: "agent.self_evolution"},
	{key: "agent.knowledge_max_facts"},
	{key: "agent.summarize_threshold"},
	{key: "channels.*.mode", values: []string{"webhook"}, then: "the channel does not connect", hidden: true},
	{key: "channels.*.webhook_secret", values: []string{}, hidden: true}, // of that mode
	{key: "channels.*.signing_secret", values: []string{}, hidden: true},
	{key: "memory"},
	{key: "embeddings"},
	{key: "transcription"},
}

// later warns of settings that this build knows and does not use.
func (b *binder) later(s *Settings) {
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
				b.warn(b.source(shown.Key), key, fmt.Sprintf("%s; %s", notAvailable, cmp.Or(l.then, "the setting has no effect")))
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
