package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Footnotes stay where they are written: "[^a]" is shown as "[a]" where a line
// "[^a]: …" of the text defines it. Anything else that looks so (an expression, say)
// is left alone.

const maxNote = 64

// defined are the names of the footnotes that lines of source define.
func defined(source []byte) map[string]bool {
	if !bytes.Contains(source, []byte("[^")) {
		return nil
	}
	names := map[string]bool{}
	for line := range bytes.Lines(source) {
		line = bytes.TrimLeft(line, " >")
		if name := noteName(line); name != nil && bytes.HasPrefix(line[len(name)+3:], []byte(":")) {
			names[string(name)] = true
		}
	}
	return names
}

// noteName is the a of a line that begins with "[^a]", or nil.
func noteName(line []byte) []byte {
	if !bytes.HasPrefix(line, []byte("[^")) {
		return nil
	}
	line = line[2:min(len(line), maxNote)]
	end := bytes.IndexByte(line, ']')
	if end <= 0 || bytes.ContainsAny(line[:end], " \t[^") {
		return nil
	}
	return line[:end]
}

// notes reads references to footnotes, and the marks of the notes themselves.
type notes struct{}

func (notes) Trigger() []byte { return []byte{'['} }

func (notes) Parse(_ ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	name := noteName(line)
	if !readingOf(pc).notes[string(name)] {
		return nil
	}
	r.Advance(len(name) + 3)
	return ast.NewString([]byte("[" + string(name) + "]"))
}

// noteLine is the first line of p that defines a footnote, or -1. The library would
// take it for the definition of a link, and hide it.
func noteLine(p *ast.Paragraph, source []byte) int {
	for i := range p.Lines().Len() {
		segment := p.Lines().At(i)
		if noteName(bytes.TrimLeft(segment.Value(source), " ")) != nil {
			return i
		}
	}
	return -1
}

// splitNotes moves the lines of p from line i on to a paragraph of their own.
func splitNotes(p *ast.Paragraph, i int) {
	notes := ast.NewParagraph()
	lines := p.Lines()
	notes.Lines().AppendAll(lines.Sliced(i, lines.Len()))
	lines.SetSliced(0, i)
	p.Parent().InsertAfter(p.Parent(), p, notes)
}

// A spoiler is text between ||double pipes||, which several platforms hide until it
// is touched.
type spoiler struct{ ast.BaseInline }

// KindSpoiler is the kind of text between ||double pipes||.
var KindSpoiler = ast.NewNodeKind("Spoiler")

func (*spoiler) Kind() ast.NodeKind { return KindSpoiler }

func (s *spoiler) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

// spoilers reads them as the library reads strikethrough. "a || b" opens nothing:
// a mark touches what it hides.
type spoilers struct{}

func (spoilers) IsDelimiter(b byte) bool                        { return b == '|' }
func (spoilers) CanOpenCloser(opener, c *parser.Delimiter) bool { return opener.Char == c.Char }
func (spoilers) OnMatch(int) ast.Node                           { return &spoiler{} }
func (spoilers) Trigger() []byte                                { return []byte{'|'} }

func (s spoilers) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, segment := r.PeekLine()
	before := r.PrecendingCharacter()
	if before == '|' || !bytes.HasPrefix(line, []byte("||")) || !leafOf(parent, pc).spend(1) {
		return nil
	}
	node := parser.ScanDelimiter(line, before, 2, s)
	if node == nil || node.OriginalLength != 2 {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	r.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}
