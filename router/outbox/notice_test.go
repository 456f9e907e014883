package outbox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"switchboard/router/outbox"
)

// Every constant is in the list by which [notify] is checked, in the order of the constants.
func TestNoticeKindsAreAllTheConstants(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "notice.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []outbox.NoticeKind
	ast.Inspect(file, func(n ast.Node) bool {
		if decl, ok := n.(*ast.GenDecl); !ok || decl.Tok != token.CONST {
			return true
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, outbox.NoticeKind(text))
			}
			return true
		})
		return false
	})
	if len(kinds) == 0 || !slices.Equal(kinds, outbox.NoticeKinds) {
		t.Errorf("constants %v, listed %v", kinds, outbox.NoticeKinds)
	}
}
