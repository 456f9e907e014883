package command

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLine     = 100 << 10 // bytes; longer ones are not run anyway
	maxDepth    = 12        // of commands in arguments of commands
	maxWork     = 200_000   // words that are looked at
	maxExpanded = 500       // words that braces make
	maxBraces   = 20        // in one word
	maxComments = 10        // that the parser reads differently
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
	unknown  string // why it cannot be judged; empty: it can
	destroys string // what it would destroy; empty: nothing that is known
	hides    bool   // a comment ends in a backslash
	computes bool   // bash may run what the value of a variable or an index says

	depth   int
	work    int
	vars    map[string]string
	folders []string // that it goes to
	piped   string   // what comes in by the pipe to the command that is read; empty: not known
}

func (r *reading) hide() {
	r.hides = true
	r.cannot("a comment in it ends in a backslash, which may hide the next line")
}

func (r *reading) cannot(why string) { r.unknown = cmp.Or(r.unknown, why) }

// line reads a whole line. What the parser cannot bear is unknown, never allowed.
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
	case misread(text):
		r.cannot("it holds bytes that shells read differently")
	}
	if !r.affords(nil) {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	text, hides, ok := uncomment(text, dialect)
	if hides {
		r.hide()
	}
	if !ok {
		r.destroy("holds more comments that shells read differently than can be judged")
		return
	}
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
			r.computes = r.computes || n.Index != nil
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
		case *syntax.ParamExp:
			r.computes = r.computes || n.Index != nil || n.Slice != nil || n.Excl
			r.expansion(n)
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
			r.computes = true
		case *syntax.BinaryArithm:
			if name, ok := n.X.(*syntax.Word); ok && assigns(n.Op) {
				r.set(r.word(name).text, gap)
			}
		case *syntax.UnaryArithm:
			if name, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				r.set(r.word(name).text, gap)
			}
		}
		return true
	})
}

func (r *reading) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	words := r.words(n.Args)
	if n.Args[0].Lit() == "in" { // a word of shells that the parser takes for a program
		r.cannot("its syntax cannot be read")
	}
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
		r.later(w.text)
	}
	r.destruction(words)
	r.wrapped(words)
}

// later looks for what is run if a shell reads the text once more.
func (r *reading) later(text string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		r.cannot("it holds a substitution as text, which may be run later")
	}
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
		} else if name, value, sets := strings.Cut(w.text, "="); sets {
			r.set(name, value) // readonly "PATH=x"
		} else if !w.known {
			r.cannot("the name of a variable that it sets is known only while it runs")
		}
		words = append(words, w)
	}
	r.command(words)
}

// exported are variables that programs of the line get, or that a shell runs.
var exported = strings.Fields("PATH HOME ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND TMPDIR BASH_ALIASES BASH_CMDS")

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
	r.later(value)
	if n.Append {
		value = r.vars[n.Name.Value] + value
	}
	r.set(n.Name.Value, value)
}

// expansion reads one that sets a variable, or runs what its value holds.
func (r *reading) expansion(n *syntax.ParamExp) {
	if n.Exp != nil && n.Exp.Word != nil {
		for at := range syntax.Preorder(n.Exp.Word) { // bash runs "${x:-"$\(ls)"}", and "$""(ls)" in it
			if lit, ok := at.(*syntax.Lit); ok && strings.Contains(lit.Value, "$") {
				r.cannot("it holds a substitution as text, which may be run later")
			}
		}
	}
	switch {
	case n.Exp == nil || n.Param == nil:
	case n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P":
		r.cannot("it expands a variable as a prompt, which may run a part of it")
	case n.Exp.Op != syntax.AssignUnset && n.Exp.Op != syntax.AssignUnsetOrNull:
	case n.Excl:
		r.cannot("the name of a variable that it sets is known only while it runs")
	case n.Exp.Word != nil:
		r.set(n.Param.Value, r.word(n.Exp.Word).text)
	}
}

// assigns says that an operator of arithmetic sets a variable.
func assigns(op syntax.BinAritOperator) bool {
	return strings.HasSuffix(op.String(), "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, op.String())
}

// function looks for one that starts itself more than once: a fork bomb.
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
		if words := r.words(call.Args); text != nil && len(words) > 0 && r.shellOf(words[0]) != 0 {
			told := r.word(text).text
			if delimiter := redirect.Word.Lit(); redirect.Hdoc != nil && (delimiter == "" || strings.Contains(delimiter, "\\")) {
				told = redirect.Hdoc.Lit() // a quoted delimiter: all of it is as it stands
			}
			r.script(told, r.shellOf(words[0]))
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
	if n.N != nil && len(n.N.Value) > 1 { // in "a 21>&1" the 21 is a word for dash
		r.cannot("shells read the number before a redirection differently")
	}
	file := r.word(n.Word)
	duplicate := (n.Op == syntax.DplIn || n.Op == syntax.DplOut) && file.known && strings.Trim(file.text, "0123456789-") == ""
	if !duplicate {
		r.redirected(sign, file)
	}
}

// redirected takes a file that is read from or written to as a command of its own.
func (r *reading) redirected(sign string, file word) {
	if file.known && slices.Contains([]string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, file.text) {
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
		made := 0
		for one, err := range expand.BracesSeq(nil, whole) {
			if made++; err != nil || len(all)+made > maxExpanded {
				r.cannot("its braces make too many words")
				break
			}
			if !slices.ContainsFunc(one.Parts, func(part syntax.WordPart) bool { lit, ok := part.(*syntax.Lit); return !ok || lit.Value != "" }) {
				continue // "{alpha,}" is one word: a shell drops an empty one that is not quoted
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
