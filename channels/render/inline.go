package render

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// inline writes the text inside a block. Emphasis loses its marks; code and
// struck-out text keep theirs, because without them they would mean something
// else.
func (p *plain) inline(n ast.Node) string {
	var out strings.Builder
	p.inlineTo(&out, n)
	return strings.TrimRight(out.String(), "\n")
}

func (p *plain) inlineTo(out *strings.Builder, parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			p.text(out, n)
		case *ast.String:
			out.Write(n.Value)
		case *ast.CodeSpan:
			p.codeSpan(out, n)
		case *ast.Link:
			p.link(out, n, string(n.Destination))
		case *ast.Image:
			p.link(out, n, string(n.Destination))
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

func (p *plain) text(out *strings.Builder, n *ast.Text) {
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

func (p *plain) codeSpan(out *strings.Builder, n *ast.CodeSpan) {
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
func (p *plain) link(out *strings.Builder, n ast.Node, destination string) {
	var label strings.Builder
	p.inlineTo(&label, n)
	address := unescape([]byte(destination))
	switch text := label.String(); {
	case address == "" || text == address || "mailto:"+text == address:
		out.WriteString(text)
	case strings.TrimSpace(text) == "":
		out.WriteString(address)
	default:
		out.WriteString(text)
		out.WriteString(" (")
		out.WriteString(address)
		out.WriteByte(')')
	}
}

func (p *plain) rawHTML(out *strings.Builder, n *ast.RawHTML) {
	var tag strings.Builder
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		tag.Write(segment.Value(p.source))
	}
	switch strings.ToLower(strings.NewReplacer(" ", "", "/", "").Replace(tag.String())) {
	case "<br>":
		out.WriteByte('\n')
	default:
		out.WriteString(tag.String())
	}
}
