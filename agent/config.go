package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"switchboard/agent/memory"
)

// Config is the table [agent].
type Config struct {
	// Planner is a model alias, "provider/model", or "offline". Default "offline".
	Planner string `toml:"planner"`
	// Reviewer, Worker, Summarizer and Curator are models as Planner is; empty: the
	// planner's.
	Reviewer   string `toml:"reviewer"`
	Worker     string `toml:"worker"`
	Summarizer string `toml:"summarizer"`
	Curator    string `toml:"curator"`
	// Paraphraser is a model; empty: the summarizer's.
	Paraphraser string `toml:"paraphraser"`
	// Fallback are models tried in order when one fails or stalls. Where all are away the
	// turn waits and they are tried again, until [router] stale_after is over. Default none.
	Fallback []string `toml:"fallback"`
	// ContextMessages stand in prompts as they were written although the summary says what they said; what it does not say does all the
	// same. Default 5.
	ContextMessages int `toml:"context_messages"`
	// ContextCeiling is the fraction of a model's context_tokens that a prompt may
	// fill, above 0 and at most 1. Default 0.9.
	ContextCeiling float64 `toml:"context_ceiling"`
	// MaxValidationRetries is how often a faulty plan goes back; 0: never. Default 3.
	MaxValidationRetries int `toml:"max_validation_retries"`
	// MaxReplanDepth is how often one turn plans again; 0: never. Default 3.
	MaxReplanDepth int `toml:"max_replan_depth"`
	// MaxPlanTasks bounds the tasks of one plan, at least 1. Default 20.
	MaxPlanTasks int `toml:"max_plan_tasks"`
	// MaxLLMCalls bounds the model calls of one turn, at least 1. Default 40.
	MaxLLMCalls int `toml:"max_llm_calls"`
	// TurnTimeout, ExecTimeout and LLMTimeout bound one turn, one exec task and one
	// model call. Defaults 15m, 2m, 2m.
	TurnTimeout time.Duration `toml:"turn_timeout"`
	ExecTimeout time.Duration `toml:"exec_timeout"`
	LLMTimeout  time.Duration `toml:"llm_timeout"`
	// StallTimeout is how long a model may be silent before the next of Fallback is
	// asked: until its answer comes or, where that is seen while it is written, between
	// two pieces of it. Default 60s.
	StallTimeout time.Duration `toml:"stall_timeout"`
	// OutputLimit bounds the output of one task, in bytes. Default 1MB.
	OutputLimit int64 `toml:"output_limit" unit:"size"`
	// WorkspaceLimit is what all files of one session's workspace may have together, in
	// bytes, and WorkspaceFiles how many files and folders there may be. Defaults 2GB,
	// 100000.
	WorkspaceLimit int64 `toml:"workspace_limit" unit:"size"`
	WorkspaceFiles int   `toml:"workspace_files"`
	// Sandbox is auto (confined, or refused) or off, which lifts the confinement
	// for admins on a trusted machine. Default auto.
	Sandbox string `toml:"sandbox"`
	// AdminUnconfined lifts the confinement of admins' exec tasks. Default false.
	AdminUnconfined bool `toml:"admin_unconfined"`
	// SelfEvolution lets the agent propose skills of its own. Default false.
	SelfEvolution bool `toml:"self_evolution"`
	// Lenient takes plans and verdicts whose fields are not as the schema says (absent
	// or added ones, arguments as an object), which otherwise go back to the model.
	// Default false.
	Lenient bool `toml:"lenient"`
	// KnowledgeMaxFacts is the number of facts above which they are consolidated.
	// Default 50.
	KnowledgeMaxFacts int `toml:"knowledge_max_facts"`
	// SummarizeThreshold is the number of messages at which a session is summed up.
	// Default 30.
	SummarizeThreshold int `toml:"summarize_threshold"`
}

// DefaultConfig is [agent] with nothing set.
func DefaultConfig() Config {
	return Config{
		Planner: "offline", ContextMessages: 5, ContextCeiling: 0.9,
		MaxValidationRetries: 3, MaxReplanDepth: 3, MaxPlanTasks: 20, MaxLLMCalls: 40,
		TurnTimeout: 15 * time.Minute, ExecTimeout: 2 * time.Minute,
		LLMTimeout: 2 * time.Minute, StallTimeout: time.Minute,
		OutputLimit: 1 << 20, WorkspaceLimit: 2 << 30, WorkspaceFiles: 100_000, Sandbox: "auto",
		KnowledgeMaxFacts: 50, SummarizeThreshold: 30,
	}
}

// Roles maps each role of a turn, and each of memory that has a model of its own, to the name of its model,
// and each fallback, as "fallback 1", to itself.
func (c Config) Roles() map[string]string {
	roles := map[string]string{
		rolePlanner: c.Planner, roleReviewer: cmp.Or(c.Reviewer, c.Planner), roleWorker: cmp.Or(c.Worker, c.Planner),
	}
	for role, own := range map[string]string{memory.RoleCurator: c.Curator, memory.RoleSummarizer: c.Summarizer, memory.RoleParaphraser: c.Paraphraser} {
		if own != "" {
			roles[role] = own
		}
	}
	for i, model := range c.Fallback {
		roles[fmt.Sprintf("fallback %d", i+1)] = model
	}
	return roles
}

// modelOf is the model of any role.
func (c Config) modelOf(role string) string {
	roles := c.Roles()
	if role == memory.RoleParaphraser {
		return cmp.Or(roles[role], c.Summarizer, c.Planner)
	}
	return cmp.Or(roles[role], c.Planner)
}

// candidates are the models that are asked in order: the one of the role, then the fallbacks.
func (c Config) candidates(model string) []string {
	models := []string{model}
	for _, fallback := range c.Fallback {
		if !slices.Contains(models, fallback) {
			models = append(models, fallback)
		}
	}
	return models
}

// Validate returns all that is wrong with c, joined; each error begins with the
// key below [agent] it speaks of and a colon. Whether the models exist is for
// the caller to judge, who knows them.
func (c Config) Validate() error {
	var errs []error
	fault := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf(key+": "+format, args...))
	}
	if c.Planner == "" {
		fault("planner", "names no model; write an alias, \"provider/model\" or \"offline\"")
	}
	if !(c.ContextCeiling > 0 && c.ContextCeiling <= 1) {
		fault("context_ceiling", "%g is not above 0 and at most 1", c.ContextCeiling)
	}
	for _, n := range []struct {
		key        string
		value, min int64
	}{
		{"context_messages", int64(c.ContextMessages), 0},
		{"max_validation_retries", int64(c.MaxValidationRetries), 0},
		{"max_replan_depth", int64(c.MaxReplanDepth), 0},
		{"max_plan_tasks", int64(c.MaxPlanTasks), 1},
		{"max_llm_calls", int64(c.MaxLLMCalls), 1},
		{"output_limit", c.OutputLimit, 1024},
		{"workspace_limit", c.WorkspaceLimit, 1 << 20},
		{"workspace_files", int64(c.WorkspaceFiles), 100},
		{"knowledge_max_facts", int64(c.KnowledgeMaxFacts), 1},
		{"summarize_threshold", int64(c.SummarizeThreshold), 2},
	} {
		if n.value < n.min {
			fault(n.key, "%d is too small; at least %d is needed", n.value, n.min)
		}
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"turn_timeout", c.TurnTimeout},
		{"exec_timeout", c.ExecTimeout},
		{"llm_timeout", c.LLMTimeout},
		{"stall_timeout", c.StallTimeout},
	} {
		if d.value <= 0 {
			fault(d.key, "must be longer than 0, e.g. \"2m\"")
		}
	}
	if c.Sandbox != "auto" && c.Sandbox != "off" {
		fault("sandbox", "%q is not one of auto, off", c.Sandbox)
	}
	return errors.Join(errs...)
}
