package tools

import (
	"context"
	"maps"
	"path"
	"slices"
	"sync"

	"switchboard/internal/words"
)

// groups are names for several tools, as patterns. A group may be empty in this build.
var groups = map[string][]string{
	"files":    {"workspace.*", "attachment.*"},
	"web":      {"http.*"},
	"schedule": {"schedule.*"},
	"memory":   {"memory.*"},
	"exec":     {ExecName},
	"admin":    {"admin.*"},
}

// Named says whether one of the patterns names the tool: a group that has it, or a pattern
// in which "*" stands for any text. A pattern that is none names nothing.
func Named(patterns []string, tool string) bool {
	for _, pattern := range patterns {
		if matches(pattern, tool) || slices.ContainsFunc(groups[pattern], func(p string) bool { return matches(p, tool) }) {
			return true
		}
	}
	return false
}

func matches(pattern, tool string) bool {
	if pattern == "*" || pattern == tool { // nearly always one of these, and each prompt asks for each tool
		return true
	}
	ok, err := path.Match(pattern, tool)
	return err == nil && ok
}

// Names lists the tools of this build, sorted.
func Names() []string { return slices.Clone(names()) }

var names = sync.OnceValue(func() []string {
	names := []string{ExecName}
	for _, tool := range Builtin(BuiltinConfig{Files: noFiles{}, Messenger: nobody, Commander: noCommand, Schedule: noJobs{}, Memory: noMemory{}}) {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
})

// KnownPattern says whether a pattern names a tool of this build. near
// is the name that was probably meant; empty: none is near.
func KnownPattern(pattern string) (near string, ok bool) {
	names := Names()
	if slices.ContainsFunc(names, func(name string) bool { return Named([]string{pattern}, name) }) {
		return "", true
	}
	names = slices.AppendSeq(names, maps.Keys(groups))
	for group := range groups {
		names = append(names, groups[group]...)
	}
	slices.Sort(names)
	return words.Nearest(pattern, names), false
}

// noFiles, noJobs, noMemory and nobody have Builtin list the tools that need more too.
type noFiles struct{ Files }

type noJobs struct{ Schedule }

type noMemory struct{ Memory }

func noCommand(context.Context, Call, string, ...string) Result { return Result{} }

func nobody(context.Context, Call, string, string) Result { return Result{} }
