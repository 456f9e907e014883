package slack

import (
	"cmp"
	"encoding/json"
	"strings"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// maxRich is how long the blocks of one part may be, in characters of JSON. No page says
	// it; what was measured is about 13,200, and buttons come besides.
	//
	// Source: https://github.com/slackapi/bolt-js/issues/2509.
	maxRich = 9000
	// maxLink is the longest address that is made a link.
	//
	// Source: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
	maxLink = 2000
)

// linkable says whether text may be a link to address.
func linkable(address string) bool { return render.Linkable(address, maxLink) }

// style is made for a wide window; code has a small font.
var style = render.Rich(78, linkable, "• ", "◦ ", "▪ ")

// A richBlock is the one block of a part.
//
// Source: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
type richBlock struct {
	Type     string        `json:"type"`
	Elements []richElement `json:"elements"`
}

type richElement struct {
	Type     string     `json:"type"`
	Elements []richText `json:"elements"`
}

type richText struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	URL   string     `json:"url,omitempty"`
	Style *richStyle `json:"style,omitempty"`
}

// A richStyle is how a piece of text looks.
type richStyle struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strike,omitempty"`
	Code   bool `json:"code,omitempty"`
}

const (
	section      = "rich_text_section"
	preformatted = "rich_text_preformatted"
	quoted       = "rich_text_quote"
)

// Format implements the router's Formatter. Body.Rich is a list of one
// rich text block: what is shown and what it means travel apart, so that there is nothing
// to escape and no text can mention anybody.
func (c *Client) Format(doc *render.Document, f channels.Features) []channels.Body {
	e := emitter{limit: f.MaxText}
	return doc.Bodies(&style, f.MaxText, &e, e.body)
}

// encodeRich writes the blocks of a part.
func encodeRich(elements []richElement) json.RawMessage {
	data, _ := json.Marshal([]richBlock{{Type: "rich_text", Elements: elements}}) // strings can always be written
	return data
}

// plainRich is text without any look.
func plainRich(text string) json.RawMessage {
	return encodeRich([]richElement{{Type: section, Elements: []richText{{Type: "text", Text: cmp.Or(text, "…")}}}})
}

// Mark implements the router's Marker.
func (c *Client) Mark(body channels.Body, before, after string) channels.Body {
	body.Text = before + body.Text + after
	var list []richBlock
	if len(body.Rich) == 0 || json.Unmarshal(body.Rich, &list) != nil || len(list) != 1 {
		body.Rich = nil
		return body
	}
	elements := list[0].Elements
	if text := strings.TrimSuffix(before, "\n"); text != "" {
		piece := richText{Type: "text", Text: before}
		if len(elements) > 0 && elements[0].Type == section {
			elements[0].Elements = append([]richText{piece}, elements[0].Elements...)
		} else {
			piece.Text = text
			elements = append([]richElement{{Type: section, Elements: []richText{piece}}}, elements...)
		}
	}
	if text := strings.TrimLeft(after, "\n"); text != "" {
		elements = append(elements, richElement{Type: section, Elements: []richText{{Type: "text", Text: text}}})
	}
	body.Rich = encodeRich(elements)
	return body
}
