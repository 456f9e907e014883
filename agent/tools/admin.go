package tools

import (
	"context"
	"encoding/json"
	"fmt"
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
	adminPeopleSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"action": {"type": "string", "enum": ["list", "strangers", "let_in", "add", "role", "link", "tools", "remove"]},
		"name": ` + word("the person's name, one word") + `,
		"identity": {"type": ["string", "null"], "pattern": "^\\S+:\\S+$", "maxLength": 200, "description": "KIND:ID or CHANNEL:ID, with the platform's own ID"},
		"role": {"type": ["string", "null"], "enum": ["admin", "user", null]},
		"tools": {"type": ["array", "null"], "items": ` + strings.Replace(word("a pattern of tools"), `["string", "null"]`, `"string"`, 1) + `, "description": "what they may use"}
	},
	"required": ["action", "name", "identity", "role", "tools"],
	"additionalProperties": false
}`)
	adminConfigSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"action": {"type": "string", "enum": ["versions", "get", "diff", "set", "unset", "undo"]},
		"key": ` + word("a setting such as log.level; for get also a table") + `,
		"value": {"type": ["string", "null"], "minLength": 1, "maxLength": 4000, "description": "what to set it to; never a credential"},
		"version": {"type": ["integer", "null"], "minimum": 1, "description": "undo: which version; null: the last"}
	},
	"required": ["action", "key", "value", "version"],
	"additionalProperties": false
}`)
	adminChannelsSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"action": {"type": "string", "enum": ["list", "enable", "disable", "test"]},
		"name": ` + word("the channel's name; null for list") + `
	},
	"required": ["action", "name"],
	"additionalProperties": false
}`)
	adminDeliveriesSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"action": {"type": "string", "enum": ["list", "retry", "drop"]},
		"number": {"type": ["integer", "null"], "minimum": 1, "description": "of the delivery; null for list"}
	},
	"required": ["action", "number"],
	"additionalProperties": false
}`)
	adminAuditSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"person": ` + word("only what this person did") + `,
		"kind": ` + word("only this kind: turn, person, approval, tool, config …") + `,
		"turn": {"type": ["integer", "null"], "minimum": 1, "description": "only of this turn"},
		"before": {"type": ["integer", "null"], "minimum": 1, "description": "only rows before this number"}
	},
	"required": ["person", "kind", "turn", "before"],
	"additionalProperties": false
}`)
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
	type run = func(context.Context, Call) Result
	tool := func(name, summary string, effect Effect, schema json.RawMessage, by func(Commander) run) Tool {
		return Tool{
			Name: name, Summary: summary, Effect: effect, Schema: schema, Run: by(cfg.Commander),
			Describe: cfg.describe(by),
		}
	}
	return []Tool{
		tool("admin.people", "Who may write: list, let in, change and remove people.", EffectOutside, adminPeopleSchema, func(c Commander) run { return with(c.people) }),
		tool("admin.config", "The program's settings: show, change and take back.", EffectOutside, adminConfigSchema, func(c Commander) run { return with(c.config) }),
		tool("admin.channels", "The channels: how they are, switch on and off, test.", EffectOutside, adminChannelsSchema, func(c Commander) run { return with(c.channels) }),
		tool("admin.deliveries", "What could not be sent: list, send again, give up.", EffectOutside, adminDeliveriesSchema, func(c Commander) run { return with(c.deliveries) }),
		tool("admin.audit", "The newest rows of the audit log: who did and decided what.", EffectRead, adminAuditSchema, func(c Commander) run { return with(c.audit) }),
	}
}

// give gives a command, unless a word of it is missing, or brings others along.
func (c Commander) give(ctx context.Context, call Call, name string, words ...string) Result {
	if fault := oneWordEach(words...); fault != nil {
		return *fault
	}
	return c(ctx, call, name, words...)
}

func oneWordEach(words ...string) *Result {
	var fault Result
	for _, word := range words {
		switch fields := strings.Fields(word); { // what the commands split by
		case len(fields) == 0:
			fault = refused("bad_arguments", "give every argument that the action needs", "this action needs more arguments; the page of the tool says which")
			return &fault
		case fields[0] != word:
			fault = refused("bad_arguments", "give one word", "%q is not one word", word)
			return &fault
		}
	}
	return nil
}

func (c Commander) people(ctx context.Context, call Call, a struct {
	Action, Name, Identity, Role string
	Tools                        []string
},
) Result {
	switch a.Action {
	case "list":
		return c(ctx, call, "people")
	case "strangers":
		return c(ctx, call, "allow")
	case "let_in":
		if a.Name == "" {
			return c.give(ctx, call, "allow", a.Identity)
		}
		return c.give(ctx, call, "allow", a.Identity, a.Name)
	case "add":
		if a.Role == "" {
			a.Role = "user"
		}
		return c.give(ctx, call, "people", a.Action, a.Name, a.Identity, a.Role)
	case "role":
		return c.give(ctx, call, "people", a.Action, a.Name, a.Role)
	case "link":
		return c.give(ctx, call, "people", a.Action, a.Name, a.Identity)
	case "tools":
		if len(a.Tools) == 0 {
			a.Tools = []string{""}
		}
		return c.give(ctx, call, "people", append([]string{a.Action, a.Name}, a.Tools...)...)
	}
	return c.give(ctx, call, "people", a.Action, a.Name)
}

func (c Commander) config(ctx context.Context, call Call, a struct {
	Action, Key, Value string
	Version            int64
},
) Result {
	switch a.Action {
	case "versions":
		return c(ctx, call, "config")
	case "diff":
		return c(ctx, call, "config", a.Action)
	case "set":
		if fault := oneWordEach(a.Action, a.Key); fault != nil {
			return *fault
		}
		if strings.ContainsAny(a.Value, "\r\n") || strings.TrimSpace(a.Value) == "" { // a line is a setting
			return refused("bad_arguments", "set one setting at a time", "the value has to be one line")
		}
		return c(ctx, call, "config", a.Action, a.Key, a.Value)
	case "undo":
		if a.Version == 0 {
			return c(ctx, call, "config", a.Action)
		}
		return c(ctx, call, "config", a.Action, fmt.Sprint(a.Version))
	}
	return c.give(ctx, call, "config", a.Action, a.Key)
}

func (c Commander) channels(ctx context.Context, call Call, a struct{ Action, Name string }) Result {
	if a.Action == "list" {
		return c(ctx, call, "channels")
	}
	return c.give(ctx, call, "channel", a.Name, a.Action)
}

func (c Commander) deliveries(ctx context.Context, call Call, a struct {
	Action string
	Number int64
},
) Result {
	switch {
	case a.Action == "list":
		return c(ctx, call, "deliveries")
	case a.Number == 0:
		return c.give(ctx, call, "deliveries", "")
	}
	return c(ctx, call, "deliveries", a.Action, fmt.Sprint(a.Number))
}

func (c Commander) audit(ctx context.Context, call Call, a struct {
	Person, Kind string
	Turn, Before int64
},
) Result {
	var args []string
	for _, pick := range []struct{ word, value string }{{"person", a.Person}, {"kind", a.Kind}} {
		if pick.value != "" {
			args = append(args, pick.word, pick.value)
		}
	}
	for _, pick := range []struct {
		word   string
		number int64
	}{{"turn", a.Turn}, {"before", a.Before}} {
		if pick.number != 0 {
			args = append(args, pick.word, fmt.Sprint(pick.number))
		}
	}
	return c.give(ctx, call, "audit", args...)
}
