package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown as the library reads it takes time that grows with the square of some
// texts, and a table takes memory so: every "[" of "[a](" repeated looks for its
// end through the rest of the text. The parsers are therefore wrapped, each with an
// allowance no text for people comes near. What is beyond it is not markup but text
// as it stands, as if it were unclosed.
const (
	// leafMarks is how many marks (of emphasis, links, tags) are tried in one
	// paragraph, heading or cell, however long. One mark costs as much as its leaf is
	// long, so that short leaves have leafWork divided by their length.
	leafMarks = 512
	leafWork  = 1 << 20
	// maxOpen is how many blocks may stand in each other: 16 lists, 32 quotes. Every
	// line is offered to each of them.
	maxOpen = 32
	// maxDefinitions is how many link definitions one paragraph may have. Each moves
	// the lines behind it.
	maxDefinitions = 512
	// maxPipes is how many escaped pipes all tables of a text may have. Those in code
	// are looked for one against the other.
	maxPipes = 1024
	// maxBlank is how many blank lines a text may have before those in a row are
	// taken as two.
	maxBlank = 4096
)

// Both are configured once, and safe for use by several goroutines. The one that looks
// for bare addresses stops at every word, which takes a third of its time. It is left to
// texts that have some.
var (
	gfm          = newParser()
	gfmAddressed = newParser(util.Prioritized(bareLinks{extension.NewLinkifyParser()}, 999))
)

func newParser(more ...util.PrioritizedValue) parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(container{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(container{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(codeSpans{parser.NewCodeSpanParser()}, 100),
			util.Prioritized(notes{}, 199),
			util.Prioritized(links{parser.NewLinkParser()}, 200),
			util.Prioritized(marks{parser.NewAutoLinkParser(), 1}, 300),
			util.Prioritized(marks{parser.NewRawHTMLParser(), tagCost}, 400),
			util.Prioritized(marks{parser.NewEmphasisParser(), 1}, 500),
			util.Prioritized(marks{extension.NewStrikethroughParser(), 1}, 500),
			util.Prioritized(spoilers{}, 500),
		),
		parser.WithInlineParsers(more...),
		parser.WithParagraphTransformers(
			util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
		),
	)
}

// container opens no block inside too many others.
type container struct{ parser.BlockParser }

func (c container) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	// A list's next item is no new depth, and the list parser keeps a note about it.
	if _, item := parent.(*ast.List); !item && len(pc.OpenedBlocks()) >= maxOpen {
		return nil, parser.NoChildren
	}
	return c.BlockParser.Open(parent, r, pc)
}

// definitions leaves a paragraph alone that defines too many links. Footnotes are no
// definitions of links.
type definitions struct{ parser.ParagraphTransformer }

func (d definitions) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	n := 0
	for i := range p.Lines().Len() {
		segment := p.Lines().At(i)
		n += bytes.Count(segment.Value(r.Source()), []byte("]:"))
	}
	if n == 0 || n > maxDefinitions {
		return
	}
	switch note := noteLine(p, r.Source()); {
	case note == 0:
		return
	case note > 0:
		first := p.Lines().At(0)
		if !bytes.HasPrefix(bytes.TrimLeft(first.Value(r.Source()), " "), []byte{'['}) {
			return
		}
		splitNotes(p, note)
	}
	d.ParagraphTransformer.Transform(p, r, pc)
}

// tables leaves a table alone that would have more cells than its text has bytes:
// every row is filled up to the header's width.
type tables struct{ parser.ParagraphTransformer }

func (t tables) Transform(p *ast.Paragraph, r text.Reader, pc parser.Context) {
	size, cells, pipes := 0, 0, 0
	lines := p.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(r.Source())
		size += len(line)
		pipes += bytes.Count(line, []byte(`\|`))
		if i > 0 && len(bytes.Trim(line, "-:| \t\r\n\v\f")) == 0 {
			columns := bytes.Count(bytes.Trim(line, "| \t\r\n\v\f"), []byte("|")) + 1
			cells = max(cells, columns*(lines.Len()-i+1))
		}
	}
	if cells == 0 || cells > size {
		return
	}
	before := &readingOf(pc).pipes
	if pipes > 0 && *before+pipes > maxPipes {
		return
	}
	*before += pipes
	t.ParagraphTransformer.Transform(p, r, pc)
}

// squeeze takes blank lines in a row as two when source has very many: each is
// noted once for every list it stands in.
func squeeze(source []byte) []byte {
	if bytes.Count(source, []byte("\n")) <= maxBlank {
		return source
	}
	blank, row := 0, 0
	out := make([]byte, 0, len(source))
	for line := range bytes.Lines(source) {
		if !util.IsBlank(line) {
			row = 0
		} else if blank, row = blank+1, row+1; row > 2 {
			continue
		}
		out = append(out, line...)
	}
	if blank <= maxBlank {
		return source
	}
	return out
}
