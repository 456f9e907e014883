package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schemaError is a fault of the schema, in the provider's words.
type schemaError struct{ param, text string }

func (e *schemaError) Error() string { return e.text }

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// keywords are those that strict mode takes from every server we know. Some
// servers take more (pattern, format, minimum); a schema with them would fail
// elsewhere.
var keywords = []string{
	"type", "properties", "required", "additionalProperties", "items", "enum", "const",
	"anyOf", "$ref", "$defs", "title", "description",
}

const (
	maxDepth      = 5
	maxProperties = 100
)

// CheckSchema says what is wrong with a schema under the rules of strict
// structured output: an object at the root, every property required,
// additionalProperties false everywhere, no unsupported keyword, at most 100
// properties and 5 levels of nesting.
//
// Source: OpenAI, Structured outputs, "Supported schemas" (the older and
// narrower limits, which other servers still have).
func CheckSchema(name string, strict bool, schema json.RawMessage) error {
	if !schemaName.MatchString(name) {
		return &schemaError{"response_format.json_schema.name", fmt.Sprintf("Invalid 'response_format.json_schema.name': %q does not match ^[a-zA-Z0-9_-]{1,64}$.", name)}
	}
	if !strict {
		return &schemaError{"response_format.json_schema.strict", "Invalid 'response_format.json_schema.strict': must be true."}
	}
	c := &checker{name: name}
	dec := json.NewDecoder(bytes.NewReader(schema))
	var root any
	if err := dec.Decode(&root); err != nil {
		return c.bad(nil, "schema is not JSON: %v", err)
	}
	object, ok := root.(map[string]any)
	if !ok || object["type"] != "object" {
		return c.bad(nil, "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'", object["type"])
	}
	if _, union := object["anyOf"]; union {
		return c.bad(nil, "'anyOf' is not permitted at the root")
	}
	c.defs, _ = object["$defs"].(map[string]any)
	for _, def := range slices.Sorted(maps.Keys(c.defs)) {
		if err := c.walk(c.defs[def], []string{"$defs", def}, 1); err != nil {
			return err
		}
	}
	return c.walk(root, nil, 0)
}

type checker struct {
	name       string
	defs       map[string]any
	properties int
}

func (c *checker) bad(path []string, format string, args ...any) error {
	quoted := make([]string, len(path))
	for i, p := range path {
		quoted[i] = "'" + p + "'"
	}
	return &schemaError{"response_format", fmt.Sprintf("Invalid schema for response_format '%s': In context=(%s), %s.",
		c.name, strings.Join(quoted, ", "), fmt.Sprintf(format, args...))}
}

func (c *checker) walk(node any, path []string, depth int) error {
	schema, ok := node.(map[string]any)
	if !ok {
		return c.bad(path, "a schema must be an object")
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if !slices.Contains(keywords, key) {
			return c.bad(path, "'%s' is not permitted", key)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		if name, local := strings.CutPrefix(ref, "#/$defs/"); ref != "#" && (!local || c.defs[name] == nil) {
			return c.bad(path, "reference %q cannot be resolved", ref)
		}
		return nil
	}
	if union, ok := schema["anyOf"].([]any); ok {
		for i, branch := range union {
			if err := c.walk(branch, append(slices.Clone(path), "anyOf", fmt.Sprint(i)), depth); err != nil {
				return err
			}
		}
		return nil
	}
	types, err := c.types(schema, path)
	if err != nil {
		return err
	}
	if slices.Contains(types, "array") {
		items, ok := schema["items"]
		if !ok {
			return c.bad(path, "array schema missing items")
		}
		if err := c.walk(items, append(slices.Clone(path), "items"), depth+1); err != nil {
			return err
		}
	}
	if slices.Contains(types, "object") {
		return c.object(schema, path, depth+1)
	}
	return nil
}

func (c *checker) types(schema map[string]any, path []string) (types []string, err error) {
	switch t := schema["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, one := range t {
			s, _ := one.(string)
			types = append(types, s)
		}
	case nil:
		if schema["enum"] != nil || schema["const"] != nil {
			return nil, nil
		}
		return nil, c.bad(path, "schema must have a 'type' key")
	}
	for _, t := range types {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, t) {
			return nil, c.bad(path, "%q is not valid under any of the given schemas", t)
		}
	}
	return types, nil
}

func (c *checker) object(schema map[string]any, path []string, depth int) error {
	if depth > maxDepth {
		return c.bad(path, "schema exceeds %d levels of nesting", maxDepth)
	}
	if schema["additionalProperties"] != false {
		return c.bad(path, "'additionalProperties' is required to be supplied and to be false")
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if c.properties++; c.properties > maxProperties {
			return c.bad(path, "schema has more than %d properties", maxProperties)
		}
		if !slices.Contains(required, any(name)) {
			return c.bad(path, "'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", name)
		}
		if err := c.walk(properties[name], append(slices.Clone(path), "properties", name), depth); err != nil {
			return err
		}
	}
	for _, name := range required {
		if s, ok := name.(string); !ok || properties[s] == nil {
			return c.bad(path, "'required' names '%v', which is no property", name)
		}
	}
	return nil
}
