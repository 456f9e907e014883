// Package models makes the models that the settings name, checks that each role is served, and tries them.
package models

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/llm/offline"
	"switchboard/configs"
)

// New makes the models and makes sure that each role could be served.
func New(s *configs.Settings, log *slog.Logger) (*llm.Models, error) {
	cfg := s.LLM
	cfg.Named, cfg.Providers = settingsOf(s), maps.Clone(cfg.Providers)
	for name, p := range cfg.Providers {
		p.KeyFrom = s.Kept("llm.providers." + name + ".api_key")
		cfg.Providers[name] = p
	}
	models, err := llm.New(cfg, offline.New(time.Now), log)
	if err != nil {
		return nil, err
	}
	roles := map[string]string{} // what is wrong with a model is said once for all its roles
	for model, names := range Roles(s) {
		roles[strings.Join(names, ", ")] = model
	}
	if s.Embeddings.Model != "" {
		roles["embeddings"] = s.Embeddings.Model
	}
	return models, models.Check(roles)
}

// settingsOf says of each model which setting names it first.
func settingsOf(s *configs.Settings) map[string]string {
	named := map[string]string{s.EmbeddingsModel(): "embeddings.model"}
	for i, model := range s.Agent.Fallback {
		named[model] = fmt.Sprintf("agent.fallback[%d]", i)
	}
	for model, roles := range Roles(s) {
		named[model] = "agent." + roles[0]
		if slices.Contains(roles, "planner") {
			named[model] = "agent.planner" // which the others follow
		}
	}
	return named
}

// Roles are the roles that each model has, in order.
func Roles(s *configs.Settings) map[string][]string {
	roles := s.Agent.Roles()
	byModel := map[string][]string{}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		byModel[roles[role]] = append(byModel[roles[role]], role)
	}
	return byModel
}

// Faults are the providers without a key that a role needs, each once, where the
// key is written, or else the model. They are a configs.UsageError.
func Faults(s *configs.Settings) error {
	models, err := llm.New(s.LLM, offline.New(time.Now), slog.New(slog.DiscardHandler))
	if err != nil {
		return configs.Usage(err)
	}
	byModel := Roles(s)
	roles, model := map[string][]string{}, map[string]string{} // by provider
	for _, name := range slices.Sorted(maps.Keys(byModel)) {
		provider, _, _ := strings.Cut(cmp.Or(s.LLM.Models[name].Model, name), "/")
		roles[provider], model[provider] = append(roles[provider], byModel[name]...), name
	}
	var faults configs.Faults
	for _, provider := range slices.Sorted(maps.Keys(roles)) {
		err := models.Check(map[string]string{strings.Join(roles[provider], ", "): model[provider]})
		if err == nil {
			continue
		}
		key := "llm.providers." + provider + ".api_key"
		role, _, _ := strings.Cut(roles[provider][0], " ")
		faults = append(faults, configs.Fault{Source: cmp.Or(s.Place(key), s.Place("agent."+role)), Key: key, Text: err.Error()})
	}
	if len(faults) == 0 {
		return nil
	}
	return configs.Usage(faults)
}

// A Remark is a sentence without its subject, the model, and how to fix it.
type Remark struct {
	Text, Fix string
	Fails     bool // the model is of no use so
}

const (
	// slowPlan is how long a model takes for a small plan that makes people wait; an answer takes up to four
	// such calls.
	slowPlan = 20 * time.Second
	// fewTokens is where a model begins to read little, and moreTokens how it reads more.
	//
	// Source: https://docs.ollama.com/context-length.
	fewTokens  = 8192
	moreTokens = "with Ollama, start it with OLLAMA_CONTEXT_LENGTH=16384, or write \"PARAMETER num_ctx 16384\" into a Modelfile and create a model of it; " +
		"if its server reads more and does not say so, set context_tokens in its table [llm.models.NAME]"
	otherModel = "choose a model that keeps to a JSON schema; larger ones do"
)

// Try asks a model for a plan and a word, as package agent says: how long the plan took, and what was seen that
// somebody should know.
func Try(ctx context.Context, settings *configs.Settings, models *llm.Models, model string) (took time.Duration, seen []Remark, err error) {
	t, err := agent.TryModel(ctx, settings.Agent, models, model, agent.Options{DataDir: settings.DataDir, Length: models.Length})
	if err != nil {
		return 0, nil, err
	}
	see := func(is bool, fix, format string, args ...any) {
		if is {
			seen = append(seen, Remark{Text: fmt.Sprintf(format, args...), Fix: fix})
		}
	}
	switch {
	case t.Fault != "" && t.Lenient:
		seen = []Remark{{"leaves out parts of a plan: " + t.Fault, "set lenient = true in [agent], or " + otherModel, true}}
	case t.Fault != "":
		seen = []Remark{{"gives no plan, so it can answer nothing: " + t.Fault, otherModel, true}}
	case t.Prose:
		see(true, otherModel, "ignores the form of a plan and writes plain text, so it can talk but use no tools")
	case t.Loose:
		see(true, otherModel, "does not quite keep to the form of a plan, which I put right")
	}
	see(t.Took > slowPlan, "choose a smaller model, or a faster machine", "is slow: %s for a small plan, and an answer takes up to four such calls", t.Took.Round(time.Second))
	read := models.Length(ctx, model).Tokens
	see(read < fewTokens, moreTokens, "reads %d tokens at once, so it soon forgets what was said", read)
	see(t.Lost > 0, moreTokens, "forgets the beginning of a prompt of %d tokens, where its instructions stand", t.Lost)
	see(t.Claimed > 0, "compare its bill with \"switchboard usage --by model\", or ask another provider",
		"says that it used %d tokens, more than it can have, so the reserved amount is counted", t.Claimed)
	return t.Took, seen, nil
}
