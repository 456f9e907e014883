package main

import (
	"slices"
	"testing"

	"switchboard/configs"
)

// Init asks about every platform, and what it asks for stands in the settings that it writes.
func TestInitKnowsEveryPlatform(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		if !slices.ContainsFunc(askedKinds, func(asked askedKind) bool { return asked.kind == k.name }) && !slices.ContainsFunc(extraKinds(), func(extra kind) bool { return extra.name == k.name }) {
			t.Errorf("init does not ask about %s", k.name)
		}
	}
	for _, asked := range askedKinds {
		ch := configs.AnsweredChannel{Kind: asked.kind, Keys: map[string]string{}}
		for _, a := range asked.keys {
			ch.Keys[a.key] = "env:SOME_TOKEN"
		}
		text := configs.Answers{Channels: []configs.AnsweredChannel{ch}}.Text()
		settings, _, err := configs.Parse(configs.Options{File: "/s.toml", Env: []string{"HOME=/"}, Kinds: configKinds()}, text)
		if err != nil || settings.Channels[asked.kind].Kind != asked.kind {
			t.Errorf("%s: %v", asked.kind, err)
		}
	}
}
