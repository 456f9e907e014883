package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// execSchema is that of what a person gives to ExecName.
var execSchema = json.RawMessage(`{
	"type": "object",
	"properties": {"command": {"type": "string", "minLength": 1, "description": "for /bin/sh"}},
	"required": ["command"],
	"additionalProperties": false
}`)

// Typed reads arguments that a person typed for a tool, or for ExecName: what may be null and is left
// out is null, and nothing at all is an empty object. A fault is a sentence for that person; takes
// says what the tool takes, a line each.
func (r *Registry) Typed(name string, args json.RawMessage) (complete json.RawMessage, takes string, fault error) {
	e, ok := r.byName[name]
	if name == ExecName {
		e.root, e.schema, fault = compileSchema(execSchema)
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
