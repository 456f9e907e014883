package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/configs"
)

// checkModels asks every model that a role names for a plan, and for a word at the beginning of a long
// prompt: a wrong key, a dead server, or a model that is not up to it shows here and not in the first
// conversation.
func (a *app) checkModels(settings *configs.Settings) []finding {
	models, err := newModels(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return []finding{modelFault(finding{Check: "model"}, err, settings.Agent.Planner)}
	}
	defer models.Close()
	byModel := rolesByModel(settings)
	var findings []finding
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		f := finding{Check: "model", Text: fmt.Sprintf("%s (%s)", model, strings.Join(byModel[model], ", "))}
		if model == llm.Offline {
			f.OK, f.Warn, f.Text = true, true, "no language model is set ("+strings.Join(byModel[model], ", ")+"); the built-in one knows what \"help\" lists, and looks at nothing by itself (heartbeats)"
			f.Mend = "name a language model in agent.planner, and its key in [llm.providers]; \"switchboard init model\" asks for both and adds them"
			findings = append(findings, f)
			continue
		}
		trial, err := a.tryModel(settings, models, model)
		if err != nil {
			f.Text += ": "
			findings = append(findings, modelFault(f, err, model))
			continue
		}
		f.OK, f.Text = true, fmt.Sprintf("%s: answered in %s", f.Text, trial.took.Round(time.Millisecond))
		findings = append(findings, f)
		for _, seen := range trial.seen {
			findings = append(findings, finding{"model", !seen.fails, true, model + " " + seen.text, seen.mend})
		}
	}
	return findings
}

// modelFault adds to f what is wrong with a model, and the setting that mends it.
func modelFault(f finding, err error, model string) finding {
	f.Text += err.Error()
	if setup, ok := errors.AsType[*llm.SetupError](err); ok {
		f.Text, f.Mend = strings.TrimSuffix(f.Text, "; "+setup.Fix), setup.Fix
	} else {
		f.Mend = fmt.Sprintf("try again later, or set agent.planner to another model than %q", model)
	}
	return f
}

// A modelTrial is how a model answered, and what was seen that somebody should know.
type modelTrial struct {
	took time.Duration
	seen []modelRemark
}

// A modelRemark is a sentence without its subject, the model, and how to mend it.
type modelRemark struct {
	text, mend string
	fails      bool // the model is of no use so
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

// tryModel asks a model for a plan and a word, as package agent says.
func (a *app) tryModel(settings *configs.Settings, models *llm.Models, model string) (modelTrial, error) {
	t, err := agent.TryModel(a.ctx, settings.Agent, models, model, agent.Options{DataDir: settings.DataDir, Length: models.Length})
	if err != nil {
		return modelTrial{}, err
	}
	trial := modelTrial{took: t.Took}
	see := func(is bool, mend, format string, args ...any) {
		if is {
			trial.seen = append(trial.seen, modelRemark{text: fmt.Sprintf(format, args...), mend: mend})
		}
	}
	switch {
	case t.Fault != "" && t.Lenient:
		trial.seen = []modelRemark{{"leaves out parts of a plan: " + t.Fault, "set lenient = true in [agent], or " + otherModel, true}}
	case t.Fault != "":
		trial.seen = []modelRemark{{"gives no plan, so it can answer nothing: " + t.Fault, otherModel, true}}
	case t.Prose:
		see(true, otherModel, "ignores the form of a plan and writes plain text, so it can talk but use no tools")
	case t.Loose:
		see(true, otherModel, "does not quite keep to the form of a plan, which I put right")
	}
	see(t.Took > slowPlan, "choose a smaller model, or a faster machine", "is slow: %s for a small plan, and an answer takes up to four such calls", t.Took.Round(time.Second))
	read := models.Length(a.ctx, model).Tokens
	see(read < fewTokens, moreTokens, "reads %d tokens at once, so it soon forgets what was said", read)
	see(t.Lost > 0, moreTokens, "forgets the beginning of a prompt of %d tokens, where its instructions stand", t.Lost)
	see(t.Claimed > 0, "compare its bill with \"switchboard usage --by model\", or ask another provider",
		"says that it used %d tokens, more than it can have, so the reserved amount is counted", t.Claimed)
	return trial, nil
}
