package render

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inline writes the text inside a block. Emphasis loses its marks; code and
// struck-out text keep theirs, because without them they would mean something
// else.
func (p *plain) inline(n ast.Node) string {
	var out bytes.Buffer
	p.inlineTo(&out, n)
	return string(bytes.TrimRight(out.Bytes(), "\n"))
}

func (p *plain) inlineTo(out *bytes.Buffer, parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			p.text(out, n)
		case *ast.String:
			out.Write(n.Value)
		case *ast.CodeSpan:
			p.codeSpan(out, n)
		case *ast.Link:
			p.link(out, n, n.Destination, n.Reference != nil)
		case *ast.Image:
			p.link(out, n, n.Destination, n.Reference != nil)
		case *ast.AutoLink:
			out.Write(n.Label(p.source))
		case *ast.RawHTML:
			p.rawHTML(out, n)
		case *extast.Strikethrough:
			out.WriteString("~~")
			p.inlineTo(out, n)
			out.WriteString("~~")
		case *extast.TaskCheckBox:
			if n.IsChecked {
				out.WriteString("[x] ")
			} else {
				out.WriteString("[ ] ")
			}
		default:
			p.inlineTo(out, n)
		}
	}
}

func (p *plain) text(out *bytes.Buffer, n *ast.Text) {
	value := n.Segment.Value(p.source)
	if n.IsRaw() {
		out.Write(value)
	} else {
		out.WriteString(unescape(value))
	}
	// A line break in the source stays one: in a chat it was meant.
	if n.SoftLineBreak() || n.HardLineBreak() {
		out.WriteByte('\n')
	}
}

func (p *plain) codeSpan(out *bytes.Buffer, n *ast.CodeSpan) {
	var code strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code.Write(t.Segment.Value(p.source))
		}
	}
	fence := "`"
	for strings.Contains(code.String(), fence) && len(fence) < 8 {
		fence += "`"
	}
	out.WriteString(fence)
	out.WriteString(strings.ReplaceAll(code.String(), "\n", " "))
	out.WriteString(fence)
}

// link writes "text (address)", and the address alone when the text says no more.
func (p *plain) link(out *bytes.Buffer, n ast.Node, destination []byte, reference bool) {
	start := out.Len()
	p.inlineTo(out, n)
	label := out.Bytes()[start:]
	if reference && !p.show(destination) && len(bytes.TrimSpace(label)) > 0 {
		return
	}
	address := unescape(destination)
	switch {
	case address == "" || string(label) == address ||
		strings.HasPrefix(address, "mailto:") && string(label) == address[len("mailto:"):]:
	case len(bytes.TrimSpace(label)) == 0:
		out.Truncate(start)
		out.WriteString(address)
	default:
		out.WriteString(" (")
		out.WriteString(address)
		out.WriteByte(')')
	}
}

// show says whether the address of a definition is written here. One that stands
// above already is left out when there is no room for it: a long one can be
// referred to in three letters.
func (p *plain) show(destination []byte) bool {
	if len(destination) == 0 {
		return true
	}
	if p.shown[&destination[0]] {
		return p.again(len(destination))
	}
	if p.shown == nil {
		p.shown = map[*byte]bool{}
	}
	p.shown[&destination[0]] = true
	return true
}

// tagFiller takes out what "<br>" may be written with.
var tagFiller = strings.NewReplacer(" ", "", "/", "")

func (p *plain) rawHTML(out *bytes.Buffer, n *ast.RawHTML) {
	var tag strings.Builder
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		tag.Write(segment.Value(p.source))
	}
	switch strings.ToLower(tagFiller.Replace(tag.String())) {
	case "<br>":
		out.WriteByte('\n')
	default:
		out.WriteString(tag.String())
	}
}
