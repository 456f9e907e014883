package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
)

// A binder fills Settings from a tree and gathers what is wrong. A value that
// cannot be read leaves the default in place.
type binder struct {
	mask    *secrets.Masker
	secrets func(name string) (secrets.Secret, error)
	env     variables
	dir     string // of the file: what "file:" paths begin at
	kinds   channels.Kinds
	faults  []Fault
	warns   []Warning
	sources map[string]source
	notes   map[string]string
	refs    map[string]string
	fresh   map[string]bool // keys that are being changed at run time
}

func (b *binder) fault(at source, key, format string, args ...any) {
	b.faults = append(b.faults, Fault{Source: at.String(), Key: key, Text: fmt.Sprintf(format, args...), at: at})
}

func (b *binder) warn(at source, key, text string) {
	b.warns = append(b.warns, Warning{Source: at.String(), Key: key, Text: text})
}

// bind reads n into v, the setting named key.
func (b *binder) bind(v reflect.Value, n *node, key string, size bool) {
	b.sources[key] = n.src
	t := v.Type()
	switch {
	case t == reflect.TypeFor[Channel]():
		b.channel(v, n, key)
	case t == reflect.TypeFor[channels.Credential]():
		if s, ok := b.credentialText(n, key); ok {
			v.Set(reflect.ValueOf(b.credential(s, n, key)))
		}
	case t.Kind() == reflect.Struct:
		b.bindStruct(n, key, v)
	case t.Kind() == reflect.Map:
		b.bindMap(v, n, key)
	case t.Kind() == reflect.Slice:
		b.bindList(v, n, key, size)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		before := len(b.faults)
		if b.bind(p.Elem(), n, key, size); len(b.faults) == before {
			v.Set(p)
		}
	case isSecret(t):
		if s, ok := b.credentialText(n, key); ok {
			v.SetString(b.resolve(s, n, key))
		}
	case t == reflect.TypeFor[time.Duration]():
		b.bindDuration(v, n, key)
	case size:
		b.bindSize(v, n, key)
	default:
		b.bindScalar(v, n, key)
	}
}

// bindStruct reads a table into the structs that share it; a key that none of
// them has is a fault.
func (b *binder) bindStruct(n *node, key string, structs ...reflect.Value) {
	if n.kind != table {
		b.mismatch(n, key, "a table")
		return
	}
	var known []string
	for _, v := range structs {
		for f := range fieldsOf(v.Type()) {
			known = append(known, f.key)
			if child := n.fields[f.key]; child != nil {
				b.bind(v.FieldByIndex(f.index), child, dot(key, f.key), f.size)
			}
		}
	}
	for _, name := range n.keys {
		if !slices.Contains(known, name) {
			b.unknown(n.fields[name], dot(key, name), name, known)
		}
	}
}

func (b *binder) unknown(n *node, key, name string, known []string) {
	for n.kind == table && n.src.planted() && len(n.keys) > 0 {
		n = n.fields[n.keys[0]]
	}
	if best := words.Nearest(name, known); best != "" {
		b.fault(n.src, key, "unknown key; did you mean %q?", best)
		return
	}
	b.fault(n.src, key, "unknown key")
}

// bindMap reads a table with free names. An entry that is there by default is
// changed, not replaced.
func (b *binder) bindMap(v reflect.Value, n *node, key string) {
	if n.kind != table {
		b.mismatch(n, key, "a table")
		return
	}
	filled := reflect.MakeMap(v.Type())
	for _, name := range v.MapKeys() {
		filled.SetMapIndex(name, v.MapIndex(name))
	}
	for _, name := range n.keys {
		entry := fresh(v.Type().Elem())
		if old := v.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			entry.Set(old)
		}
		b.bind(entry, n.fields[name], dot(key, name), false)
		if ch, ok := entry.Interface().(Channel); ok && ch.Kind == "" {
			continue // not of this build, or hopeless; said already
		}
		filled.SetMapIndex(reflect.ValueOf(name), entry)
	}
	v.Set(filled)
}

func (b *binder) bindList(v reflect.Value, n *node, key string, size bool) {
	t := v.Type()
	tables := t.Elem().Kind() == reflect.Struct
	switch {
	case n.src.planted() && tables:
		for n.kind == table && len(n.keys) > 0 {
			n = n.fields[n.keys[0]]
		}
		b.fault(n.src, key, "lists of tables can be set only in the file")
		return
	case n.kind == word:
		n = split(n)
	}
	if n.kind != list {
		b.mismatch(n, key, want(tables, "a list of tables [["+key+"]]", "a list in brackets"))
		return
	}
	filled := reflect.MakeSlice(t, 0, len(n.items))
	for i, item := range n.items {
		entry := fresh(t.Elem())
		b.bind(entry, item, at(key, i), size)
		filled = reflect.Append(filled, entry)
	}
	v.Set(filled)
}

// split reads a list from the environment or a change at run time: as TOML when it begins with a
// bracket, else with commas between.
func split(n *node) *node {
	trimmed := strings.TrimSpace(n.text)
	out := &node{kind: list, src: n.src, explicit: true}
	if strings.HasPrefix(trimmed, "[") {
		root, faults := read("", []byte("list = "+trimmed))
		if value := root.fields["list"]; len(faults) == 0 && len(root.keys) == 1 && value.kind == list {
			moveTo(value, n.src)
			return value
		}
		return n
	}
	for item := range strings.SplitSeq(trimmed, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out.items = append(out.items, &node{kind: word, text: item, src: n.src})
		}
	}
	return out
}

func moveTo(n *node, src source) {
	n.src = src
	for _, item := range n.items {
		moveTo(item, src)
	}
	for _, child := range n.fields {
		moveTo(child, src)
	}
}

func (b *binder) mismatch(n *node, key, wanted string) {
	// Text is repeated only here, where none was wanted: it is no credential.
	is := map[kind]string{
		table: "a table", list: "a list", text: fmt.Sprintf("%.40q", n.text), number: "a number", decimal: "a number with a point",
		boolean: "true or false", instant: "a date or time", word: fmt.Sprintf("%.40q", n.text),
	}[n.kind]
	b.fault(n.src, key, "needs %s, not %s", wanted, is)
}

func want(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}
