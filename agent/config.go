package agent

import "time"

// Config is the table [agent].
type Config struct {
	Planner              string        `toml:"planner"`     // a model alias, "provider/model", or "offline"; default "offline"
	Reviewer             string        `toml:"reviewer"`    // empty: the planner's model; likewise the next three
	Worker               string        `toml:"worker"`      //
	Summarizer           string        `toml:"summarizer"`  //
	Curator              string        `toml:"curator"`     //
	Paraphraser          string        `toml:"paraphraser"` // empty: the summarizer's
	Fallback             []string      `toml:"fallback"`    // tried in order when a model fails or stalls
	ContextMessages      int           `toml:"context_messages"`
	ContextCeiling       float64       `toml:"context_ceiling"` // fraction of context_tokens
	MaxValidationRetries int           `toml:"max_validation_retries"`
	MaxReplanDepth       int           `toml:"max_replan_depth"`
	MaxPlanTasks         int           `toml:"max_plan_tasks"`
	MaxLLMCalls          int           `toml:"max_llm_calls"` // for one turn
	TurnTimeout          time.Duration `toml:"turn_timeout"`
	ExecTimeout          time.Duration `toml:"exec_timeout"`
	LLMTimeout           time.Duration `toml:"llm_timeout"`
	StallTimeout         time.Duration `toml:"stall_timeout"`
	OutputLimit          int64         `toml:"output_limit" unit:"size"` // bytes of one task
	Sandbox              string        `toml:"sandbox"`                  // auto | off
	AdminUnconfined      bool          `toml:"admin_unconfined"`
	SelfEvolution        bool          `toml:"self_evolution"`
	Lenient              bool          `toml:"lenient"`
	KnowledgeMaxFacts    int           `toml:"knowledge_max_facts"`
	SummarizeThreshold   int           `toml:"summarize_threshold"`
}

// DefaultConfig is [agent] with nothing set.
func DefaultConfig() Config {
	return Config{
		Planner: "offline", ContextMessages: 5, ContextCeiling: 0.9,
		MaxValidationRetries: 3, MaxReplanDepth: 3, MaxPlanTasks: 20, MaxLLMCalls: 40,
		TurnTimeout: 15 * time.Minute, ExecTimeout: 2 * time.Minute,
		LLMTimeout: 2 * time.Minute, StallTimeout: time.Minute,
		OutputLimit: 1 << 20, Sandbox: "auto",
		KnowledgeMaxFacts: 50, SummarizeThreshold: 30,
	}
}
