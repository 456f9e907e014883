package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"switchboard/internal/secrets"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// MaxPageLines is the longest page of a tool.
	MaxPageLines = 40
	// DefaultToolTimeout is for tools that name none.
	DefaultToolTimeout = time.Minute
	// DefaultOutputLimit is what a tool or a command may bring, in bytes, when
	// the settings say nothing.
	DefaultOutputLimit = 1 << 20
)

// taintTool marks the output of a tool that taints and names no source itself.
const taintTool Taint = "tool"

// A Registry holds the tools. Its methods are safe for use by several turns at
// once; its fields are set before the first use.
type Registry struct {
	// Log gets crashes of tools with their stacks. Nil: they are not logged.
	Log *slog.Logger
	// OutputLimit is the most a result's Output may hold, in bytes. 0:
	// DefaultOutputLimit.
	OutputLimit int64
	// Mask takes known secrets out of what tools bring.
	Mask *secrets.Masker
	// Secret is a secret of the encrypted store that a tool declares, if it may have it; the error is
	// for people. Nil: there are none.
	Secret func(ctx context.Context, tool, name string) (secrets.Secret, error)

	tools  []Tool
	byName map[string]entry
}

type entry struct {
	tool   Tool
	schema *jsonschema.Resolved
	root   *jsonschema.Schema
}

// NewRegistry checks the tools (unique names, a summary, a page of at most
// MaxPageLines, a strict object schema, a known effect) and returns all faults
// joined. The order of the tools is kept.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{byName: make(map[string]entry, len(tools))}
	var errs []error
	for _, tool := range tools {
		if _, taken := r.byName[tool.Name]; taken {
			errs = append(errs, fmt.Errorf("tool %q: the name is taken; names are unique", tool.Name))
			continue
		}
		e, err := newEntry(tool)
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", tool.Name, err))
		}
		r.byName[tool.Name] = e
		r.tools = append(r.tools, tool)
	}
	return r, errors.Join(errs...)
}

func newEntry(tool Tool) (entry, error) {
	var errs []error
	if tool.Name == "" || tool.Name == ExecName {
		errs = append(errs, fmt.Errorf("a tool needs a name of its own (%q means commands)", ExecName))
	}
	if tool.Summary == "" || strings.Contains(tool.Summary, "\n") {
		errs = append(errs, errors.New("the summary must be one line"))
	}
	if n := strings.Count(strings.TrimRight(tool.Page, "\n"), "\n") + 1; tool.Page == "" || n > MaxPageLines {
		errs = append(errs, fmt.Errorf("the page must have 1 to %d lines, not %d", MaxPageLines, n))
	}
	if !slices.Contains([]Effect{EffectRead, EffectWrite, EffectOutside}, tool.Effect) {
		errs = append(errs, fmt.Errorf("effect %q is not one of read, write, outside", tool.Effect))
	}
	if tool.Run == nil {
		errs = append(errs, errors.New("it has nothing to run"))
	}
	root, resolved, err := compileSchema(tool.Schema)
	if err != nil {
		errs = append(errs, err)
	}
	if root != nil && tool.Sends != "" && root.Properties[tool.Sends] == nil {
		errs = append(errs, fmt.Errorf("it sends %q, which is no argument of it", tool.Sends))
	}
	return entry{tool: tool, schema: resolved, root: root}, errors.Join(errs...)
}

// Usage is the tool of that name, which must be there, in one line: its arguments, those with "?" may be
// left out, and what it does.
func (r *Registry) Usage(name string) string {
	e := r.byName[name]
	args := make([]string, len(e.root.Required))
	for i, name := range e.root.Required {
		property := e.root.Properties[name]
		if args[i] = name; nullable(property) {
			args[i] += "?"
		}
		if what := short(property); what != "" {
			args[i] += ": " + what
		}
	}
	usage := e.tool.Name + "(" + strings.Join(args, ", ") + "): " + e.tool.Summary
	if e.tool.Note != "" {
		usage = strings.TrimSuffix(usage, ".") + "; " + e.tool.Note
	}
	return usage
}

// short is what an argument may be, where that is no text.
func short(s *jsonschema.Schema) string {
	if s.Enum != nil {
		var words []string
		for _, value := range s.Enum {
			if word, is := value.(string); is {
				words = append(words, word)
			}
		}
		return strings.Join(words, "|")
	}
	types := slices.DeleteFunc(slices.Clone(typesOf(s)), func(t string) bool { return t == "null" || t == "string" })
	return strings.Join(types, "|")
}

// All lists the tools in the order they were given. The slice is the registry's own, and is not to be changed.
func (r *Registry) All() []Tool { return r.tools[:len(r.tools):len(r.tools)] }

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	e, ok := r.byName[name]
	return e.tool, ok
}

// Check says what is wrong with args for the tool of that name, in a sentence
// for the planner: it names the property and says what is wanted.
func (r *Registry) Check(name string, args json.RawMessage) error {
	e, ok := r.byName[name]
	if !ok {
		return fmt.Errorf("there is no tool %q; the tools are: %s", name, strings.Join(r.names(), ", "))
	}
	return e.check(args)
}

// Harmless names the tools that change nothing.
func (r *Registry) Harmless() (names []string) {
	for _, tool := range r.tools {
		if tool.Effect == EffectRead {
			names = append(names, tool.Name)
		}
	}
	return names
}

func (r *Registry) names() []string {
	names := make([]string, len(r.tools))
	for i, tool := range r.tools {
		names[i] = tool.Name
	}
	return names
}

// Run checks the arguments and runs the tool within its timeout. It returns
// when the tool does, which is when ctx ends at the latest; with the cause ErrUnsafe
// the result has the code CodeInterrupted. A panic is a result with the code "crash".
func (r *Registry) Run(ctx context.Context, name string, call Call) Result {
	if err := r.Check(name, call.Args); err != nil {
		return Result{End: EndRefused, Code: "bad_arguments", Output: err.Error(), Hint: "correct the arguments"}
	}
	tool := r.byName[name].tool
	timeout := cmp.Or(tool.Timeout, DefaultToolTimeout)
	var fault *Result
	if call.Secrets, fault = r.secretsOf(ctx, tool); fault != nil {
		return *fault
	}
	limited, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	res := r.guarded(limited, tool, call)
	if res.End != EndOK && res.End != EndRefused && limited.Err() != nil {
		res = endedEarly(ctx, res, timeout)
	}
	res.Output = limitText(r.Mask.Text(res.Output), cmp.Or(r.OutputLimit, DefaultOutputLimit)) // masked before it is cut
	res.Hint = cleanText(r.Mask.Text(res.Hint))
	// Nothing foreign was fetched by a tool that refused.
	if tool.Taints && res.End != EndRefused {
		res.Taint = res.Taint.Join(taintTool)
	}
	return res
}

// secretsOf are the secrets that a tool declares, or why it cannot run.
func (r *Registry) secretsOf(ctx context.Context, tool Tool) (map[string]secrets.Secret, *Result) {
	given := make(map[string]secrets.Secret, len(tool.Secrets))
	for _, name := range tool.Secrets {
		value, err := secrets.Secret(""), secrets.ErrUnknown
		if r.Secret != nil {
			value, err = r.Secret(ctx, tool.Name, name)
		}
		if err != nil {
			res := refused("no_secret", "tell the person that an admin has to give it", "%s needs the secret %s: %s", tool.Name, name, r.Mask.Text(err.Error()))
			return nil, &res
		}
		r.Mask.Add(value)
		given[name] = value
	}
	return given, nil
}

// endedEarly gives a run that its context stopped the right end word.
func endedEarly(caller context.Context, res Result, timeout time.Duration) Result {
	switch {
	case errors.Is(context.Cause(caller), ErrUnsafe):
		res.End, res.Code, res.Hint = EndError, CodeInterrupted, hintUnsafe
	case caller.Err() != nil:
		res.End, res.Code, res.Hint = EndCancelled, "cancelled", ""
	default:
		res.End, res.Code, res.Hint = EndTimeout, "timeout", fmt.Sprintf("it was stopped after %s; ask for less at a time", timeout)
	}
	return res
}

func (r *Registry) guarded(ctx context.Context, tool Tool, call Call) (res Result) {
	defer func() {
		if fault := recover(); fault != nil {
			if r.Log != nil {
				r.Log.ErrorContext(ctx, "tool crashed", slog.String("tool", tool.Name),
					slog.Any("error", fault), slog.String("stack", string(debug.Stack())))
			}
			res = failed("crash", "try another way; the same call will crash again", "the tool %s crashed; the log has the details", tool.Name)
		}
	}()
	return tool.Run(ctx, call)
}

// ExecSchema is that of what a person gives to ExecName.
var ExecSchema = object(
	`"command": {"type": "string", "minLength": 1, "description": "for /bin/sh"}`,
)

// Typed reads arguments that a person typed for a tool, or for ExecName: what may be null and is left
// out is null, and nothing at all is an empty object. A fault is a sentence for that person; takes
// says what the tool takes, a line each.
func (r *Registry) Typed(name string, args json.RawMessage) (complete json.RawMessage, takes string, fault error) {
	e, ok := r.byName[name]
	if name == ExecName {
		e.root, e.schema, fault = compileSchema(ExecSchema)
		ok = fault == nil
	}
	if !ok {
		return nil, "", fmt.Errorf("there is no tool %q", name)
	}
	takes = e.takes()
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var values map[string]json.RawMessage
	if err := checkShape(args); err != nil {
		return nil, takes, err
	}
	if json.Unmarshal(args, &values) == nil && values != nil {
		for name, property := range e.root.Properties {
			if _, there := values[name]; !there && nullable(property) {
				values[name] = json.RawMessage("null")
			}
		}
		if filled, err := json.Marshal(values); err == nil {
			args = filled
		}
	}
	return args, takes, e.check(args)
}

// takes lists the arguments for a person.
func (e entry) takes() string {
	var b strings.Builder
	for _, name := range e.root.Required {
		property := e.root.Properties[name]
		what := strings.TrimSuffix(wanted(property), " or null")
		if nullable(property) {
			what += ", may be left out"
		}
		fmt.Fprintf(&b, "%s: %s", name, what)
		if property.Description != "" {
			b.WriteString(" – " + property.Description)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
