package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A spoiler is text between ||double pipes||, which several platforms hide until it
// is touched.
type spoiler struct{ ast.BaseInline }

var kindSpoiler = ast.NewNodeKind("Spoiler")

func (*spoiler) Kind() ast.NodeKind { return kindSpoiler }

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
