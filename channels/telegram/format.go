package telegram

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"switchboard/channels"
	"switchboard/channels/render"
)

// formatMaxEntities is how many entities one message may have. The documentation
// names no number; the servers keep the first hundred and drop the others silently.
const formatMaxEntities = 100

// formatMaxURL is the longest address that is made a link. A longer one is written
// out, where it counts against the length of the text.
const formatMaxURL = 2048

// formatStyle is made for a telephone: a table of more than 40 columns would wrap.
var formatStyle = render.Rich(40, formatLinkable, "• ", "◦ ", "▪ ")

// A formatEntity marks a stretch of a text; Offset and Length count UTF-16 code
// units.
//
// Source: https://core.telegram.org/bots/api#messageentity
type formatEntity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`      // text_link
	Language string `json:"language,omitempty"` // pre
}

// Format renders doc in parts of at most f.MaxText units and formatMaxEntities
// entities, at least one. Body.Rich is a list of MessageEntity, or nil where the
// part has none: what is shown and what it means travel apart, so that there is
// nothing to escape and nothing a server could fail to parse. No entity mentions
// anybody.
//
// Source: https://core.telegram.org/bots/api#sendmessage "text", "entities".
func (c *Client) Format(doc *render.Document, f channels.Features) []channels.Body {
	room := len(doc.Source()) + 64
	if f.MaxText > 0 {
		room = min(room, 4*f.MaxText)
	}
	e := formatEmitter{limit: f.MaxText, out: make([]byte, 0, room), open: make([]formatOpen, 0, 8)}
	return doc.Bodies(&formatStyle, f.MaxText, &e, func() (channels.Body, bool) {
		text, entities := e.end()
		return channels.Body{Text: text, Rich: formatRich(entities)}, render.Visible(text)
	})
}

// Mark puts plain text before and after that of a part.
func (c *Client) Mark(body channels.Body, before, after string) channels.Body {
	body.Text = before + body.Text + after
	var entities []formatEntity
	if body.Rich == nil || json.Unmarshal(body.Rich, &entities) != nil {
		body.Rich = nil
		return body
	}
	for i := range entities {
		entities[i].Offset += render.Units(before)
	}
	body.Rich = formatJSON(entities)
	return body
}

// formatRich writes the entities of a body.
func formatRich(entities []formatEntity) json.RawMessage {
	if len(entities) == 0 {
		return nil
	}
	slices.SortStableFunc(entities, func(a, b formatEntity) int { // in the order the platform tells them in, outer ones first
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length), cmp.Compare(formatRank(a), formatRank(b)))
	})
	return formatJSON(entities)
}

func formatJSON(entities []formatEntity) json.RawMessage {
	data, _ := json.Marshal(entities) // strings and numbers can always be written
	return data
}

// formatLinkable says whether text may be a link to address. The platform refuses
// the whole message when it dislikes one: a host without a dot, an odd character in
// it, another protocol. tg: would be accepted, and can mention a person.
//
// Source: https://core.telegram.org/bots/api#formatting-options.
func formatLinkable(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > formatMaxURL || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return false
		}
	}
	odd := func(r rune) bool {
		return r < 0x80 && r != '.' && r != '-' && !('0' <= r && r <= '9') && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z')
	}
	host := u.Hostname()
	return strings.Contains(strings.Trim(host, "."), ".") && !strings.Contains(host, "..") &&
		!strings.HasPrefix(host, ".") && !strings.ContainsFunc(host, odd) &&
		!strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
