package configs

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"switchboard/internal/secrets/vault"
	"switchboard/internal/words"
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

const prefix = "SWITCHBOARD_"

// overlay lays the environment's settings over the file's tree, so that one
// binder reads both: SWITCHBOARD_SERVER__LISTEN becomes server.listen. A name
// with a single level counts only where it is a top-level key, because
// SWITCHBOARD_TOKEN and the like belong to others.
func (b *binder) overlay(root *node) {
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range b.env {
			if !yield(name) {
				return
			}
		}
	}) {
		if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
			continue
		}
		path := strings.Split(strings.ToLower(name[len(prefix):]), "__")
		if len(path) == 1 && !topLevel(path[0]) {
			continue
		}
		b.plant(root, path, &node{kind: word, text: b.env[name], src: source{env: name}})
	}
}

// fromTokens has a channel of each kind whose tokens the environment has, where the settings name none of that kind: a
// container needs no more.
func (b *binder) fromTokens(root *node) {
	channels := root.fields["channels"]
	for _, k := range b.kinds {
		kind, there := k.Name, len(k.Asks) > 0
		for _, a := range k.Asks {
			there = there && b.env[a.Variable] != ""
		}
		if channels != nil && channels.kind == table {
			for name, c := range channels.fields {
				of := c.fields["kind"]
				there = there && (of == nil || of.text != kind && name != kind)
			}
		}
		for _, a := range k.Asks {
			if src := (source{env: a.Variable}); there {
				b.plant(root, []string{"channels", kind, "kind"}, &node{kind: word, text: kind, src: src})
				b.plant(root, []string{"channels", kind, a.Key}, &node{kind: word, text: "env:" + a.Variable, src: src})
			}
		}
	}
}

// strayVariables warns of variables that look like settings and are none: one underscore
// was written for two, say. What a credential names is somebody's own.
func (b *binder) strayVariables(s *Settings) {
	named := map[string]bool{"SWITCHBOARD_CONFIG": true, "SWITCHBOARD_TOKEN": true, vault.Variable: true}
	for _, ref := range b.refs {
		named[strings.TrimPrefix(ref, "env:")] = true
	}
	var names []string
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		names = append(names, variable(l.key))
	}
	for _, name := range slices.Sorted(maps.Keys(b.env)) {
		if upper := strings.ToUpper(name); !strings.HasPrefix(upper, prefix) || named[name] || strings.Contains(name[len(prefix):], "__") || topLevel(strings.ToLower(name[len(prefix):])) {
			continue
		}
		text := "there is no such setting, so it does nothing"
		if meant := words.Nearest(strings.ToUpper(name), names); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		b.warns = append(b.warns, Warning{Source: source{env: name}.String(), Text: text})
	}
}

var toVariable = strings.NewReplacer(".", "__", "-", "_")

// variable is the name of the variable that sets key.
func variable(key string) string {
	return prefix + strings.ToUpper(toVariable.Replace(key))
}

// plant puts leaf where path leads. Names that people chose (of providers,
// channels, …) match with - and _ alike.
func (b *binder) plant(n *node, path []string, leaf *node) {
	for i, key := range path {
		if key == "" {
			b.fault(leaf.src, "", "names no key; two underscores stand between two levels")
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
			b.fault(leaf.src, strings.Join(path[:i+1], "."), "lists of tables can be set only in the file")
			return
		case next.kind != table:
			b.fault(leaf.src, strings.Join(path[:i+1], "."), "is a value at %s and cannot be a table too", next.src)
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
