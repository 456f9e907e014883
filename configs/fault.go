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

// A UsageError is a fault of the command line or the settings: nothing starts with it.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage makes an error a UsageError.
func Usage(err error) error { return UsageError{err} }

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

// problems are what is wrong with settings, and where each of them came from.
type problems struct {
	faults  []Fault
	warns   []Warning
	sources map[string]source
	notes   map[string]string // what Show adds to a key's source
}

func (p *problems) fault(at source, key, format string, args ...any) {
	p.faults = append(p.faults, Fault{Source: at.String(), Key: key, Text: fmt.Sprintf(format, args...), at: at})
}

func (p *problems) warn(at source, key, text string) {
	p.warns = append(p.warns, Warning{Source: at.String(), Key: key, Text: text})
}

func (p *problems) mismatch(n *node, key, wanted string) {
	// Text is repeated only here, where none was wanted: it is no credential.
	is := map[kind]string{
		table: "a table", list: "a list", text: fmt.Sprintf("%.40q", n.text), number: "a number", decimal: "a number with a point",
		boolean: "true or false", instant: "a date or time", word: fmt.Sprintf("%.40q", n.text),
	}[n.kind]
	p.fault(n.src, key, "needs %s, not %s", wanted, is)
}

// source is where key was written, or the table or list around it.
func (p *problems) source(key string) source {
	for key != "" {
		if src, ok := p.sources[key]; ok {
			return src
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return source{}
}

// says records a fault of key where wrong.
func (p *problems) says(wrong bool, key, format string, args ...any) {
	if wrong {
		p.fault(p.source(key), key, format, args...)
	}
}

// wrong records a fault of key; empty: there is none.
func (p *problems) wrong(key, fault string) { p.says(fault != "", key, "%s", fault) }

// check takes what a Validate method returned: joined errors, each beginning
// with a key below key and a colon. It finds out where that key was written.
func (p *problems) check(key string, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.check(key, e)
		}
		return
	}
	rest, text, ok := strings.Cut(err.Error(), ": ")
	if !ok || strings.ContainsAny(rest, " \"") {
		p.fault(p.source(key), key, "%v", err)
		return
	}
	full := dot(key, rest)
	p.fault(p.source(full), full, "%s", text)
}

// unsaid are the warnings about keys that no fault is about.
func (p *problems) unsaid() []Warning {
	return slices.DeleteFunc(p.warns, func(w Warning) bool {
		return slices.ContainsFunc(p.faults, func(f Fault) bool { return f.Key == w.Key })
	})
}

// sorted orders faults and drops repeated ones; nil when there are none.
func sorted(faults []Fault) Faults {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.at.flag, b.at.flag), cmp.Compare(a.at.env, b.at.env), cmp.Compare(a.at.file, b.at.file), cmp.Compare(a.at.line, b.at.line),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(faults)
}
