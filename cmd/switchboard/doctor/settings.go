package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/models"
	"switchboard/cmd/switchboard/socket"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/decision"
	"switchboard/router/files"
	"switchboard/router/memory"
)

// running warns where the running engine does not go by the settings as they are
// now.
func (r *report) running() {
	var engine socket.Running
	err := api.Ask(r.ctx, r.settings.DataDir, "/v1/config", &engine)
	now := socket.RunningWith(r.settings)
	switch {
	case errors.Is(err, api.ErrNoEngine):
	case err != nil:
		r.warn("engine", "", "it does not say which settings it runs with ("+err.Error()+"); an older version may be running")
	case engine.File != now.File:
		r.warn("engine", "", fmt.Sprintf("it runs with the settings of %s, and this command has read %s", cmp.Or(engine.File, "no file"), cmp.Or(now.File, "no file")))
	default:
		changed := map[bool][]string{} // by whether it is live
		for _, key := range changedSettings(engine.Settings, now.Settings) {
			changed[configs.Live(key)] = append(changed[configs.Live(key)], key)
		}
		if len(changed[true]) > 0 {
			r.warn("engine", "", "it does not use the file's values for these (its log says why, unless you saved the file a moment ago): "+first(changed[true]))
		}
		if len(changed[false]) > 0 {
			r.warn("engine", "", "these were changed since it started, and count after a restart: "+first(changed[false]))
		}
	}
}

// first lists the first ten of keys.
func first(keys []string) string {
	if most := 10; len(keys) > most {
		keys = append(keys[:most:most], fmt.Sprintf("and %d more", len(keys)-most))
	}
	return strings.Join(keys, ", ")
}

// changedSettings lists the keys, and the tables that are on one side alone, in which
// the settings differ. What an environment or a command line says counts for one
// process, what was changed at run time is no command's, and both are left out. Credentials are known by where they are kept.
func changedSettings(before, after []configs.Shown) (keys []string) {
	theirs := map[string]configs.Shown{}
	for _, s := range before {
		theirs[s.Key] = s
	}
	table := func(s configs.Shown) string { return s.Key[:max(strings.LastIndexByte(s.Key, '.'), 0)] }
	for _, ours := range after {
		s, known := theirs[ours.Key]
		delete(theirs, ours.Key)
		switch {
		case passing(ours) || passing(s):
		case !known:
			keys = append(keys, table(ours))
		case s.Kept != ours.Kept, s.Kept == "" && s.Value != ours.Value:
			keys = append(keys, ours.Key)
		}
	}
	for _, s := range theirs {
		if !passing(s) {
			keys = append(keys, table(s))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func passing(s configs.Shown) bool {
	return strings.HasPrefix(s.Source, "--") || strings.HasPrefix(s.Source, "environment ") || strings.HasPrefix(s.Source, "run-time change")
}

// models asks every model that a role names for a plan, and for a word at the beginning of a long
// prompt: a wrong key, a dead server, or a model that is not up to it shows here and not in the first
// conversation.
func (r *report) models() {
	list, err := models.New(r.settings, slog.New(slog.DiscardHandler))
	if err != nil {
		r.modelFault("", err, "agent.planner", r.settings.Agent.Planner)
		return
	}
	defer list.Close()
	byModel := models.Roles(r.settings)
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		roles := strings.Join(byModel[model], ", ")
		if model == llm.Offline {
			r.warn("model", "name a language model in agent.planner, and its key in [llm.providers]; \"switchboard init model\" asks for both and adds them",
				"no language model is set ("+roles+"); the built-in one knows what \"help\" lists, and looks at nothing by itself (heartbeats)")
			continue
		}
		took, seen, err := models.Try(r.ctx, r.settings, list, model)
		if err != nil {
			r.modelFault(fmt.Sprintf("%s (%s): ", model, roles), err, "agent.planner", model)
			continue
		}
		r.ok("model", "%s (%s): answered in %s", model, roles, took.Round(time.Millisecond))
		for _, remark := range seen {
			r.add(Finding{"model", !remark.Fails, true, model + " " + remark.Text, remark.Fix})
		}
	}
	if model := r.settings.Embeddings.Model; model != "" {
		response, err := list.Complete(r.ctx, model, llm.Request{Role: memory.RoleEmbeddings, Embed: []string{"hello"}, Timeout: 20 * time.Second})
		if err != nil {
			r.modelFault(model+" (embeddings): ", err, "embeddings.model", model)
			return
		}
		r.ok("model", "%s (embeddings): vectors of %d numbers, in %s", model, len(response.Vectors[0]), response.Exchange.Duration.Round(time.Millisecond))
	}
}

// modelFault says what is wrong with a model, and the setting that fixes it.
func (r *report) modelFault(begin string, err error, setting, model string) {
	fix, text := fmt.Sprintf("try again later, or set %s to another model than %q", setting, model), err.Error()
	if setup, ok := errors.AsType[*llm.SetupError](err); ok {
		fix, text = setup.Fix, strings.TrimSuffix(text, "; "+setup.Fix)
	}
	r.fail("model", fix, begin+text)
}

// budget says which limits there are, and which models have no price.
func (r *report) budget() {
	b := r.settings.Limits()
	var limits []string
	for _, limit := range []struct {
		name  string
		value float64
	}{{"a day", b.PerDay}, {"a person and day", b.PerPersonDay}, {"a conversation and day", b.PerSessionDay}, {"a run of a job", b.PerRun}} {
		if limit.value > 0 {
			limits = append(limits, b.Amount(limit.value)+" "+limit.name)
		}
	}
	text := "no limits"
	if len(limits) > 0 {
		text = "at most " + strings.Join(limits, ", ")
	}
	if faults := r.settings.Unpriced(); len(faults) > 0 { // with a limit it would be no valid setting
		text += fmt.Sprintf("; models without a price: %d", len(faults))
	}
	r.ok("budget", "%s", text)
}

// prompts says what is wrong with the prompts of one's own; nothing where all are
// fine.
func (r *report) prompts() {
	faults, err := agent.PromptFaults(r.settings.DataDir)
	if err != nil {
		r.fail("prompts", "let whoever runs the program read the folder", err.Error())
	}
	for _, f := range faults {
		r.add(Finding{Check: "prompts", OK: !f.Fatal, Warn: !f.Fatal, Text: f.String(), Fix: f.Fix})
	}
}

// scannerTimeout bounds the doctor's one scan.
const scannerTimeout = 30 * time.Second

// scanner lets the scan command look at an empty file: one that cannot be run, or
// refuses even that, holds back every file that comes in.
func (r *report) scanner() {
	words := strings.Fields(r.settings.Files.ScanCommand)
	if len(words) == 0 {
		return
	}
	f := Finding{Check: "files", Fix: "see [files] scan_command: it is run with the file's path as last argument, and exit status 0 means clean; until it works every file is held back"}
	defer func() { r.add(f) }()
	program, err := exec.LookPath(words[0])
	if err != nil {
		f.Text = fmt.Sprintf("scan_command: %v", err)
		return
	}
	took, reason, err := r.tryScanner()
	switch {
	case err != nil:
		f.Text = fmt.Sprintf("scan_command: %s: %v", program, err)
	case reason != "":
		f.Text = fmt.Sprintf("scan_command: %s: an empty file would be held back: %s", program, reason)
	default:
		f.OK, f.Text = true, fmt.Sprintf("scan_command: %s: an empty file is clean, said in %s", program, took.Round(time.Millisecond))
	}
}

// tryScanner scans an empty file where those that come in are scanned, in the data
// folder: what may not read there is of no use.
func (r *report) tryScanner() (took time.Duration, reason string, err error) {
	dir, _ := Nearest(r.settings.DataDir)
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(r.ctx, scannerTimeout)
	defer cancel()
	began := time.Now()
	reason, err = files.TryScanner(ctx, r.settings.Files.ScanCommand, file.Name())
	if ctx.Err() != nil && r.ctx.Err() == nil {
		reason, err = fmt.Sprintf("the scanner did not come to an end within %s", scannerTimeout), nil
	}
	return time.Since(began), reason, err
}

// policy asks the decision service a question as a tool would; nothing where none is set.
func (r *report) policy() {
	var service decision.Service
	service.Apply(r.settings.Policy.Service, r.settings.Policy.ServiceToken)
	if !service.Set() {
		return
	}
	defer service.Apply("", "")
	began := time.Now()
	err := service.Ask(r.ctx, decision.Question{Action: decision.ToolExecute, Role: core.RoleAdmin, Channel: access.Console, Tool: "time", Effect: string(tools.EffectRead)})
	switch took := time.Since(began).Round(time.Millisecond); {
	case errors.Is(err, decision.ErrNoAnswer):
		r.fail("policy", "see [policy] service, and what the log of that service says; until it answers every tool and every memory is refused", err.Error())
	case err != nil:
		r.warn("policy", "if it refuses everything, see the path in [policy] service", fmt.Sprintf("the policy service answered in %s, and refused a test question (may an admin use the tool time?)", took))
	default:
		r.ok("policy", "the policy service answered in %s", took)
	}
}
