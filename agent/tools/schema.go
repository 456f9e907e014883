package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// MaxArgs is the most the arguments of a call may take, in bytes of JSON.
	MaxArgs = 64 << 10
	// MaxArgsDepth is how deep they may nest; the arguments' own object is level 1.
	MaxArgsDepth = 5
)

// object is the strict schema of an object: all of these properties are required, and it has no others. A
// property is written as in JSON: "name": {…}.
func object(properties ...string) json.RawMessage {
	names := make([]string, len(properties))
	for i, property := range properties {
		names[i], _, _ = strings.Cut(property, ":")
	}
	return json.RawMessage(`{"type": "object", "properties": {` + strings.Join(properties, ", ") +
		`}, "required": [` + strings.Join(names, ", ") + `], "additionalProperties": false}`)
}

// compileSchema reads the schema of a tool's arguments and makes sure that it
// is strict: an object with every property required and no others, all the way
// down, so that a model's structured output can be held to it.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, *jsonschema.Resolved, error) {
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	if root.Type != "object" {
		return nil, nil, errors.New(`schema: the arguments must be of type "object"`)
	}
	if err := strict("schema", &root); err != nil {
		return nil, nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	return &root, resolved, nil
}

func strict(path string, s *jsonschema.Schema) error {
	var errs []error
	types := typesOf(s)
	if len(types) == 0 && s.Enum == nil && s.AnyOf == nil && s.Const == nil {
		errs = append(errs, fmt.Errorf("%s: no type", path))
	}
	if slices.Contains(types, "object") {
		if !refusesAll(s.AdditionalProperties) {
			errs = append(errs, fmt.Errorf("%s: additionalProperties must be false", path))
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if !slices.Contains(s.Required, name) {
				errs = append(errs, fmt.Errorf("%s: property %q must be required; let it be null instead", path, name))
			}
			errs = append(errs, strict(path+"."+name, s.Properties[name]))
		}
	}
	if slices.Contains(types, "array") {
		if s.Items == nil {
			errs = append(errs, fmt.Errorf("%s: an array needs items", path))
		} else {
			errs = append(errs, strict(path+"[]", s.Items))
		}
	}
	for i, alternative := range s.AnyOf {
		errs = append(errs, strict(fmt.Sprintf("%s.anyOf[%d]", path, i), alternative))
	}
	return errors.Join(errs...)
}

// refusesAll reports whether s is the schema false, which the library keeps as
// {"not": {}}.
func refusesAll(s *jsonschema.Schema) bool {
	return reflect.DeepEqual(s, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// check holds args against the limits and the schema. Common faults get a
// sentence of ours; the library has the last word on the rest.
func (e entry) check(args json.RawMessage) error {
	if len(args) > MaxArgs {
		return fmt.Errorf("args: %d bytes are more than the %d allowed; put large texts into a workspace file in parts", len(args), MaxArgs)
	}
	if err := checkShape(args); err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return fmt.Errorf("args: not valid JSON: %w", err)
	}
	e.fill(value)
	if err := explain("args", e.root, value); err != nil {
		return err
	}
	if err := e.schema.Validate(value); err != nil {
		return fmt.Errorf("args: %w", err)
	}
	return nil
}

// fill gives what may be null, and is left out, the value null.
func (e entry) fill(value any) {
	args, is := value.(map[string]any)
	for name, property := range e.root.Properties {
		if _, there := args[name]; is && !there && nullable(property) {
			args[name] = nil
		}
	}
}

func nullable(s *jsonschema.Schema) bool { return slices.Contains(typesOf(s), "null") }

// checkShape refuses what nests too deep, and a name that stands twice in an object: a
// reader might believe the first, and the last would count.
func checkShape(args json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	var open []map[string]bool // the names in each open object; nil: a list
	name := false              // the next string of an object is a name
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("args: not valid JSON: %w", err)
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			if len(open) > MaxArgsDepth {
				return fmt.Errorf("args: nested more than %d levels deep; flatten them", MaxArgsDepth)
			}
			name = true
			continue
		case string:
			if n := len(open); name && n > 0 && open[n-1] != nil {
				if open[n-1][token] {
					return fmt.Errorf("args: property %q stands there twice", cutHead(token, 60))
				}
				open[n-1][token], name = true, false
				continue
			}
		}
		name = true
	}
}

// explain finds the first plain fault of value and says it with the property's
// path and what is wanted. Nil does not mean valid.
func explain(path string, s *jsonschema.Schema, value any) error {
	types := typesOf(s)
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(t, value) }) {
		return fmt.Errorf("%s: want %s, got %s", path, strings.Join(types, " or "), describe(value))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(want any) bool { return reflect.DeepEqual(want, value) }) {
		return fmt.Errorf("%s: want one of %s, got %s", path, enumText(s.Enum), describe(value))
	}
	switch value := value.(type) {
	case map[string]any:
		return explainObject(path, s, value)
	case []any:
		for i, item := range value {
			if s.Items == nil {
				return nil
			}
			if err := explain(fmt.Sprintf("%s[%d]", path, i), s.Items, item); err != nil {
				return err
			}
		}
	case float64:
		if s.Minimum != nil && value < *s.Minimum || s.Maximum != nil && value > *s.Maximum {
			return fmt.Errorf("%s: %v is outside %s", path, value, rangeText(s.Minimum, s.Maximum))
		}
	}
	return nil
}

func explainObject(path string, s *jsonschema.Schema, value map[string]any) error {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if s.Properties[name] == nil && refusesAll(s.AdditionalProperties) {
			return fmt.Errorf("%s: unknown property %q; it has %s", path, name, cmp.Or(strings.Join(known, ", "), "no properties"))
		}
	}
	for _, name := range known {
		item, present := value[name]
		if !present {
			if !slices.Contains(s.Required, name) {
				continue
			}
			return fmt.Errorf("%s: property %q is missing; want %s", path, name, wanted(s.Properties[name]))
		}
		if err := explain(path+"."+name, s.Properties[name], item); err != nil {
			return err
		}
	}
	return nil
}

func wanted(s *jsonschema.Schema) string {
	switch types := typesOf(s); {
	case s.Enum != nil:
		return "one of " + enumText(s.Enum)
	case len(types) > 0:
		return strings.Join(types, " or ")
	default:
		return "a value"
	}
}

func enumText(values []any) string {
	text, _ := json.Marshal(values) // which came from JSON
	return string(text)
}

func rangeText(low, high *float64) string {
	switch {
	case low == nil:
		return fmt.Sprintf("at most %v", *high)
	case high == nil:
		return fmt.Sprintf("at least %v", *low)
	default:
		return fmt.Sprintf("%v to %v", *low, *high)
	}
}

func isType(name string, value any) bool {
	number, is := value.(float64)
	return name == kind(value) || name == "integer" && is && number == math.Trunc(number)
}

// kind is the type of a value that was decoded from JSON, in the words of schemas.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func describe(value any) string {
	switch kind(value) {
	case "null":
		return "null"
	case "string":
		return fmt.Sprintf("the string %q", cutHead(value.(string), 60))
	case "array", "object":
		return "an " + kind(value)
	}
	return fmt.Sprint(value)
}
