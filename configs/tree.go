package configs

import (
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A kind is what a node of the tree is.
type kind int

const (
	table   kind = iota
	list         // values, or tables of [[…]]
	text         // a string
	number       // an integer, as written
	decimal      // a float, as written
	boolean      // "true" or "false"
	instant      // a date or time; no setting takes one
	word         // from the environment or a change at run time: the setting's type decides how it is read
)

// A node is one value of the settings file, with the place it was written.
type node struct {
	kind   kind
	src    source
	text   string           // of everything but table and list
	keys   []string         // of a table, as they were written
	fields map[string]*node // of a table
	items  []*node          // of a list
	// explicit: a table that had its own header, or an inline one, which nothing
	// may be added to; a list that is written as a value.
	explicit bool
}

func newTable(src source) *node {
	return &node{kind: table, src: src, fields: map[string]*node{}}
}

func (n *node) set(key string, child *node) {
	if n.fields[key] == nil {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = child
}

// A reader turns a file into a tree. go-toml's own decoder stops at the first
// fault and forgets where good values stood, so only its parser is used.
type reader struct {
	file  string
	lines []int // offset at which each line begins
	p     unstable.Parser
	problems
}

// read parses data. On a fault the tree holds what could be read; a fault of
// syntax ends it.
func read(file string, data []byte) (*node, []Fault) {
	r := &reader{file: file, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	root := newTable(source{file: file})
	r.p.Reset(data)
	current := root
	for r.p.NextExpression() {
		e := r.p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = r.header(root, e)
		case unstable.KeyValue:
			r.assign(current, e)
		}
	}
	if len(r.faults) > 0 && r.p.Error() == nil {
		return root, r.faults
	}
	// The decoder also knows the rules that the parser does not check.
	var discard map[string]any
	if err := toml.Unmarshal(data, &discard); err != nil {
		at := source{file: file}
		if de, ok := errors.AsType[*toml.DecodeError](err); ok {
			at.line, _ = de.Position()
		}
		r.fault(at, "", "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return root, r.faults
}

// at is where n stands; values made of several parts have no place of their own
// and take fallback.
func (r *reader) at(n *unstable.Node, fallback source) source {
	if n.Raw.Length == 0 {
		return fallback
	}
	line, _ := slices.BinarySearch(r.lines, int(n.Raw.Offset)+1)
	return source{file: r.file, line: line}
}

type part struct {
	name string
	src  source
}

func (r *reader) path(it unstable.Iterator) (parts []part) {
	for it.Next() {
		parts = append(parts, part{string(it.Node().Data), r.at(it.Node(), source{file: r.file})})
	}
	return parts
}

func names(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return strings.Join(all, ".")
}

// header finds or makes the table that [a.b] or [[a.b]] opens.
func (r *reader) header(root *node, e *unstable.Node) *node {
	parts := r.path(e.Key())
	n := r.descend(root, parts[:len(parts)-1])
	last := parts[len(parts)-1]
	if n == nil {
		return newTable(last.src)
	}
	old := n.fields[last.name]
	if e.Kind == unstable.ArrayTable {
		if old == nil {
			old = &node{kind: list, src: last.src}
			n.set(last.name, old)
		}
		t := newTable(last.src)
		if old.kind != list || old.explicit {
			r.fault(last.src, names(parts), "is written once as [[…]] and once otherwise (%s)", old.src)
		} else {
			old.items = append(old.items, t)
		}
		return t
	}
	switch {
	case old == nil:
		old = newTable(last.src)
		n.set(last.name, old)
	case old.kind != table || old.explicit:
		r.fault(last.src, names(parts), "is written twice; the first time at %s", old.src)
		old = newTable(last.src)
	}
	old.explicit, old.src = true, last.src
	return old
}

// descend walks to the table that parts name, making what is missing. It returns
// nil, with a fault, where something else stands in the way.
func (r *reader) descend(n *node, parts []part) *node {
	for i, p := range parts {
		next := n.fields[p.name]
		if next == nil {
			next = newTable(p.src)
			n.set(p.name, next)
		}
		if next.kind == list && !next.explicit && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.kind != table {
			r.fault(p.src, names(parts[:i+1]), "is a value at %s and cannot be a table too", next.src)
			return nil
		}
		n = next
	}
	return n
}

func (r *reader) assign(n *node, e *unstable.Node) {
	parts := r.path(e.Key())
	last := parts[len(parts)-1]
	value := r.value(e.Value(), last.src)
	n = r.descend(n, parts[:len(parts)-1])
	if n == nil {
		return
	}
	if old := n.fields[last.name]; old != nil {
		r.fault(last.src, names(parts), "is written twice; the first time at %s", old.src)
		return
	}
	n.set(last.name, value)
}

func (r *reader) value(e *unstable.Node, at source) *node {
	n := &node{src: r.at(e, at), text: string(e.Data)}
	switch e.Kind {
	case unstable.String:
		n.kind = text
	case unstable.Integer:
		n.kind = number
	case unstable.Float:
		n.kind = decimal
	case unstable.Bool:
		n.kind = boolean
	case unstable.Array:
		n.kind, n.explicit = list, true
		for it := e.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.items = append(n.items, r.value(it.Node(), n.src))
			}
		}
	case unstable.InlineTable:
		n = newTable(n.src)
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				r.assign(n, it.Node())
			}
		}
		n.explicit = true
	default:
		n.kind = instant
	}
	return n
}
