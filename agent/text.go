package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"switchboard/agent/form"
	"switchboard/agent/tools"
)

// deref is the text, empty for nil.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func oneLine(text string) string { return clip(strings.Join(strings.Fields(text), " "), 300) }

var indent, tidy = form.Indent, form.Tidy

// clip shortens text to about limit bytes: its beginning, a mark, its end.
func clip(text string, limit int) string {
	if limit < 200 {
		if len(text) <= limit {
			return text
		}
		return strings.ToValidUTF8(text[:limit*2/3], "") + " …"
	}
	return tools.Shorten(text, limit*2/3, limit/3)
}

// told names a task in a line for people.
func told(task Task) string {
	if task.Type == TaskTool && task.Detail != "" {
		task.Tool = nil
		task.Detail = strings.TrimSuffix(task.Detail, ".")
	}
	return label(task)
}

// label names a task in a line of a prompt.
func label(task Task) string {
	text := task.Detail
	if task.Type == TaskTool && task.Tool != nil {
		text = *task.Tool + ": " + text
	}
	text = strings.ReplaceAll(clip(strings.Join(strings.Fields(text), " "), 80), "`", "'")
	return "`" + text + "`"
}

func compact(schema json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return string(schema)
	}
	return out.String()
}
