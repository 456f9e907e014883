package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// notAvailable is what a setting says that this build knows and does not use.
const notAvailable = "not available in this build"

// laterKeys are the settings that this build knows and does not use; * stands for
// one name. With values, only those are not available.
var laterKeys = []struct {
	key    string
	values []string
	then   string // what becomes of it; empty: the setting has no effect
}{
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
	{key: "channels.*.mode", values: []string{"webhook"}, then: "the channel does not connect"},
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
	p, k := strings.Split(pattern, "."), strings.Split(key, ".")
	if len(k) < len(p) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != k[i] {
			return false
		}
	}
	return true
}
