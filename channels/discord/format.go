package discord

import (
	"encoding/json"
	"regexp"
	"strings"

	"switchboard/channels"
	"switchboard/channels/render"
)

// maxURL is the longest address that is made a link; a longer one is written out.
const maxURL = 1000

// linkable says whether text may be a link to address.
func linkable(address string) bool { return render.Linkable(address, maxURL) }

// style is made for the platform's apps, which show lists and code as such.
var style = render.Rich(56, linkable, "- ")

// rich is what Body.Rich holds: the text in the platform's markup. Body.Text is what people read.
type rich struct {
	Content string `json:"content"`
}

// Format renders doc in parts of at most f.MaxText units of markup, at least one. Nobody is
// mentioned by them.
//
// Source: https://docs.discord.com/developers/reference#message-formatting,
// https://support.discord.com/hc/en-us/articles/210298617.
func (c *Client) Format(doc *render.Document, f channels.Features) []channels.Body {
	var e emitter
	return doc.Bodies(&style, f.MaxText, &e, func() (channels.Body, bool) {
		plain, content := e.end()
		return channels.Body{Text: plain, Rich: encode(content)}, render.Visible(plain)
	})
}

func encode(content string) json.RawMessage {
	data, _ := json.Marshal(rich{content}) // a string can always be written
	return data
}

// Mark puts plain text before and after that of a part.
func (c *Client) Mark(body channels.Body, before, after string) channels.Body {
	var r rich
	if body.Rich != nil && json.Unmarshal(body.Rich, &r) == nil {
		start := ""
		if before != "" && needsLine.MatchString(r.Content) {
			start = "\n" // a heading, a list, a quote or code begins a line
		}
		body.Rich = encode(escape(before) + start + r.Content + escape(after))
	} else {
		body.Rich = nil
	}
	body.Text = before + body.Text + after
	return body
}

var needsLine = regexp.MustCompile("^(#|-|>|[0-9]+\\.|```)")

// bareLink is an address in a plain text, which the apps show as a link as it stands.
var bareLink = regexp.MustCompile(`https?://[^\s<>|*\x60\\]+`)

// escape writes a plain text so that nothing in it is markup and nobody is mentioned by it.
func escape(text string) string {
	var w writer
	at := 0
	for _, link := range bareLink.FindAllStringIndex(text, -1) {
		w.write(text[at:link[0]])
		w.raw(parted.Replace(text[link[0]:link[1]]))
		at = link[1]
	}
	w.write(text[at:])
	return string(w.out)
}

// apart stands between an @ and a name: people do not see it, and the platform finds no mention
// there.
const apart = "\u2060"

// parted keeps addresses from calling everybody; what goes behind a link is written in another
// way that means the same.
var (
	parted  = strings.NewReplacer("@everyone", "@"+apart+"everyone", "@here", "@"+apart+"here")
	encoded = strings.NewReplacer("`", "%60", "@everyone", "%40everyone", "@here", "%40here")
)

// A writer writes text so that nothing in it is markup.
type writer struct {
	out    []byte
	size   int  // of out, in UTF-16 code units
	column int  // of the line, in bytes; what stands in front of it is not counted
	digits bool // the line has nothing but digits so far
}

func (w *writer) raw(s string) {
	w.put(s)
	w.column += len(s)
	w.digits = false
}

// put adds characters, perhaps a part of one.
func (w *writer) put(s string) {
	for i := range len(s) {
		if s[i]&0xC0 != 0x80 { // a character begins
			w.size++
		}
		if s[i] >= 0xF0 { // it has two units
			w.size++
		}
	}
	w.out = append(w.out, s...)
}

// cut takes away all but the first n bytes.
func (w *writer) cut(n int) {
	w.size -= render.Units(string(w.out[n:]))
	w.out = w.out[:n]
}

// line begins a line.
func (w *writer) line(front string) {
	w.put(front)
	w.column, w.digits = 0, false
}

func (w *writer) write(s string) {
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '\n':
			w.line("\n")
			continue
		case strings.IndexByte("\\*_~`|[<", b) >= 0,
			w.column == 0 && strings.IndexByte("#->+", b) >= 0,
			w.digits && (b == '.' || b == ')'):
			w.put("\\" + s[i:i+1])
		case b == '@' && (i+1 == len(s) || calls(s[i+1:])): // the name may come with the next write
			w.put("@" + apart)
		default:
			w.put(s[i : i+1])
			if w.column == 0 && b == ' ' {
				continue // markup may stand behind spaces
			}
		}
		b := s[i]
		w.digits = b >= '0' && b <= '9' && (w.column == 0 || w.digits)
		w.column++
	}
}

// calls says whether what stands behind an @ makes it a mention.
func calls(rest string) bool {
	return strings.HasPrefix(rest, "everyone") || strings.HasPrefix(rest, "here") || strings.IndexByte("&!0123456789", rest[0]) >= 0 ||
		len(rest) < len("everyone") && (strings.HasPrefix("everyone", rest) || strings.HasPrefix("here", rest))
}
