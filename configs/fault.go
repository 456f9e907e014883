package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Fault is one thing wrong with the settings.
type Fault struct {
	Source string `json:"source"` // "FILE:LINE", "run-time change", "environment NAME", "--data"; empty: a default
	Key    string `json:"key"`    // e.g. "router.workers" or "people[0].role"; empty where no key is meant
	Text   string `json:"text"`   // what is wrong and what to do
	at     source
}

// Error is the fault in one line.
func (f Fault) Error() string { return line(f.Source, f.Key, f.Text) }

// Faults is the error of Load: every fault there is, by file and line, then by
// environment variable.
type Faults []Fault

// Error is a line a fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// A Warning is a setting that is understood, and has no effect or opens something.
type Warning struct {
	Source string `json:"source"` // as in Fault
	Key    string `json:"key"`
	Text   string `json:"text"`
}

// String is the warning in one line.
func (w Warning) String() string { return line(w.Source, w.Key, w.Text) }

func line(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// A source is where a value came from; the zero source is the default.
type source struct {
	file string
	line int
	env  string // name of a variable
	flag string // name of a command-line option

	change bool // made at run time
}

// planted says that a value is no part of the file's text.
func (s source) planted() bool { return s.env != "" || s.flag != "" || s.change }

// String is the source as people read it; "" for the default.
func (s source) String() string {
	switch {
	case s.flag != "":
		return s.flag
	case s.env != "":
		return "environment " + s.env
	case s.change:
		return "run-time change"
	case s.file != "" && s.line > 0:
		return fmt.Sprintf("%s:%d", s.file, s.line)
	}
	return s.file
}

func (s source) compare(o source) int {
	return cmp.Or(cmp.Compare(s.flag, o.flag), cmp.Compare(s.env, o.env),
		cmp.Compare(s.file, o.file), cmp.Compare(s.line, o.line))
}

// unsaid are the warnings about keys that no fault is about.
func (b *binder) unsaid() []Warning {
	return slices.DeleteFunc(b.warns, func(w Warning) bool {
		return slices.ContainsFunc(b.faults, func(f Fault) bool { return f.Key == w.Key })
	})
}

// sorted orders faults and drops repeated ones; nil when there are none.
func sorted(faults []Fault) Faults {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(a.at.compare(b.at), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(faults)
}
