package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// tagCost is what trying a tag costs, in marks: it is a slow expression.
	tagCost = 4
	// addressCost is what trying a bare address inside a word costs.
	addressCost = 32
)

// A reading is what is known of a text while it is parsed.
type reading struct {
	found
	links int             // to the Web, written in the text
	notes map[string]bool // the names of footnotes that lines of it define
	pipes int             // escaped ones in the tables before
	leaf  leaf
}

var readingKey = parser.NewContextKey()

func readingOf(pc parser.Context) *reading { return pc.Get(readingKey).(*reading) }

// A leaf is what is left of the allowance of the block whose text is being read.
type leaf struct {
	node  ast.Node
	marks int
	ticks map[int]int // where the last run of so many backticks begins; nil: not needed yet
}

func leafOf(n ast.Node, pc parser.Context) *leaf {
	l := &readingOf(pc).leaf
	if l.node != n {
		size := 1
		if lines := n.Lines(); lines.Len() > 0 {
			size += lines.At(lines.Len()-1).Stop - lines.At(0).Start
		}
		*l = leaf{node: n, marks: max(leafMarks, leafWork/size)}
	}
	return l
}

// spend says whether the leaf still has cost marks, and takes them.
func (l *leaf) spend(cost int) bool {
	l.marks -= cost
	return l.marks >= 0
}

// marks tries its parser while there is allowance.
type marks struct {
	parser.InlineParser
	cost int
}

func (m marks) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if !leafOf(parent, pc).spend(m.cost) {
		return nil
	}
	return m.InlineParser.Parse(parent, r, pc)
}

// links does so for brackets; an exclamation mark alone costs nothing.
type links struct{ parser.InlineParser }

func (l links) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	if line[0] == '!' && (len(line) < 2 || line[1] != '[') {
		return nil
	}
	n := marks{l.InlineParser, 1}.Parse(parent, r, pc)
	if beginsAddress(destination(n, r.Source())) {
		readingOf(pc).links++
	}
	return n
}

// CloseBlock lets the parser turn the brackets left open into text.
func (l links) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := l.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// bareLinks does so for addresses inside a word, which overlap; those behind white
// space do not, and are free.
type bareLinks struct{ parser.InlineParser }

func (b bareLinks) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	here := beginsAddress(line)
	if !here && !readingOf(pc).mail && !beginsAddress(line[1:]) {
		return nil
	}
	if c := line[0]; c != '(' && !util.IsSpace(c) && !util.IsSpaceRune(r.PrecendingCharacter()) {
		cost := 1
		if here {
			cost = addressCost
		}
		if !leafOf(parent, pc).spend(cost) {
			return nil
		}
	}
	return b.InlineParser.Parse(parent, r, pc)
}

// codeSpans looks for the end of a span only where there is one.
type codeSpans struct{ parser.InlineParser }

func (c codeSpans) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	l := leafOf(parent, pc)
	line, segment := r.PeekLine()
	run := len(line) - len(bytes.TrimLeft(line, "`"))
	if l.ticks != nil && l.ticks[run] <= segment.Start {
		r.Advance(run)
		return ast.NewTextSegment(segment.WithStop(segment.Start + run))
	}
	n := c.InlineParser.Parse(parent, r, pc)
	if _, unclosed := n.(*ast.Text); unclosed && l.ticks == nil {
		l.ticks = ticks(parent.Lines(), r.Source())
	}
	return n
}

func ticks(lines *text.Segments, source []byte) map[int]int {
	last := map[int]int{}
	for i := range lines.Len() {
		segment := lines.At(i)
		for at := segment.Start; at < segment.Stop; at++ {
			start := at
			for at < segment.Stop && source[at] == '`' {
				at++
			}
			if at > start {
				last[at-start] = start
			}
		}
	}
	return last
}
