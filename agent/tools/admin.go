package tools

import (
	"cmp"
	"context"
	"encoding/json"
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

// word is a property that is one word of a command, so that none can bring more words along.
func word(of string) string {
	return `{"type": ["string", "null"], "pattern": "^\\S+$", "maxLength": 200, "description": "` + of + `"}`
}

var (
	adminPeopleSchema = object(
		`"action": {"type": "string", "enum": ["list", "strangers", "let_in", "add", "role", "link", "tools", "remove"]}`,
		`"name": `+word("the person's name, one word"),
		`"identity": {"type": ["string", "null"], "pattern": "^\\S+:\\S+$", "maxLength": 200, "description": "KIND:ID or CHANNEL:ID, with the platform's own ID"}`,
		`"role": {"type": ["string", "null"], "enum": ["admin", "user", null]}`,
		`"tools": {"type": ["array", "null"], "items": `+strings.Replace(word("a pattern of tools"), `["string", "null"]`, `"string"`, 1)+`, "description": "what they may use"}`,
	)
	adminConfigSchema = object(
		`"action": {"type": "string", "enum": ["versions", "get", "diff", "set", "unset", "undo"]}`,
		`"key": `+word("a setting such as log.level; for get also a table"),
		`"value": {"type": ["string", "null"], "minLength": 1, "maxLength": 4000, "description": "what to set it to; never a credential"}`,
		`"version": {"type": ["integer", "null"], "minimum": 1, "description": "undo: which version; null: the last"}`,
	)
	adminChannelsSchema = object(
		`"action": {"type": "string", "enum": ["list", "enable", "disable", "test"]}`,
		`"name": `+word("the channel's name; null for list"),
	)
	adminDeliveriesSchema = object(
		`"action": {"type": "string", "enum": ["list", "retry", "drop"]}`,
		`"number": {"type": ["integer", "null"], "minimum": 1, "description": "of the delivery; null for list"}`,
	)
	adminAuditSchema = object(
		`"person": `+word("only what this person did"),
		`"kind": `+word("only this kind: turn, person, approval, tool, config …"),
		`"turn": {"type": ["integer", "null"], "minimum": 1, "description": "only of this turn"}`,
		`"before": {"type": ["integer", "null"], "minimum": 1, "description": "only rows before this number"}`,
	)
)

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

func (cfg *BuiltinConfig) adminTools() []Tool {
	tool := func(name, summary string, effect Effect, schema json.RawMessage) Tool {
		by := func(c Commander) func(context.Context, Call) Result {
			return with(func(ctx context.Context, call Call, args adminArgs) Result {
				return c.give(ctx, call, args.command(name))
			})
		}
		return Tool{Name: name, Summary: summary, Effect: effect, Schema: schema, Run: by(cfg.Commander), Describe: cfg.describe(by)}
	}
	return []Tool{
		tool("admin.people", "Who may write: list, let in, change and remove people.", EffectOutside, adminPeopleSchema),
		tool("admin.config", "The program's settings: show, change and take back.", EffectOutside, adminConfigSchema),
		tool("admin.channels", "The channels: how they are, switch on and off, test.", EffectOutside, adminChannelsSchema),
		tool("admin.deliveries", "What could not be sent: list, send again, give up.", EffectOutside, adminDeliveriesSchema),
		tool("admin.audit", "The newest rows of the audit log: who did and decided what.", EffectRead, adminAuditSchema),
	}
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
