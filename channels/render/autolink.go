package render

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// begins are what a bare address of the Web begins with.
var begins = [][]byte{[]byte("http:"), []byte("https:"), []byte("ftp:"), []byte("www.")}

// found is what kinds of addresses a text may have: of the Web and of mail, standing
// alone, and how many are the targets of links if those are links. It holds too much
// rather than too little.
type found struct {
	web, mail bool
	targets   int
}

func addresses(source []byte) found {
	f := found{mail: mailed(source)}
	for _, begin := range begins {
		for at := 0; !f.web; at += len(begin) {
			n := bytes.Index(source[at:], begin)
			if n < 0 {
				break
			}
			at += n
			switch {
			case at > 0 && util.IsAlphaNumeric(source[at-1]): // within a word
			case bytes.HasSuffix(source[:at], []byte("](")):
				f.targets++
			default:
				f.web = true
			}
		}
	}
	return f
}

// mailed says whether source may have an address of mail.
func mailed(source []byte) bool {
	for at := 0; ; at++ {
		n := bytes.IndexByte(source[at:], '@')
		if n < 0 {
			return false
		}
		at += n
		if at > 0 && !util.IsSpace(source[at-1]) && at+1 < len(source) && util.IsAlphaNumeric(source[at+1]) {
			return true
		}
	}
}

// beginsAddress says whether line begins with an address of the Web.
func beginsAddress(line []byte) bool {
	if len(line) == 0 || line[0] != 'h' && line[0] != 'f' && line[0] != 'w' {
		return false
	}
	return slices.ContainsFunc(begins, func(begin []byte) bool { return bytes.HasPrefix(line, begin) })
}

// destination is where a link or image leads; nil: n is none.
func destination(n ast.Node, source []byte) []byte {
	switch n := n.(type) {
	case *ast.Link:
		return n.Destination
	case *ast.Image:
		return n.Destination
	case *ast.AutoLink:
		return n.URL(source)
	}
	return nil
}
