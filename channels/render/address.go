package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// begins are what a bare address of the Web begins with.
var begins = [][]byte{[]byte("http:"), []byte("https:"), []byte("ftp:"), []byte("www.")}

// addresses looks for addresses: whether there may be one that stands alone, and how
// many are the targets of links if those are links. It says alone too often rather than
// too seldom.
func addresses(source []byte) (alone bool, targets int) {
	for _, begin := range begins {
		for at := 0; ; at += len(begin) {
			n := bytes.Index(source[at:], begin)
			if n < 0 {
				break
			}
			at += n
			switch {
			case at > 0 && util.IsAlphaNumeric(source[at-1]): // within a word
			case bytes.HasSuffix(source[:at], []byte("](")):
				targets++
			default:
				return true, 0
			}
		}
	}
	for at := 0; ; at++ {
		n := bytes.IndexByte(source[at:], '@')
		if n < 0 {
			return false, targets
		}
		at += n
		if at > 0 && !util.IsSpace(source[at-1]) && at+1 < len(source) && util.IsAlphaNumeric(source[at+1]) {
			return true, 0
		}
	}
}

var linksKey = parser.NewContextKey()

// countLink counts a link whose target is an address of the Web, written in the text.
func countLink(n ast.Node, pc parser.Context) {
	var target []byte
	switch n := n.(type) {
	case *ast.Link:
		target = n.Destination
	case *ast.Image:
		target = n.Destination
	}
	for _, begin := range begins {
		if links, ok := pc.Get(linksKey).(*int); ok && bytes.HasPrefix(target, begin) {
			*links++
			return
		}
	}
}
