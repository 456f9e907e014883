package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// A prompt is a text of sections "## Title". What stands in a fence (between a
// line "<<<data-…" and a line "data-…>>>") is data and makes no structure. The
// section "New message" goes to the end, whatever the person wrote.
type prompt []section

type section struct {
	title  string
	lines  []string // outside of fences
	fences []string // texts in fences
}

func read(text string) prompt {
	p := prompt{{}}
	boundary, fenced := "", []string(nil)
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		last := &p[len(p)-1]
		switch open, opens := strings.CutPrefix(line, "<<<"); {
		case boundary != "" && line == boundary+">>>":
			last.fences = append(last.fences, strings.Trim(strings.Join(fenced, "\n"), "\n"))
			boundary, fenced = "", nil
		case boundary != "":
			fenced = append(fenced, line)
		case opens && strings.HasPrefix(open, "data-"):
			boundary = open
		case strings.HasPrefix(line, "## New message"):
			return append(p, section{title: "New message", lines: []string{rest}})
		case strings.HasPrefix(line, "## "):
			p = append(p, section{title: strings.TrimSpace(line[3:])})
		default:
			last.lines = append(last.lines, line)
		}
	}
	return p
}

// get is the section of that title, or an empty one.
func (p prompt) get(title string) section {
	if i := slices.IndexFunc(p, func(s section) bool { return s.title == title }); i >= 0 {
		return p[i]
	}
	return section{}
}

func (s section) text() string { return strings.TrimSpace(strings.Join(s.lines, "\n")) }

// said is the section's own text in one line.
func (s section) said() string { return strings.Join(strings.Fields(s.text()), " ") }

// field is the value of the last line "name: value".
func (s section) field(name string) string {
	for _, line := range slices.Backward(s.lines) {
		if value, ok := strings.CutPrefix(strings.TrimLeft(line, "-* "), name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// tools are the permitted tools by name ("### name") with the schema of their
// arguments ("Arguments: {…}"); exec has none.
func (p prompt) tools() map[string]json.RawMessage {
	permitted, name := make(map[string]json.RawMessage), ""
	for _, line := range p.get("Permitted tools").lines {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			name = strings.TrimSpace(title)
			permitted[name] = nil
		} else if schema, ok := strings.CutPrefix(line, "Arguments: {"); ok && name != "" {
			permitted[name] = json.RawMessage("{" + schema)
		}
	}
	return permitted
}

// fill makes the smallest value that fits a strict schema; known holds values for
// properties of the root by name.
func fill(schema json.RawMessage, known map[string]any) any {
	var s struct {
		Type       any                        `json:"type"`
		Enum       []any                      `json:"enum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return known
	}
	types, several := s.Type.([]any)
	switch {
	case slices.Contains(types, any("null")):
		return nil
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return fill(s.AnyOf[len(s.AnyOf)-1], nil)
	case several && len(types) > 0:
		s.Type = types[0]
	}
	if s.Type != "object" {
		kind, _ := s.Type.(string)
		return map[string]any{"array": []any{}, "string": "", "integer": 0, "number": 0, "boolean": false}[kind]
	}
	object := make(map[string]any, len(s.Properties))
	for name, property := range s.Properties {
		value, ok := known[name]
		if !ok {
			value = fill(property, nil)
		}
		object[name] = value
	}
	return object
}
