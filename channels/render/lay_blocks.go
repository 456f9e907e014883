package render

import (
	"bytes"
	"strconv"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	// underlineWidth bounds the line under a heading.
	underlineWidth = 40
	// maxLanguage is the longest name of a code's language. It is said again in every
	// part the code is cut into.
	maxLanguage = 32
)

func (l *layout) one(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		l.heading(n)
	case *ast.Blockquote:
		l.nested(Span{Kind: Quote}, n)
	case *ast.List:
		l.list(n)
	case *ast.FencedCodeBlock:
		l.code(n, n.Language(l.source))
	case *ast.CodeBlock:
		l.code(n, nil)
	case *ast.HTMLBlock:
		l.html(n)
	case *ast.ThematicBreak:
		l.write([]byte(l.style.Rule))
	case *extast.Table:
		l.table(n)
	default: // paragraphs and the text of tight list items
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			l.blocks(n)
			return
		}
		l.inLeaf(func() { l.inline(n) })
	}
}

// inLeaf writes the text of one block; line breaks around it are dropped.
func (l *layout) inLeaf(fill func()) {
	l.leaf = len(l.buf)
	fill()
	if len(l.buf) > l.leaf {
		l.lines, l.space = 0, l.space[:0]
	}
}

// nested writes the children of n as a quote or item. An empty item is shown.
func (l *layout) nested(s Span, n ast.Node) {
	s.Level = l.on[Quote] + l.on[Item]
	if s.Level >= maxNesting {
		l.blocks(n)
		return
	}
	l.enter(s)
	l.blocks(n)
	l.leave(s.Kind == Item)
}

func (l *layout) list(n *ast.List) {
	number := n.Start
	bullet := l.style.Bullets[min(l.on[Item], len(l.style.Bullets)-1)]
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		s := Span{Kind: Item, Value: bullet, Indent: 2}
		if n.IsOrdered() {
			s.Value = strconv.Itoa(number) + string(n.Marker) + " "
			s.Indent = len(s.Value)
			number++
		} else if done, ok := task(item); ok && done {
			s.Value = l.style.Done
		} else if ok {
			s.Value = l.style.Open
		}
		if item.PreviousSibling() != nil {
			l.apart(spacing(n))
		}
		l.nested(s, item)
	}
}

// task says whether item is a task, and whether that is done.
func task(item ast.Node) (done, ok bool) {
	if item.FirstChild() == nil {
		return false, false
	}
	box, ok := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	return ok && box.IsChecked, ok
}

func (l *layout) heading(n *ast.Heading) {
	l.oneLine = true
	start := len(l.spans)
	l.enter(Span{Kind: Heading, Level: n.Level})
	l.inLeaf(func() { l.inline(n) })
	shown := l.waiting == 0
	l.leave(false)
	l.oneLine = false
	rule := map[int]string{1: "=", 2: "-"}[n.Level]
	if !shown || !l.style.plain || rule == "" {
		return
	}
	at := l.spans[start].Start
	title := Text{Text: string(l.buf[at:])}
	for _, s := range l.spans[start:] {
		if s, ok := s.clip(at, len(l.buf)); ok {
			title.Spans = append(title.Spans, s)
		}
	}
	l.apart(1)
	l.write(bytes.Repeat([]byte(rule), min(Width(l.cellText(title)), underlineWidth)))
}

// code writes a block of code without the blank lines around it. What cannot be the
// name of a language is part of the code.
func (l *layout) code(n ast.Node, language []byte) {
	var body bytes.Buffer
	if len(language) > maxLanguage {
		body.Write(language)
		body.WriteByte('\n')
		language = nil
	}
	l.raw(&body, n)
	l.enter(Span{Kind: Pre, Value: string(language)})
	if s := trimBlankLines(l.printable(body.Bytes())); len(s) > 0 {
		l.begin()
		l.buf = append(l.buf, s...)
	}
	l.leave(true)
}

// raw adds the lines of n as they stand.
func (l *layout) raw(out *bytes.Buffer, n ast.Node) {
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		line := segment.Value(l.source)
		body := bytes.TrimRight(line, "\r\n")
		out.Write(body)
		if len(body) < len(line) {
			out.WriteByte('\n')
		}
	}
}

// trimBlankLines is s without blank lines around it and without white space at its
// end.
func trimBlankLines(s []byte) []byte {
	s = bytes.TrimRight(s, " \t\r\n")
	for {
		line, rest, more := bytes.Cut(s, []byte{'\n'})
		if !more || len(bytes.Trim(line, " \t\r")) > 0 {
			return s
		}
		s = rest
	}
}

func (l *layout) html(n *ast.HTMLBlock) {
	var body bytes.Buffer
	l.raw(&body, n)
	if n.HasClosure() {
		body.Write(n.ClosureLine.Value(l.source))
	}
	l.inLeaf(func() { l.write(body.Bytes()) })
}
