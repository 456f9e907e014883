package command

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLine     = 100 << 10 // bytes; longer ones are not run anyway
	maxDepth    = 12        // of commands in arguments of commands
	maxWork     = 200_000   // words that are looked at
	maxExpanded = 500       // words that braces make
	maxBraces   = 20        // in one word
)

// gap stands in a word for what is known only while the command runs.
const gap = "…"

// A word of a command, as far as it is known before the command runs.
type word struct {
	text  string // with gaps; variables as the line sets them, and empty where nobody does
	known bool   // text is exactly what the program gets
}

// A reading is what one shell makes of a line.
type reading struct {
	dialect  syntax.LangVariant
	commands [][]word
	unclear  string // why it cannot be judged; empty: it can
	destroys string // what it would destroy; empty: nothing that is known

	depth   int
	work    int
	vars    map[string]string
	folders []string // that it goes to
	piped   string   // what comes in by the pipe to the command that is read; empty: not known
}

func (r *reading) cannot(why string) { r.unclear = cmp.Or(r.unclear, why) }

// line reads a whole line. What the parser cannot bear is unclear, never allowed.
func (r *reading) line(text string) {
	defer func() {
		if recover() != nil {
			r.cannot("it cannot be read")
		}
	}()
	r.vars = map[string]string{}
	r.script(text, r.dialect)
}

// script reads a line, or text that is one for a shell within it.
func (r *reading) script(text string, dialect syntax.LangVariant) {
	switch {
	case len(text) > maxLine:
		r.cannot("it is too long")
		return
	case !utf8.ValidString(text) || strings.ContainsAny(text, "\r\x00"):
		r.cannot("it holds bytes that shells read differently")
	}
	if !r.affords(nil) {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	// A shell runs what stands before a mistake.
	for stmt, err := range syntax.NewParser(syntax.Variant(dialect)).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			r.cannot("its syntax cannot be read")
			return
		}
		r.walk(stmt)
	}
}

// walk reads all commands below node, those of substitutions included, in their order.
func (r *reading) walk(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n)
		case *syntax.Stmt:
			r.document(n)
		case *syntax.BinaryCmd:
			return !r.pipe(n)
		case *syntax.Assign:
			r.assign(n)
		case *syntax.WordIter:
			var values []string
			for _, w := range r.words(n.Items) {
				values = append(values, w.text)
			}
			r.set(n.Name.Value, strings.Join(values, " "))
		case *syntax.DeclClause:
			r.declare(n)
		case *syntax.FuncDecl:
			r.function(n)
		case *syntax.Redirect:
			r.redirect(n)
		}
		return true
	})
}

func (r *reading) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	words := r.words(n.Args)
	for _, a := range n.Assigns {
		name, lines := a.Name.Value, len(words) > 0 && words[0].text == "read" // IFS= read is a usual way to read lines
		if !(lines && name == "IFS") && name != "TZ" && name != "LANG" && !strings.HasPrefix(name, "LC_") {
			r.cannot("a variable that is set before a command may change what it runs")
		}
	}
	r.command(words)
}

// affords says whether more is looked at. What is made to be endless does not run.
func (r *reading) affords(words []word) bool {
	r.work += len(words)
	if r.work > maxWork || r.depth > maxDepth {
		r.destroy("holds more commands within commands than can be judged")
		return false
	}
	return r.destroys == ""
}

// command takes one command, and those that it runs in turn.
func (r *reading) command(words []word) {
	if len(words) == 0 || !r.affords(words) {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	r.commands = append(r.commands, words)
	if !words[0].known {
		r.cannot("the name of a command is known only while it runs")
	}
	for _, w := range words {
		if strings.Contains(w.text, "$(") || strings.Contains(w.text, "`") {
			r.cannot("it holds a substitution as text, which may be run later")
		}
	}
	r.destruction(words)
	r.wrapped(words)
}

// declare reads export, declare and the like. What is exported may change what programs do.
func (r *reading) declare(n *syntax.DeclClause) {
	words := []word{{n.Variant.Value, true}}
	for _, a := range n.Args {
		w := word{known: a.Value == nil && a.Array == nil}
		if a.Value != nil {
			w = r.word(a.Value)
		}
		if a.Name != nil {
			w.text = strings.TrimSuffix(a.Name.Value+"="+w.text, "=")
		}
		words = append(words, w)
	}
	r.command(words)
}

// exported are variables that programs of the line get, or that a shell runs.
var exported = strings.Fields("PATH HOME ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND TMPDIR")

func (r *reading) set(name, value string) {
	if slices.Contains(exported, name) || strings.HasPrefix(name, "LD_") {
		r.cannot("it sets " + name)
	}
	r.vars[name] = value
}

func (r *reading) assign(n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	value := ""
	if n.Value != nil {
		value = r.word(n.Value).text
	}
	if strings.Contains(value, "$(") || strings.Contains(value, "`") {
		r.cannot("it holds a substitution as text, which may be run later")
	}
	if n.Append {
		value = r.vars[n.Name.Value] + value
	}
	r.set(n.Name.Value, value)
}

// function looks for one that starts itself again beside itself: a fork bomb.
func (r *reading) function(n *syntax.FuncDecl) {
	if n.Name == nil {
		return
	}
	calls := func(node syntax.Node) (found bool) {
		for at := range syntax.Preorder(node) {
			if c, ok := at.(*syntax.CallExpr); ok && len(c.Args) > 0 && r.word(c.Args[0]).text == n.Name.Value {
				found = true
			}
		}
		return found
	}
	for at := range syntax.Preorder(n.Body) {
		switch at := at.(type) {
		case *syntax.BinaryCmd:
			if at.Op != syntax.AndStmt && at.Op != syntax.OrStmt && calls(at.X) && calls(at.Y) {
				r.destroy("starts itself without end")
			}
		case *syntax.Stmt:
			if at.Background && calls(at) {
				r.destroy("starts itself without end")
			}
		}
	}
}

// pipe reads a pipe whose left side says what the right side is told.
func (r *reading) pipe(n *syntax.BinaryCmd) bool {
	echo, ok := n.X.Cmd.(*syntax.CallExpr)
	if n.Op == syntax.AndStmt || n.Op == syntax.OrStmt || !ok || len(echo.Args) == 0 {
		return false
	}
	words := r.words(echo.Args)
	if len(words) == 0 || words[0].text != "echo" && words[0].text != "printf" {
		return false
	}
	r.walk(n.X)
	before := r.piped
	var texts []string
	for _, w := range words[1:] {
		texts = append(texts, strings.ReplaceAll(w.text, `\n`, "\n"))
	}
	r.piped = strings.Join(texts, " ")
	r.walk(n.Y)
	r.piped = before
	return true
}

// document reads a statement whose here-document is what a shell is told to run.
func (r *reading) document(n *syntax.Stmt) {
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	for _, redirect := range n.Redirs {
		text := redirect.Hdoc
		if redirect.Op == syntax.WordHdoc {
			text = redirect.Word
		}
		if words := r.words(call.Args); text != nil && len(words) > 0 && shells[path.Base(words[0].text)] != 0 {
			r.script(r.word(text).text, shells[path.Base(words[0].text)])
		}
	}
}

// redirect reads a redirection as a command of its own.
func (r *reading) redirect(n *syntax.Redirect) {
	sign := ">"
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.RdrIn, syntax.DplIn:
		sign = "<"
	}
	file := r.word(n.Word)
	duplicate := (n.Op == syntax.DplIn || n.Op == syntax.DplOut) && file.known && strings.Trim(file.text, "0123456789-") == ""
	if duplicate || file.known && slices.Contains([]string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, file.text) {
		return
	}
	r.commands = append(r.commands, []word{{sign, true}, file})
	if sign == ">" && isDevice(file.text) {
		r.destroy("writes to " + file.text)
	}
}

// words are those that a shell makes of its own before it looks for a program.
func (r *reading) words(list []*syntax.Word) (all []word) {
	for _, w := range list {
		whole, braces := &syntax.Word{Parts: slices.Clone(w.Parts)}, 0
		for _, part := range w.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				braces += strings.Count(lit.Value, "{")
			}
		}
		if braces > maxBraces {
			r.cannot("it has too many braces")
		}
		if r.dialect == syntax.LangPOSIX || braces > maxBraces || !syntax.SplitBraces(whole) {
			all = append(all, r.word(w))
			continue
		}
		for one, err := range expand.BracesSeq(nil, whole) {
			if err != nil || len(all) > maxExpanded {
				r.cannot("its braces make too many words")
				break
			}
			all = append(all, r.word(one))
		}
	}
	return all
}

func (r *reading) word(w *syntax.Word) word {
	out := word{known: true}
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(lit.Value, "~") {
			out.known = false
		}
		r.part(&out, part, false)
	}
	return out
}

// defaults give the value of a variable that is not set.
var defaults = []syntax.ParExpOperator{syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull}

// part adds what a shell makes of one part of a word.
func (r *reading) part(out *word, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		text, glob := unescape(p.Value, quoted)
		out.text += text
		out.known = out.known && !glob
	case *syntax.SglQuoted:
		// A config of its own: nil is one variable of the library, which every reader would write.
		if text, err := expand.Literal(&expand.Config{}, &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
			out.text += text
		} else {
			out.known = false
		}
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			r.part(out, inner, true)
		}
	case *syntax.ParamExp:
		out.known = false
		if p.Param == nil {
			return
		}
		value, set := r.vars[p.Param.Value]
		switch {
		case set:
			out.text += value
		case !syntax.ValidName(p.Param.Value): // $1, $@ and the like
			out.text += gap
		case p.Param.Value == "HOME":
			out.text += "~"
		case p.Param.Value == "IFS" && !quoted:
			out.text += " "
		case p.Exp != nil && p.Exp.Word != nil && slices.Contains(defaults, p.Exp.Op):
			r.part(out, &syntax.DblQuoted{Parts: p.Exp.Word.Parts}, quoted)
		}
	case *syntax.ExtGlob:
		out.text, out.known = out.text+"*", false
	default: // substitutions, arithmetic: what is in them is read on its own
		out.text, out.known = out.text+gap, false
	}
}

// unescape takes the backslashes of literal text away; glob says that names of files may
// take its place.
func unescape(text string, quoted bool) (plain string, glob bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i++
		case c == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\", text[i+1]) >= 0):
			i++
			b.WriteByte(text[i])
		default:
			glob = glob || !quoted && (c == '*' || c == '?' || c == '[' && strings.Contains(text[i:], "]"))
			b.WriteByte(c)
		}
	}
	return b.String(), glob
}
