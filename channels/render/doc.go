// Package render turns the Markdown an answer is written in into what a platform
// shows. Parse makes one tree (CommonMark with tables, strikethrough, task lists,
// bare links and ||spoilers||). Document.Lay puts it into lines, as a Text: characters,
// and spans that say what they mean. Text.Split cuts that into pieces that a platform
// accepts, measured in the platform's unit; Text.Emit tells an adapter's emitter, in
// its format.go, what to write. Plain is the emitter for text without markup.
//
// It knows no platform. The router calls Document.Parts for every channel that has no
// formatter; the terminal calls Plain.
package render

import (
	"strings"

	"switchboard/channels"
)

// Parts renders a document as plain text in parts that f accepts, at least one.
// Markdown that shows nothing (a link definition alone) is sent as it is written,
// because a platform refuses an empty message.
func (d *Document) Parts(f channels.Features) []channels.Body {
	t := d.Lay(&plainStyle)
	if strings.TrimSpace(t.Text) == "" && len(t.Spans) == 0 {
		t = d.mask.apply(Text{Text: strings.TrimSpace(string(d.source))})
	}
	var p plainer
	var bodies []channels.Body
	for _, piece := range t.Split(f.MaxText, func(t Text) int { return f.Len(p.text(t)) }) {
		bodies = append(bodies, channels.Body{Text: p.text(piece)})
	}
	return bodies
}
