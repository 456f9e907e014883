package configs

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router"
)

// A binder fills Settings from a tree. A value that cannot be read leaves the default in place.
type binder struct {
	*problems
	credentials *credentials
	kinds       channels.Kinds
	tables      []channelTable
}

// A channelTable is a table [channels.NAME] as it was read, also of a kind that this build has not.
type channelTable struct {
	Channel
	key   string
	src   source
	built bool
}

// bind reads n into v, the setting named key.
func (b *binder) bind(v reflect.Value, n *node, key string, size bool) {
	b.sources[key] = n.src
	t := v.Type()
	switch {
	case t == reflect.TypeFor[Channel]():
		b.channel(v, n, key)
	case t == reflect.TypeFor[channels.Credential]():
		if s, ok := b.credentials.written(n, key); ok {
			v.Set(reflect.ValueOf(b.credentials.credential(s, n, key)))
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
		if s, ok := b.credentials.written(n, key); ok {
			v.SetString(b.credentials.resolve(s, n, key))
		}
	case t == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(strings.TrimSpace(n.text))
		if b.fits(n, key, `a duration such as "30s", "5m" or "2h"`, err == nil, text, word) {
			v.SetInt(int64(d))
		}
	case size:
		bytes, ok := parseSize(digits(n))
		if b.fits(n, key, `a size such as "25MB", "64KB" or a number of bytes`, ok, text, word, number) {
			v.SetInt(bytes)
		}
	default:
		b.bindScalar(v, n, key)
	}
}

// bindStruct reads a table into the structs that share it; a key that none of
// them has is a fault.
func (b *binder) bindStruct(n *node, key string, structs ...reflect.Value) {
	if !b.fits(n, key, "a table", true, table) {
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
	if !b.fits(n, key, "a table", true, table) {
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
	if !b.fits(n, key, want(tables, "a list of tables [["+key+"]]", "a list in brackets"), true, list) {
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

func want(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// channel reads one table [channels.NAME]: first its kind, then all of it into
// the router's part and the adapter's. v stays zero where nothing can be made of
// it.
func (b *binder) channel(v reflect.Value, n *node, key string) {
	if !b.fits(n, key, "a table", true, table) {
		return
	}
	name := strings.TrimPrefix(key, "channels.")
	if fault := badName(name); fault != "" {
		b.fault(n.src, key, "%s", fault)
	}
	kindNode := n.fields["kind"]
	if kindNode == nil {
		b.fault(n.src, dot(key, "kind"), "is missing; write one of %s", b.kindList())
		return
	}
	word, ok := b.text(kindNode, dot(key, "kind"))
	if !ok {
		return
	}
	kind, built := b.kinds.Find(word)
	if !built && !slices.Contains(known, word) {
		b.fault(kindNode.src, dot(key, "kind"), "%q is not one of %s", word, b.kindList())
		return
	}
	if _, isKind := b.kinds.Find(name); name != word && (isKind || slices.Contains(known, name)) {
		b.fault(n.src, key, "the name %q is that of another kind; identities would be ambiguous", name)
	}
	ch := Channel{ChannelConfig: router.DefaultChannelConfig()}
	parts := []reflect.Value{reflect.ValueOf(&ch.ChannelConfig).Elem()}
	if kind.Config != nil {
		ch.Adapter = kind.Config()
		parts = append(parts, reflect.ValueOf(ch.Adapter).Elem())
	}
	b.bindStruct(n, key, parts...)
	for name, v := range credentialsOf(ch.Adapter) {
		full := dot(key, name)
		if _, written := b.sources[full]; !written { // it says, when it is read, how to write it
			v.Set(reflect.ValueOf(b.credentials.credential("", nil, full)))
		}
	}
	b.tables = append(b.tables, channelTable{ch, key, n.src, built})
	if built {
		v.Set(reflect.ValueOf(ch))
	}
}

// kindList names the kinds a table may have: those of this build, and apart those
// that are known and not in it.
func (b *binder) kindList() string {
	var built []string
	for _, k := range b.kinds {
		built = append(built, k.Name)
	}
	slices.Sort(built)
	others := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(built, name) })
	text := strings.Join(built, ", ")
	if len(others) > 0 {
		text += " (known, not in this build: " + strings.Join(others, ", ") + ")"
	}
	return strings.TrimSpace(text)
}

// known are kinds that identities may name and later builds have; a table of one is judged as far as it is
// known, and has no effect.
var known = []string{"api", "console", "web"}

// fits says whether a value is of one of these kinds and could be read; where not, it is a fault.
func (p *problems) fits(n *node, key, wanted string, read bool, kinds ...kind) bool {
	if read && slices.Contains(kinds, n.kind) {
		return true
	}
	p.mismatch(n, key, wanted)
	return false
}

func (p *problems) text(n *node, key string) (string, bool) {
	return n.text, p.fits(n, key, "text in quotes", true, text, word)
}

func (b *binder) bindScalar(v reflect.Value, n *node, key string) {
	switch v.Kind() {
	case reflect.String:
		if s, ok := b.text(n, key); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		yes := strings.EqualFold(n.text, "true")
		if b.fits(n, key, "true or false", yes || strings.EqualFold(n.text, "false"), boolean, word) {
			v.SetBool(yes)
		}
	case reflect.Int, reflect.Int64:
		base := 10
		if n.kind == number {
			base = 0 // as written: 0x, 0o and 0b are TOML
		}
		i, err := strconv.ParseInt(digits(n), base, 64)
		switch {
		case !b.fits(n, key, "a whole number", err == nil || errors.Is(err, strconv.ErrRange), number, word):
		case err != nil || v.OverflowInt(i):
			b.fault(n.src, key, "%s is too large", n.text)
		default:
			v.SetInt(i)
		}
	case reflect.Float64:
		f, err := strconv.ParseFloat(digits(n), 64)
		if b.fits(n, key, "a number", err == nil && !math.IsNaN(f) && !math.IsInf(f, 0), number, decimal, word) {
			v.SetFloat(f)
		}
	default:
		b.fault(n.src, key, "cannot be set (%s)", v.Type())
	}
}

// digits is a number without the underscores TOML allows in it.
func digits(n *node) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(n.text), "+"), "_", "")
}

var units = []struct {
	name  string
	bytes int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}, {"", 1}}

// parseSize reads bytes; a KB is 1024 of them.
func parseSize(s string) (int64, bool) {
	s = strings.ToUpper(strings.TrimSpace(s))
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return n * u.bytes, err == nil && n >= 0 && n <= math.MaxInt64/u.bytes
		}
	}
	return 0, false
}
