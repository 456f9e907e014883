package command

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells are programs that run text as commands, with how they read it; sh may be any of
// the two.
var shells = map[string]syntax.LangVariant{
	"dash": syntax.LangPOSIX, "ash": syntax.LangPOSIX, "bash": syntax.LangBash, "rbash": syntax.LangBash,
	"ksh": syntax.LangBash, "mksh": syntax.LangMirBSDKorn, "zsh": syntax.LangZsh,
}

// shellOf is how a program reads text that it runs; 0: it is no shell.
func (r *reading) shellOf(program word) syntax.LangVariant {
	name := path.Base(program.text)
	if name == "sh" {
		return r.dialect
	}
	return shells[name]
}

// A wrapper is a program that runs the command in its arguments.
type wrapper struct {
	flags    string // letters of options without a value
	values   string // of those with one
	operands int    // words before the command
}

// wrappers are those whose options are known, as their manuals list them
// (https://www.gnu.org/software/coreutils/manual/coreutils.html,
// https://pubs.opengroup.org/onlinepubs/9799919799/). With another option nobody knows
// where the command begins.
var wrappers = map[string]wrapper{
	"env": {"i0v", "uC", 0}, "nohup": {}, "nice": {"0123456789", "n", 0}, "timeout": {"vf", "ks", 1}, "stdbuf": {"", "ioe", 0},
	"time": {"pv", "fo", 0}, "setsid": {"cfw", "", 0}, "ionice": {"t", "cn", 0}, "xargs": {"0rtx", "nPLIEdsa", 0}, "sudo": {"nEHb", "ug", 0}, "doas": {"n", "u", 0},
	"command": {"p", "", 0}, "builtin": {}, "exec": {"cl", "a", 0}, "busybox": {}, "toybox": {}, "chroot": {"", "", 1},
}

// opaque are programs that run commands in ways that are not read here, and builtins that
// change what later words mean.
var opaque = strings.Fields(`su runuser script flock watch parallel strace ltrace gdb valgrind unshare nsenter setarch systemd-run at batch
	chrt taskset setpriv prlimit choom sg pkexec bwrap eatmydata expect proot fakeroot ssh start-stop-daemon fish csh tcsh pwsh compgen
	. source alias unalias enable hash export declare typeset coproc fc`)

// interpreters run code that is given as an argument, after an option with one of these
// letters.
var interpreters = map[string]string{"python": "c", "perl": "eE", "ruby": "e", "node": "ep", "php": "rBRE", "lua": "e", "osascript": "e", "Rscript": "e"}

// wrapped reads the commands that a command runs in turn.
func (r *reading) wrapped(words []word) {
	name := path.Base(words[0].text)
	args := words[1:]
	switch {
	case r.shellOf(words[0]) != 0:
		r.shell(r.shellOf(words[0]), args)
	case name == "eval":
		r.text(operands(args), r.dialect)
	case name == "trap":
		if args = operands(args); len(args) > 1 && args[0].text != "-" {
			r.text(args[:1], r.dialect)
		}
	case name == "find":
		r.find(args)
	case name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") && args[0].known:
	case name == "set" && (optional(args, "a") || slices.ContainsFunc(args, func(w word) bool { return w.text == "allexport" })):
		r.cannot("what it sets may change what programs do")
	case (name == "mapfile" || name == "readarray") && optional(args, "C"):
		r.opaque("what "+name+" -C runs is not known", args)
	case name == "jobs" && optional(args, "x"):
		r.opaque("what jobs -x runs is not known", args)
	case name == "printf" && len(args) > 1 && strings.HasPrefix(args[0].text, "-v"): // dash has no such option
		r.cannot("what printf -v makes is known only while it runs")
		if variable := args[0].text[2:]; variable != "" {
			args = slices.Insert(slices.Clone(args), 1, word{text: variable})
		}
		value := ""
		for _, w := range args[2:] {
			value += strings.ReplaceAll(w.text, "%s", "") + " "
		}
		r.set(args[1].text, value)
	case slices.Contains([]string{"read", "printf", "getopts", "mapfile", "readarray", "unset"}, name):
		for _, w := range args {
			if variable, _, _ := strings.Cut(w.text, "["); name != "printf" && syntax.ValidName(variable) {
				r.set(variable, gap)
			} else if slices.Contains(exported, variable) {
				r.cannot("it sets " + variable)
			}
		}
	case slices.Contains(opaque, name) || strings.HasPrefix(name, "ld-") || strings.HasPrefix(name, "ld."):
		r.opaque("what "+name+" runs or changes is not known", args)
	default:
		if w, ok := wrappers[name]; ok {
			r.unwrap(name, w, args)
		}
		if letters := interpreters[strings.TrimRight(name, "0123456789.")]; letters != "" {
			r.program(name, letters, args)
		}
	}
}

// optional says that the option of a letter may be among the arguments.
func optional(args []word, letter string) bool {
	return slices.ContainsFunc(args, func(w word) bool {
		return !w.known || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, letter)
	})
}

// operands are what follows the "--" that may end the options of a builtin that has none.
func operands(args []word) []word {
	if len(args) > 0 && args[0].text == "--" {
		return args[1:]
	}
	return args
}

// opaque says that a command cannot be judged; what it would destroy is looked for behind
// each of its words.
func (r *reading) opaque(why string, args []word) {
	r.cannot(why)
	for i, w := range args {
		r.destruction(args[i:])
		if strings.ContainsAny(w.text, " \t\n") {
			r.inspect(w.text)
		}
	}
}

// inspect looks only for what text would destroy if it were run.
func (r *reading) inspect(text string) {
	inner := &reading{dialect: r.dialect, depth: r.depth, work: r.work, vars: map[string]string{}, folders: r.folders}
	inner.script(text, r.dialect)
	r.work = inner.work
	if inner.destroys != "" {
		r.destroy(inner.destroys)
	}
}

// program looks whether an interpreter is given code, which is not judged, rather than the
// name of a file.
func (r *reading) program(name, letters string, args []word) {
	for _, w := range args {
		option, isOption := strings.CutPrefix(w.text, "-")
		switch {
		case !w.known, option == "", strings.HasPrefix(option, "-eval"), strings.HasPrefix(option, "-print"),
			isOption && option[0] != '-' && strings.ContainsAny(option, letters):
			r.opaque("it gives "+name+" a program to run", args)
			return
		case !isOption && r.isInput(w.text):
			r.cannot(name + " runs what it reads")
			return
		case !isOption:
			return
		}
	}
	if len(args) == 0 {
		r.cannot(name + " runs what it reads")
	}
}

// text reads words that a shell runs as a line.
func (r *reading) text(words []word, dialect syntax.LangVariant) {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
		if !w.known {
			r.cannot("a part of what is run is known only while it runs")
		}
	}
	r.script(strings.Join(texts, " "), dialect)
}

// shell reads what a shell is told to run: by -c, from a file, or by what it reads.
func (r *reading) shell(dialect syntax.LangVariant, args []word) {
	command := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		option := strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+")
		long := strings.HasPrefix(w.text, "--")
		switch {
		case !w.known && !command:
			r.opaque("what a shell is told is known only while it runs", args)
			return
		case option && (strings.Trim(w.text[1:], "abcefhiklmnoprtuvxBCEHPT") != "" || long || len(w.text) == 1 || w.text[0] == '+'):
			r.opaque("a shell is started in a way that is not known here", args)
			return
		case option:
			command = command || strings.Contains(w.text, "c")
			if strings.Contains(w.text, "o") { // -o NAME
				i++
			}
		case command:
			r.text(args[i:i+1], dialect)
			return
		case r.isInput(w.text):
			i = len(args)
		default:
			return // a file
		}
	}
	r.cannot("a shell runs what it reads")
	if r.piped != "" {
		r.inspect(r.piped)
	}
}

// isInput says that a file is what a program reads anyway, or another that nobody wrote,
// such as /dev/stdin and /proc/self/fd/0.
func (r *reading) isInput(name string) bool {
	return slices.ContainsFunc(append([]string{"."}, r.folders...), func(folder string) bool {
		file := path.Clean(name)
		if !path.IsAbs(file) {
			file = path.Join(folder, file)
		}
		return path.Base(file) == "stdin" || path.Base(path.Dir(file)) == "fd" || strings.HasPrefix(file, "/dev/") || strings.HasPrefix(file, "/proc/")
	})
}

// unwrap reads the command in the arguments of a wrapper.
func (r *reading) unwrap(name string, known wrapper, args []word) {
	replaced, skip := "", known.operands // what xargs replaces
	for i := 0; i < len(args); i++ {
		w := args[i]
		letters, option := strings.CutPrefix(w.text, "-")
		switch {
		case !w.known:
			r.opaque("the words of "+name+" are known only while it runs", args)
			return
		case name == "env" && strings.Contains(w.text, "=") && !option:
			r.cannot("a variable that is set before a command may change what it runs")
		case w.text == "--":
		case option:
			value := strings.IndexAny(letters, known.values)
			flags := letters
			if value >= 0 && known.values != "" {
				flags = letters[:value]
				given := letters[value+1:]
				if given == "" && i+1 < len(args) {
					i++
					given = args[i].text
				}
				if letters[value] == 'I' {
					replaced = given
				}
			}
			if letters == "" || strings.Trim(flags, known.flags) != "" {
				r.opaque("an option of "+name+" is not known here", args)
				return
			}
		case skip > 0:
			skip--
		default:
			r.inner(name, args[i:], replaced)
			return
		}
	}
}

// inner reads the command of a wrapper; xargs adds words to it, or puts them in.
func (r *reading) inner(name string, words []word, replaced string) {
	if name == "xargs" {
		words = slices.Clone(words)
		for i, w := range words {
			if replaced != "" && strings.Contains(w.text, replaced) {
				words[i] = word{text: strings.ReplaceAll(w.text, replaced, cmp.Or(strings.TrimSpace(r.piped), gap))}
			}
		}
		words = append(words, word{text: cmp.Or(strings.TrimSpace(r.piped), gap)})
	}
	r.command(words)
}

// find reads the commands that find runs, and what it deletes.
func (r *reading) find(args []word) {
	var starts []string
	expression := false
	for i := 0; i < len(args); i++ {
		w := args[i]
		expression = expression || w.known && (w.text == "(" || w.text == "!" || strings.HasPrefix(w.text, "-") && !slices.Contains([]string{"-H", "-L", "-P"}, w.text))
		switch {
		case !w.known:
			r.cannot("the words of find are known only while it runs")
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text):
			var words []word
			for i++; i < len(args) && args[i].text != ";" && (args[i].text != "+" || args[i-1].text != "{}"); i++ {
				one := args[i]
				if strings.Contains(one.text, "{}") {
					one = word{text: strings.ReplaceAll(one.text, "{}", strings.Join(starts, " "))}
				}
				words = append(words, one)
			}
			r.command(words)
		case slices.Contains([]string{"-fprint", "-fprint0", "-fprintf", "-fls"}, w.text) && i+1 < len(args):
			i++
			r.redirected(">", args[i])
		case w.text == "-delete":
			r.destruction([]word{{"rm", true}, {"-r", true}, {text: strings.Join(starts, " ")}})
		}
		if !expression {
			starts = append(starts, w.text)
		}
	}
}
