package configs

import (
	"strings"
	"testing"
)

// What a setting means is what the sample says of it, for those of channels what it says of their kind.
func TestMeaningsAreThoseOfTheSample(t *testing.T) {
	t.Parallel()
	s, _, err := Parse(Options{File: "/s.toml", Env: []string{"HOME=/"}, Kinds: kinds()}, Sample+
		"\n[channels.work]\nkind = \"slack\"\n[channels.home]\nkind = \"telegram\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"router.workers":                "Messages answered at once by this engine; one person holds at most a quarter.",
		"router.stop_words[2]":          "A message that is one of these stops the running answer.",
		"agent.max_replan_depth":        "",
		"llm.providers.own.kind":        "openai (any compatible server) | anthropic | offline",
		"llm.models.smart.price_in":     "An alias, and what is known of its model.",
		"channels.work.reply_in":        "Where a mention in a channel is answered: thread | channel.",
		"channels.home.api_url":         "Empty: the platform's own; set it for a Bot API server of yours",
		"channels.work.api_url":         "Empty: the platform's own; set it for a test: \"http://127.0.0.1:8082/api/\".",
		"channels.home.require_mention": "In groups the bot answers only when it is named.",
		"budget.per_job_run":            "Of one run of a job",
		"budget.per_day":                "The most that may be spent on models",
		"policy.exec.deny":              "Commands, judged word by word",
		"nothing.of.that.name":          "",
	} {
		if got := s.Meaning(key); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
