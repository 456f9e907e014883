package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A prompt is a text of sections "## Title", here by title. What stands in a fence
// (between a line "<<<data-…" and a line "data-…>>>") is data and makes no structure.
// The section "New message" goes to the end, whatever the person wrote.
type prompt map[string]section

type section struct {
	lines  []string // outside of fences
	fences []string // texts in fences
	last   string   // the last line or fence
}

func read(text string) prompt {
	p, title := make(prompt), ""
	boundary, fenced := "", []string(nil)
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		s := p[title]
		switch open, opens := strings.CutPrefix(line, "<<<"); {
		case boundary != "" && line == boundary+">>>":
			s.last = strings.Trim(strings.Join(fenced, "\n"), "\n")
			s.fences = append(s.fences, s.last)
			boundary, fenced = "", nil
		case boundary != "":
			fenced = append(fenced, line)
		case opens && strings.HasPrefix(open, "data-"):
			boundary = open
		case strings.HasPrefix(line, "## New message"):
			p["New message"] = section{lines: []string{rest}}
			return p
		case strings.HasPrefix(line, "## "):
			title = strings.TrimSpace(line[3:])
			s = p[title]
		default:
			s.lines = append(s.lines, line)
			if !strings.HasPrefix(line, "  ") { // an item goes on in indented lines
				s.last = cmp.Or(line, s.last)
			}
		}
		p[title] = s
	}
	return p
}

func (s section) text() string { return strings.TrimSpace(strings.Join(s.lines, "\n")) }

// said is the first text in a fence, without the status that a command ended with.
func (s section) said() string {
	return strings.TrimSpace(exitStatus.ReplaceAllString(append(s.fences, "")[0], ""))
}

// field is the value of the last line "name: value".
func (s section) field(name string) string {
	for _, line := range slices.Backward(s.lines) {
		if value, ok := strings.CutPrefix(strings.TrimLeft(line, "-* "), name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// toolLine is how a permitted tool begins: "- name(arguments): …"; of commands "- exec: …".
var toolLine = regexp.MustCompile(`^- ([\w.]+)[(:]`)

// tools are the permitted tools by name.
func (p prompt) tools() map[string]bool {
	permitted := map[string]bool{}
	for _, line := range p["Permitted tools"].lines {
		if m := toolLine.FindStringSubmatch(line); m != nil {
			permitted[m[1]] = true
		}
	}
	return permitted
}

// A file is an attachment: id 2: "in.csv" (document, text/csv, 25 bytes).
type file struct{ id, name, about string }

var (
	fileLine = regexp.MustCompile(`(?m)^id (\S+): (".*") \((.*)\)$`)
	noText   = regexp.MustCompile(`^(?:photo|audio|video|voice)\b|\b(?:image|audio|video|font)/|/pdf|zip|compressed|office|opendocument|ms-|msword`)
)

// files are those that a section lists.
func (s section) files() (list []file) {
	for _, fence := range s.fences {
		for _, m := range fileLine.FindAllStringSubmatch(fence, -1) {
			name, err := strconv.Unquote(m[2])
			if err == nil && (strings.HasPrefix(fence, "id ") || strings.HasPrefix(fence, "Attachments of that message:\n")) {
				list = append(list, file{m[1], name, m[3]})
			}
		}
	}
	return list
}

// fill makes the smallest value that fits a strict schema.
func fill(schema json.RawMessage) any {
	var s struct {
		Type       any
		Enum       []any
		AnyOf      []json.RawMessage
		Properties map[string]json.RawMessage
	}
	_ = json.Unmarshal(schema, &s) // what cannot be read has no type
	kinds := strings.Fields(strings.Trim(fmt.Sprint(s.Type), "[]"))
	switch {
	case slices.Contains(kinds, "null"):
		return nil
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return fill(s.AnyOf[len(s.AnyOf)-1])
	case !slices.Contains(kinds, "object"):
		return map[string]any{"array": []any{}, "string": "", "integer": 0, "number": 0, "boolean": false}[append(kinds, "")[0]]
	}
	object := make(map[string]any, len(s.Properties))
	for name, property := range s.Properties {
		object[name] = fill(property)
	}
	return object
}
