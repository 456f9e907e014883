package render

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inline writes the text inside a block.
func (l *layout) inline(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			l.plain(n)
		case *ast.String:
			l.write(n.Value)
		case *ast.Emphasis:
			kind := Italic
			if n.Level > 1 {
				kind = Bold
			}
			l.in(Span{Kind: kind}, func() { l.inline(n) })
		case *extast.Strikethrough:
			l.in(Span{Kind: Strike}, func() { l.inline(n) })
		case *spoiler:
			l.in(Span{Kind: Spoiler}, func() { l.inline(n) })
		case *ast.CodeSpan:
			l.codeSpan(n)
		case *ast.Link:
			l.link(n, n.Destination, n.Reference != nil, false)
		case *ast.Image:
			l.link(n, n.Destination, n.Reference != nil, true)
		case *ast.AutoLink:
			l.autoLink(n)
		case *ast.RawHTML:
			l.rawHTML(n)
		case *extast.TaskCheckBox: // it is the item's mark
		default:
			l.inline(n)
		}
	}
}

func (l *layout) plain(n *ast.Text) {
	value := n.Segment.Value(l.source)
	if !n.IsRaw() && (bytes.IndexByte(value, '\\') >= 0 || bytes.IndexByte(value, '&') >= 0) {
		l.scratch = unescape(l.scratch[:0], value)
		value = l.scratch
	}
	l.write(value)
	// A line break in the source stays one: in a chat it was meant.
	if n.SoftLineBreak() || n.HardLineBreak() {
		l.newline()
	}
}

func (l *layout) codeSpan(n *ast.CodeSpan) {
	l.in(Span{Kind: Code}, func() {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				l.write(bytes.ReplaceAll(t.Segment.Value(l.source), []byte{'\n'}, []byte{' '}))
			}
		}
	})
}

// linkTo is a link to an address, or nowhere where the platform can have none to it.
func (l *layout) linkTo(address string) Span {
	s := Span{Kind: Link}
	if l.style.Link != nil && l.style.Link(address) {
		s.Value = address
	}
	return s
}

// link writes a link, or its text with the address behind it in parentheses where
// there can be no link, or the address alone when the text says no more. An
// attachment's is a place on no platform and never shown.
//
// Of an image, unless it stands in a link, it writes the text and behind it a link that shows
// the address: nothing is fetched to show it, and who opens it sees what goes out in it.
func (l *layout) link(n ast.Node, destination []byte, reference, image bool) {
	if id, ok := attachment(destination); ok {
		l.attached(n, id)
		return
	}
	if len(destination) == 0 || reference && !l.show(destination) {
		l.inline(n)
		return
	}
	address := harmless(unescape(nil, destination))
	s := l.linkTo(address)
	if image && l.on[Link] == 0 {
		text := l.label(n)
		if text {
			l.write([]byte(" ("))
		}
		l.in(s, func() { l.write([]byte(address)) })
		if text {
			l.write([]byte(")"))
		}
		return
	}
	l.in(s, func() {
		switch before := len(l.buf); {
		case !l.label(n):
			l.write([]byte(address))
		case s.Value != "" || says(l.buf[before:], address):
		default:
			l.write([]byte(" (" + address + ")"))
		}
	})
}

// label writes the text of a link, and says whether there is any.
func (l *layout) label(n ast.Node) bool {
	before := len(l.buf)
	l.inline(n)
	return len(l.buf) > before
}

// says whether a label is the address itself.
func says(label []byte, address string) bool {
	text := strings.TrimLeft(string(label), blank)
	return text == address || text == strings.TrimPrefix(address, "mailto:")
}

// show says whether the address of a definition is written here. One that stands
// above already is left out when there is no room for it: a long one can be
// referred to in three letters.
func (l *layout) show(destination []byte) bool {
	if l.shown[&destination[0]] {
		return l.again(len(destination))
	}
	if l.shown == nil {
		l.shown = map[*byte]bool{}
	}
	l.shown[&destination[0]] = true
	return true
}

// harmless is an address with its control characters, and those that turn the direction
// of the text beside them, percent-encoded.
func harmless(address []byte) string {
	turns := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
	if !bytes.ContainsFunc(address, turns) {
		return string(address)
	}
	var out strings.Builder
	for _, r := range string(address) {
		if turns(r) {
			out.WriteString(url.PathEscape(string(r)))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func (l *layout) autoLink(n *ast.AutoLink) {
	if id, ok := attachment(n.URL(l.source)); ok {
		l.attached(n, id)
		return
	}
	l.in(l.linkTo(harmless(n.URL(l.source))), func() { l.write(n.Label(l.source)) })
}

// tagFiller takes out what "<br>" may be written with.
var tagFiller = strings.NewReplacer(" ", "", "/", "")

func (l *layout) rawHTML(n *ast.RawHTML) {
	var tag bytes.Buffer
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		tag.Write(segment.Value(l.source))
	}
	if strings.EqualFold(tagFiller.Replace(tag.String()), "<br>") {
		l.newline()
	} else {
		l.write(tag.Bytes())
	}
}
