package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"switchboard/channels"
)

// variables are the environment by name; of two settings of one name the last
// counts, as for the C library.
type variables map[string]string

func newVariables(environ []string) variables {
	v := variables{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			v[name] = value
		}
	}
	return v
}

// Variable is one of an environment as os.Environ gives it; empty: it is not set.
func Variable(environ []string, name string) string { return newVariables(environ)[name] }

const prefix = "SWITCHBOARD_"

// layers are laid over the file's tree, so that one binder reads all.
type layers struct {
	*problems
	root *node
	env  variables
}

// overlay lays the environment's settings over the file's tree: SWITCHBOARD_SERVER__LISTEN becomes server.listen. A name
// with a single level counts only where it is a top-level key, because
// SWITCHBOARD_TOKEN and the like belong to others.
func (l *layers) overlay() {
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
			continue
		}
		path := strings.Split(strings.ToLower(name[len(prefix):]), "__")
		if len(path) == 1 && !topLevel(path[0]) {
			continue
		}
		l.plant(path, &node{kind: word, text: l.env[name], src: source{env: name}})
	}
}

// fromTokens has a channel of each kind whose tokens the environment has, where the settings name none of that kind: a
// container needs no more.
func (l *layers) fromTokens(kinds channels.Kinds) {
	tables := l.root.fields["channels"]
	for _, k := range kinds {
		kind, there := k.Name, len(k.Asks) > 0
		for _, a := range k.Asks {
			there = there && l.env[a.Variable] != ""
		}
		if tables != nil && tables.kind == table {
			for name, c := range tables.fields {
				of := c.fields["kind"]
				there = there && (of == nil || of.text != kind && name != kind)
			}
		}
		for _, a := range k.Asks {
			if src := (source{env: a.Variable}); there {
				l.plant([]string{"channels", kind, "kind"}, &node{kind: word, text: kind, src: src})
				l.plant([]string{"channels", kind, a.Key}, &node{kind: word, text: "env:" + a.Variable, src: src})
			}
		}
	}
}

var toVariable = strings.NewReplacer(".", "__", "-", "_")

// variable is the name of the variable that sets key.
func variable(key string) string {
	return prefix + strings.ToUpper(toVariable.Replace(key))
}

// changes lays what was changed at run time over the file's tree.
func (l *layers) changes(changes map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		value := &node{kind: word, text: changes[key], src: source{change: true}}
		if why := notChangeable(key); why != "" {
			l.fault(value.src, key, "%s", why)
			continue
		}
		parts := path(l.root, key)
		if len(parts) == 0 || slices.Contains(parts, "") {
			l.fault(value.src, key, "names no key; one dot stands between two levels")
			continue
		}
		l.plant(parts, value)
	}
}

// path is a key in its parts. Names that people chose may hold a dot.
func path(n *node, key string) []string {
	var parts []string
	for key != "" {
		name, rest, _ := strings.Cut(key, ".")
		if n != nil {
			for _, there := range n.keys {
				if after, ok := strings.CutPrefix(key, there); ok && len(there) > len(name) && (after == "" || after[0] == '.') {
					name, rest = there, strings.TrimPrefix(after, ".")
				}
			}
			n = n.fields[name]
		}
		parts, key = append(parts, name), rest
	}
	return parts
}

// plant puts leaf where path leads. Names that people chose (of providers,
// channels, …) match with - and _ alike.
func (l *layers) plant(path []string, leaf *node) {
	n := l.root
	for i, key := range path {
		if key == "" {
			l.fault(leaf.src, "", "names no key; two underscores stand between two levels")
			return
		}
		if at := slices.IndexFunc(n.keys, func(k string) bool { return plain(k) == plain(key) }); at >= 0 && n.fields[key] == nil {
			key = n.keys[at]
		}
		if i == len(path)-1 {
			n.set(key, leaf)
			return
		}
		next := n.fields[key]
		switch {
		case next == nil:
			next = newTable(leaf.src)
			n.set(key, next)
		case next.kind == list && !next.explicit:
			l.fault(leaf.src, strings.Join(path[:i+1], "."), "lists of tables can be set only in the file")
			return
		case next.kind != table:
			l.fault(leaf.src, strings.Join(path[:i+1], "."), "is a value at %s and cannot be a table too", next.src)
			return
		}
		n = next
	}
}

func plain(key string) string { return strings.ReplaceAll(strings.ToLower(key), "-", "_") }

// topLevel reports whether key is a value at the top of the file.
func topLevel(key string) bool {
	for f := range fieldsOf(reflect.TypeFor[Settings]()) {
		if f.key == key {
			k := f.typ.Kind()
			return k != reflect.Struct && k != reflect.Map && k != reflect.Slice
		}
	}
	return false
}
