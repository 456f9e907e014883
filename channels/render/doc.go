// Package render turns the Markdown an answer is written in into what a platform
// shows. Parse makes one tree (CommonMark with tables, strikethrough, task lists
// and bare links); Plain writes it as readable plain text; Split cuts text into
// parts that a platform accepts, measured in the platform's unit. An adapter with
// markup of its own walks the same tree in its format.go.
//
// It knows no platform. The router calls Parts for every channel that has no
// formatter; the terminal calls Plain.
package render

import (
	"strings"

	"switchboard/channels"
)

// Parts renders markdown as plain text in parts that f accepts, at least one.
// Markdown that shows nothing (a link definition alone) is sent as it is written,
// because a platform refuses an empty message.
func Parts(markdown string, f channels.Features) []channels.Body {
	text := Parse(markdown).Plain()
	if strings.TrimSpace(text) == "" {
		text = strings.TrimSpace(markdown)
	}
	parts := Split(text, f.MaxText, f.Len)
	bodies := make([]channels.Body, len(parts))
	for i, part := range parts {
		bodies[i].Text = part
	}
	return bodies
}
