package agent

import (
	"context"
	"encoding/json"

	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/agent/tools"
)

// A Gate is the one policy gate; the router's policy is one.
type Gate interface {
	// Decide looks up the person's rights each time and answers at once.
	Decide(q tools.Question) tools.Decision
	// Confirm is what becomes of a decision that does not refuse as the tool is about to run: it may be refused
	// after all. It may wait for an external service, for two seconds at most.
	Confirm(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision
}

// Models answers questions; *llm.Models is one.
type Models interface {
	// Complete asks the model of that name (an alias, "provider/model" or
	// "offline"). Errors are those of package llm; the response's Exchange is set
	// as far as there was one, even with an error.
	Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error)
}

// Toolbox is the registry of tools; *tools.Registry is one.
type Toolbox interface {
	// All lists the tools in a fixed order. Nobody changes the slice.
	All() []tools.Tool
	// Get returns the tool of that name.
	Get(name string) (tools.Tool, bool)
	// Usage is what the planner reads of the tool of that name: its arguments and what it does, in a line.
	Usage(name string) string
	// Check says what is wrong with args for the tool of that name: size (64 KB),
	// depth (5), schema. The sentence goes back to the planner.
	Check(name string, args json.RawMessage) error
	// Typed reads arguments that a person typed.
	Typed(name string, args json.RawMessage) (complete json.RawMessage, takes string, fault error)
	// Run runs the tool within its timeout; a panic is a result.
	Run(ctx context.Context, name string, call tools.Call) tools.Result
}

// A Guard bounds side effects by the engine's leases; *engines.Engine is one.
type Guard interface {
	// Guard returns a context for one side effect, which ends with the cause
	// tools.ErrUnsafe before the leases could be somebody else's. The caller calls the
	// function when the effect is over.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
	// Safe says whether a side effect may begin now; it answers at once. The context
	// of a Guard from before the leases ran out has ended by the time Safe is true again.
	Safe() bool
}

// Memory knows what is remembered; router/memory has one.
type Memory interface {
	// Recall is what concerns a message of these words, said at a place. What would taint the turn it leaves out: a turn that goes on after
	// a crash may be told something else.
	Recall(ctx context.Context, at memory.Place, said string) (memory.Known, error)
}

// Shell runs exec tasks; *tools.Exec is one.
type Shell interface {
	Run(ctx context.Context, cmd tools.Command) tools.Result
}
