package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// ByWord says whether a person may allow a tool to themselves by a plain yes: not a command, and nothing that
// only admins do.
func ByWord(tool string) bool { return tool != ExecName && !Named(AdminTools, tool) }

// AdminTools names the tools that only admins have, in direct chats.
var AdminTools = []string{"admin.*", "host.*"}

// A Commander gives one of the admins' commands for the person of the call, as they would type it:
// what is changed and audited, and what is refused, is the command's affair. The router's is one.
type Commander func(ctx context.Context, call Call, name string, args ...string) Result

// describe is Tool.Describe of a tool that gives a command: that command, as it would be typed.
func (cfg *BuiltinConfig) describe(by func(Commander) func(context.Context, Call) Result) func(context.Context, Call) Deed {
	return func(ctx context.Context, call Call) (deed Deed) {
		var written Commander = func(_ context.Context, _ Call, name string, args ...string) Result {
			deed.Words = strings.Join(append([]string{"/" + name}, args...), " ")
			deed.Looks = len(args) == 0 || name == "audit" || name == "config" && (args[0] == "get" || args[0] == "diff")
			if name == "people" && len(args) > 1 && args[0] != "add" && cfg.Known != nil && !cfg.Known(ctx, args[1]) {
				return refused("not_found", "", "There is no person %s.", args[1])
			}
			return Result{End: EndOK}
		}
		if res := by(written)(ctx, call); res.End != EndOK {
			deed.Refused = &res
		}
		return deed
	}
}

func (cfg *BuiltinConfig) adminTools() (list []Tool) {
	for _, name := range []string{"admin.people", "admin.config", "admin.channels", "admin.deliveries", "admin.audit"} {
		by := func(c Commander) func(context.Context, Call) Result {
			return with(func(ctx context.Context, call Call, args adminArgs) Result {
				return c.give(ctx, call, args.command(name))
			})
		}
		tool := declared(name, by(cfg.Commander))
		tool.Describe = cfg.describe(by)
		list = append(list, tool)
	}
	return list
}

// give gives a command, unless a word of it is missing, or brings others along.
func (c Commander) give(ctx context.Context, call Call, words []string) Result {
	each, value := words, ""
	if len(words) == 4 && words[0] == "config" && words[1] == "set" { // its value is a line
		each, value = words[:3], words[3]
	}
	for _, word := range each {
		switch fields := strings.Fields(word); { // what the commands split by
		case len(fields) == 0:
			return refused("bad_arguments", "give every argument that the action needs", "this action needs more arguments; the page of the tool says which")
		case fields[0] != word:
			return refused("bad_arguments", "give one word", "%q is not one word", word)
		}
	}
	if len(each) < len(words) && (strings.ContainsAny(value, "\r\n") || strings.TrimSpace(value) == "") { // a line is a setting
		return refused("bad_arguments", "set one setting at a time", "the value has to be one line")
	}
	return c(ctx, call, words[0], words[1:]...)
}

// adminArgs are the arguments of all tools of admins.
type adminArgs struct {
	Action, Name, Identity, Role, Key, Value, Person, Kind string
	Tools                                                  []string
	Number, Version, Turn, Before                          int64
}

// command is what the arguments of a tool come to, a word each: its name and what stands behind it.
func (a *adminArgs) command(tool string) []string {
	switch tool + " " + a.Action {
	case "admin.people list":
		return []string{"people"}
	case "admin.people strangers":
		return []string{"allow"}
	case "admin.people let_in":
		return append([]string{"allow", a.Identity}, given(a.Name)...)
	case "admin.people add":
		return []string{"people", a.Action, a.Name, a.Identity, cmp.Or(a.Role, "user")}
	case "admin.people role":
		return []string{"people", a.Action, a.Name, a.Role}
	case "admin.people link":
		return []string{"people", a.Action, a.Name, a.Identity}
	case "admin.people tools":
		if len(a.Tools) == 0 {
			a.Tools = []string{""}
		}
		return append([]string{"people", a.Action, a.Name}, a.Tools...)
	case "admin.people remove":
		return []string{"people", a.Action, a.Name}
	case "admin.config versions":
		return []string{"config"}
	case "admin.config diff":
		return []string{"config", a.Action}
	case "admin.config set":
		return []string{"config", a.Action, a.Key, a.Value}
	case "admin.config undo":
		return append([]string{"config", a.Action}, given(number(a.Version))...)
	case "admin.channels list", "admin.deliveries list":
		return []string{strings.TrimPrefix(tool, "admin.")}
	}
	switch tool {
	case "admin.config":
		return []string{"config", a.Action, a.Key}
	case "admin.channels":
		return []string{"channel", a.Name, a.Action}
	case "admin.deliveries":
		return []string{"deliveries", a.Action, number(a.Number)}
	}
	return slices.Concat([]string{"audit"}, given("person", a.Person), given("kind", a.Kind), given("turn", number(a.Turn)), given("before", number(a.Before)))
}

// number is n as a word; none for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// given are words of which the last may be left out, and the others with it.
func given(words ...string) []string {
	if words[len(words)-1] == "" {
		return nil
	}
	return words
}
