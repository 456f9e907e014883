package render

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	// maxNesting is how deep quotes and lists are shown as such. Text nested deeper
	// is written at that depth: without the bound, 30,000 quote marks followed by
	// as many lines would grow to a gigabyte.
	maxNesting = 10
	// tableWidth is the widest table drawn in columns, in terminal cells.
	tableWidth = 78
	// underlineWidth bounds the line under a heading.
	underlineWidth = 40
)

// Plain writes the document as plain text for people to read: lists with their
// marks, quotes behind "> ", code between fences, a link as its text with the
// address in parentheses, a table in columns, or in lines "column: value" where it
// is too wide. It has no line break at its end.
func (d *Document) Plain() string {
	p := &plain{source: d.source}
	p.out.Grow(len(d.source) + len(d.source)/8)
	p.blocks(d.root)
	return strings.TrimRight(p.out.String(), "\n")
}

// plain writes lines, each behind the marks of the blocks it stands in.
type plain struct {
	source []byte
	out    strings.Builder
	indent string // what every line begins with here
	lead   string // what the next line begins with: indent, or a list mark not written yet
	depth  int

	shown    map[*byte]bool // addresses of definitions, by where they stand in the source
	repeated int            // bytes written that had been written before
}

// again says whether there is room to write size bytes that are written elsewhere
// too, and takes it. Without the bound a short text could grow with its square.
func (p *plain) again(size int) bool {
	if p.repeated+size > 4096+8*len(p.source) {
		return false
	}
	p.repeated += size
	return true
}

// line writes one line; s holds no line break.
func (p *plain) line(s string) {
	if s == "" {
		p.out.WriteString(strings.TrimRight(p.lead, " "))
	} else {
		p.out.WriteString(p.lead)
		p.out.WriteString(s)
	}
	p.out.WriteByte('\n')
	p.lead = p.indent
}

// lines writes s line by line.
func (p *plain) lines(s string) {
	for l := range strings.SplitSeq(s, "\n") {
		p.line(strings.TrimRight(l, " \t\r"))
	}
}

// within writes the children of n behind first (once) and rest (on later lines).
func (p *plain) within(n ast.Node, first, rest string) {
	if p.depth >= maxNesting {
		p.blocks(n)
		return
	}
	outer := p.indent
	p.depth++
	p.lead += first
	p.indent += rest
	p.blocks(n)
	if p.lead != p.indent { // an empty item still shows its mark
		p.line("")
	}
	p.depth--
	p.indent, p.lead = outer, outer
}

// blocks writes the children of n with blank lines between them, where they stand
// apart.
func (p *plain) blocks(n ast.Node) {
	apart := true
	switch n := n.(type) {
	case *ast.List:
		apart = !n.IsTight
	case *ast.ListItem:
		if list, ok := n.Parent().(*ast.List); ok {
			apart = !list.IsTight
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Kind() == ast.KindLinkReferenceDefinition {
			continue
		}
		if apart && c.PreviousSibling() != nil && p.out.Len() > 0 && p.lead == p.indent {
			p.line("")
		}
		p.block(c)
	}
}

func (p *plain) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		p.heading(n)
	case *ast.Blockquote:
		p.within(n, "> ", "> ")
	case *ast.List:
		p.list(n)
	case *ast.FencedCodeBlock:
		p.code(n, string(n.Language(p.source)))
	case *ast.CodeBlock:
		p.code(n, "")
	case *ast.HTMLBlock:
		p.html(n)
	case *ast.ThematicBreak:
		p.line("---")
	case *extast.Table:
		p.table(n)
	default: // paragraphs and the text of tight list items
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			p.blocks(n)
			return
		}
		p.lines(p.inline(n))
	}
}

func (p *plain) heading(n *ast.Heading) {
	s := strings.ReplaceAll(p.inline(n), "\n", " ")
	p.line(s)
	if rule := map[int]string{1: "=", 2: "-"}[n.Level]; rule != "" && s != "" {
		p.line(strings.Repeat(rule, min(width(s), underlineWidth)))
	}
}

func (p *plain) list(n *ast.List) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "- "
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		if !n.IsTight && item.PreviousSibling() != nil && p.lead == p.indent {
			p.line("")
		}
		p.within(item, mark, strings.Repeat(" ", len(mark)))
	}
}

// code writes a block of code between fences longer than any in it.
func (p *plain) code(n ast.Node, language string) {
	var body strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		body.Write(segment.Value(p.source))
	}
	s := strings.TrimSuffix(body.String(), "\n")
	fence := "```"
	for strings.Contains(s, fence) && len(fence) < 64 {
		fence += "`"
	}
	p.line(fence + language)
	for l := range strings.SplitSeq(s, "\n") {
		p.line(strings.TrimSuffix(l, "\r"))
	}
	p.line(fence)
}

func (p *plain) html(n *ast.HTMLBlock) {
	var body strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		body.Write(segment.Value(p.source))
	}
	if n.HasClosure() {
		body.Write(n.ClosureLine.Value(p.source))
	}
	p.lines(strings.TrimRight(body.String(), "\r\n"))
}
