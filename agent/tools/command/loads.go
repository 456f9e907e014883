package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plain are programs, and builtins of shells, that run nothing and load no code, whatever
// lies in the folder that they run in.
var plain = strings.Fields(`: true false echo printf pwd cd test [ exit ls cat head tail wc grep cut tr uniq nl tac rev cmp diff comm find
	basename dirname realpath readlink stat du df date id whoami uname hostname sleep seq md5sum sha1sum sha256sum cksum
	rm rmdir mkdir touch chmod truncate cp mv ln tee`)

// carriers are those of them that put what is in a file somewhere else, as a redirection does.
var carriers = strings.Fields("cp mv ln tee >")

// Loads says whether a line may run or load files of the folder that it runs in, so that what
// it does depends on more than its words: it runs a program that is not known to load none, or
// a word of it is known only while it runs. A line that is lifted out of the sandbox does so too
// where it copies or writes a file, for that may be one that others load.
//
// Names are the files that it may name, in their order and some more than once: words of the line, not
// all of which are files, and each as it is from the folders that the line goes to; none where that is not
// known before.
func Loads(line string, lifted bool) (names []string, loads bool) {
	text, hides, printed := runs(line, host())
	loads = hides || !printed
	moves := slices.ContainsFunc(places, func(name string) bool { return strings.Contains(text, name) })
	for _, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		read := &reading{dialect: dialect}
		read.line(text)
		loads, moves = loads || read.loads(lifted), moves || read.moves()
		for _, words := range read.commands {
			for i, w := range words {
				if i > 0 || strings.Contains(w.text, "/") {
					names = append(names, read.named(w.text)...)
				}
			}
		}
	}
	if moves {
		names = nil
	}
	return names, loads
}

func (r *reading) loads(lifted bool) bool {
	if r.unknown != "" || r.evaluates() || r.destroys != "" {
		return true
	}
	return slices.ContainsFunc(r.commands, func(words []word) bool {
		name := words[0].text
		switch {
		case slices.ContainsFunc(words, func(w word) bool { return !w.known }):
			return true
		case lifted && slices.Contains(carriers, name):
			return true
		}
		return name != ">" && name != "<" && !slices.Contains(plain, name)
	})
}

// evaluates says that bash may run what a variable or an index says: in a calculation, and where a test
// asks whether an element of an array is set.
func (r *reading) evaluates() bool {
	return r.computes || slices.ContainsFunc(r.commands, func(words []word) bool {
		return (words[0].text == "test" || words[0].text == "[") && slices.ContainsFunc(words, func(w word) bool { return w.text == "-v" })
	})
}

// moves says that names of a line may be of files in a folder that nobody knows before it runs.
func (r *reading) moves() bool {
	unknown := func(folder string) bool { return strings.Contains(folder, gap) || strings.ContainsAny(folder, "*?[") }
	return slices.ContainsFunc(r.folders, unknown) || slices.ContainsFunc(r.commands, func(words []word) bool {
		return slices.ContainsFunc(words, func(w word) bool {
			return strings.HasPrefix(w.text, "-C") || strings.HasPrefix(w.text, "--directory") || w.text == "-execdir" || w.text == "-okdir"
		})
	})
}

// places are variables by which names lead elsewhere.
var places = []string{"HOME=", "CDPATH=", "PWD="}

// named are the files that a word may name: it, or the value of an option.
func (r *reading) named(text string) (names []string) {
	values := []string{text}
	if _, value, ok := strings.Cut(text, "="); ok {
		values = append(values, value)
	}
	if strings.HasPrefix(text, "-") && len(text) > 2 {
		values = append(values, text[2:])
	}
	for _, value := range values {
		if value == "" || strings.Contains(value, gap) {
			continue
		}
		names = append(names, value)
		at := "."
		for _, folder := range r.folders {
			at = path.Join(at, folder)
			if !path.IsAbs(value) {
				names = append(names, path.Join(folder, value), path.Join(at, value))
			}
		}
	}
	return names
}
