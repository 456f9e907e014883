package command

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// host is how /bin/sh reads a line here: as bash does, or as POSIX says (dash, busybox).
var host = sync.OnceValue(func() syntax.LangVariant {
	if file, err := filepath.EvalSymlinks("/bin/sh"); err == nil && path.Base(file) == "bash" {
		return syntax.LangBash
	}
	return syntax.LangPOSIX
})

// Runs returns what /bin/sh has to be given for a line that was judged: the line as the
// parser reads it, printed without comments, so that what runs is what was judged. A line
// that cannot be read or printed is returned as it is; with patterns set, Judge asks for it.
func Runs(line string) string {
	text, _, _ := runs(line, host())
	return text
}

// runs is Runs for a shell. It reports whether a comment ends in a backslash, and whether
// text is what the parser printed.
func runs(line string, shell syntax.LangVariant) (text string, hides, printed bool) {
	defer func() {
		if recover() != nil { // as in reading.line
			text, printed = line, false
		}
	}()
	if len(line) > maxLine || misread(line) {
		return line, false, false
	}
	read, err := parse(line, shell)
	if err != nil {
		return line, false, false
	}
	plain, hides, ok := uncomment(line, shell)
	if plain != line {
		if read, err = parse(plain, shell); err != nil || !ok {
			return line, false, false // judging finds the comments itself
		}
	}
	var out limited
	if syntax.NewPrinter().Print(&out, read) != nil {
		return line, hides, false
	}
	if _, err := parse(out.String(), shell); err != nil {
		return line, hides, false
	}
	return out.String(), hides, true
}

func parse(text string, shell syntax.LangVariant) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(shell)).Parse(strings.NewReader(text), "")
}

// misread says that text holds bytes that shells and the parser read differently.
func misread(text string) bool { return !utf8.ValidString(text) || strings.ContainsAny(text, "\r\x00") }

// limited is a buffer that takes as much as a line may have.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxLine {
		return 0, errors.New("too long")
	}
	return l.Buffer.Write(p)
}

// uncomment corrects what the parser takes for comments and shells do not, and reports
// whether a comment ends in a backslash: such a comment is taken out, because the parser
// joins it with the next line. ok is false for more comments than maxComments.
func uncomment(text string, shell syntax.LangVariant) (plain string, hides, ok bool) {
	for range maxComments {
		at, word := misplaced(text, shell)
		switch {
		case at < 0:
			return text, hides, true
		case word:
			text = text[:at] + `\` + text[at:]
		default:
			text, hides = text[:at]+text[at+strings.IndexByte(text[at:], '\n'):], true
		}
	}
	return text, hides, false
}

// misplaced is where the first comment begins that the parser reads as shells do not; -1:
// there is none. Either it is a part of a word, as in $(echo ""#x), or it ends in a
// backslash and a line break: then whatever begins like a comment is one, unless the parser
// has it as text.
func misplaced(text string, shell syntax.LangVariant) (at int, word bool) {
	if !strings.Contains(text, "#") {
		return -1, false
	}
	ends, isText, comments := make([]bool, len(text)+1), make([]bool, len(text)+1), []int{} // ends of words
	for stmt, err := range syntax.NewParser(syntax.Variant(shell), syntax.KeepComments(true)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			break
		}
		for n := range syntax.Preorder(stmt) {
			switch n := n.(type) {
			case *syntax.Comment:
				comments = append(comments, int(n.Hash.Offset()))
			case *syntax.Word:
				ends[n.End().Offset()] = true
			case *syntax.Lit, *syntax.SglQuoted:
				for i := n.Pos().Offset(); i < n.End().Offset(); i++ {
					isText[i] = true
				}
			}
		}
	}
	at = len(text)
	for _, hash := range comments {
		before := text[:hash]
		for strings.HasSuffix(before, "\\\n") {
			before = before[:len(before)-2]
		}
		if ends[len(before)] {
			at, word = min(at, hash), true
		}
	}
	start := 0
	for line := range strings.Lines(text) {
		for i := range len(line) {
			begins := line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`", line[i-1]) >= 0)
			if begins && strings.HasSuffix(line, "\\\n") && !isText[start+i] && start+i < at {
				at, word = start+i, false
			}
		}
		start += len(line)
	}
	if at == len(text) {
		return -1, false
	}
	return at, word
}
