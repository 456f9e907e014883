package configs

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strconv"

	"switchboard/channels"
)

// A field is one key of a table, as the struct that takes it declares it.
type field struct {
	key   string
	size  bool // bytes, written as "25MB"
	typ   reflect.Type
	index []int
}

// fieldsOf yields the keys of a struct; those of embedded structs are its own.
func fieldsOf(t reflect.Type) iter.Seq[field] {
	return func(yield func(field) bool) {
		for _, f := range reflect.VisibleFields(t) {
			key := f.Tag.Get("toml")
			if !f.IsExported() || f.Anonymous || key == "" || key == "-" {
				continue
			}
			if !yield(field{key, f.Tag.Get("unit") == "size", f.Type, f.Index}) {
				return
			}
		}
	}
}

// A revealer is a type that cannot be printed: every Secret.
type revealer interface{ Reveal() string }

func isSecret(t reflect.Type) bool {
	return t.Kind() == reflect.String && t.Implements(reflect.TypeFor[revealer]())
}

// A leaf is one setting.
type leaf struct {
	key   string
	value reflect.Value
	size  bool
}

// leaves yields every setting below v in a fixed order: structs as declared, maps
// by key.
func leaves(v reflect.Value, key string, size bool) iter.Seq[leaf] {
	return func(yield func(leaf) bool) { walk(v, key, size, yield) }
}

func walk(v reflect.Value, key string, size bool, yield func(leaf) bool) bool {
	switch t := v.Type(); {
	case t == reflect.TypeFor[Channel]():
		ch := v.Interface().(Channel)
		if !walk(reflect.ValueOf(ch.ChannelConfig), key, false, yield) {
			return false
		}
		return ch.Adapter == nil || walk(reflect.ValueOf(ch.Adapter).Elem(), key, false, yield)
	case t == reflect.TypeFor[channels.Credential]():
		return yield(leaf{key, v, size})
	case t.Kind() == reflect.Struct:
		for f := range fieldsOf(t) {
			if !walk(v.FieldByIndex(f.index), dot(key, f.key), f.size, yield) {
				return false
			}
		}
		return true
	case t.Kind() == reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, name := range names {
			if !walk(v.MapIndex(name), dot(key, name.String()), size, yield) {
				return false
			}
		}
		return true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			if !walk(v.Index(i), at(key, i), size, yield) {
				return false
			}
		}
		return true
	}
	return yield(leaf{key, v, size})
}

func dot(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func at(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }
