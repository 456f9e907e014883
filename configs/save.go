package configs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Saved is what Save did.
type Saved struct {
	// Keys stand in the file now.
	Keys []string
	// Paste is TOML for what could not be written as an edit of the text; empty: nothing.
	Paste string
}

// Save writes what was changed at run time into the file, as it is now, and leaves the rest of its text as
// it is. A key whose table is not in the file is for a person to paste. Nothing
// is written unless the file then says what counts now. The changes still lie above the file: who saves takes back those
// of Saved.Keys.
func (s *Settings) Save() (Saved, error) {
	var done Saved
	if s.File == "" {
		return done, errors.New("there is no settings file to save in; write one with: switchboard init")
	}
	file, err := filepath.EvalSymlinks(s.File)
	if err != nil {
		return done, err
	}
	was, err := readFile(file)
	if err != nil {
		return done, err
	}
	now, _, err := s.Again(s.opts.Changes)
	if err != nil {
		return done, fmt.Errorf("the file has faults, fix them first: %w", err)
	}
	root, _ := read(file, was)
	values, left := map[string]string{}, now.Changes() // as the file has them
	for l := range leaves(reflect.ValueOf(now).Elem(), "", false) {
		values[l.key] = format(l)
		if now.refs[l.key] != "" {
			values[l.key] = quote(now.opts.Changes[l.key])
		}
	}
	text, rest := was, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if !now.sources[key].change {
			continue // what counts is the environment's
		}
		edited, ok := edit(text, path(root, key), values[key])
		if !ok {
			rest[key] = values[key]
			continue
		}
		text = edited
		done.Keys = append(done.Keys, key)
		delete(left, key)
	}
	done.Paste = tables(rest, root)
	if len(done.Keys) == 0 {
		return done, nil
	}
	opts := s.options(left)
	next, _, err := load(opts, newVariables(opts.Env), s.File, text)
	if err != nil {
		return Saved{}, fmt.Errorf("the file would have faults, so it stays as it is: %w", err)
	}
	if diff := Diff(now, next); len(diff) > 0 {
		return Saved{}, fmt.Errorf("the file would say something else of %s, so it stays as it is", diff[0].Key)
	}
	return done, overwrite(file, was, text)
}

// edit writes a value into a file's text: in place of the former one, or below the last line of its
// table. It says no where the table is not there, or stands in one line.
func edit(text []byte, key []string, value string) ([]byte, bool) {
	var p unstable.Parser
	p.Reset(text)
	var table []string
	inList := false // of tables
	above, prefix := -1, ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		names, last := keyOf(e)
		if e.Kind != unstable.KeyValue {
			table, inList = names, e.Kind == unstable.ArrayTable
			if !inList && slices.Equal(table, key[:len(key)-1]) {
				above, prefix = int(last.Offset), ""
			}
			continue
		}
		full, end := slices.Concat(table, names), int(e.Raw.Offset+e.Raw.Length)
		switch {
		case inList:
		case slices.Equal(full, key):
			begin := int(last.Offset + last.Length)
			begin += bytes.IndexByte(text[begin:], '=') + 1
			return slices.Concat(text[:begin], []byte(" "+value), text[end:]), true
		case slices.Equal(full[:len(full)-1], key[:len(key)-1]):
			line := bytes.LastIndexByte(text[:last.Offset], '\n') + 1
			above, prefix = end, string(text[line:last.Offset]) // its indent, and the table before a dotted name
		}
	}
	if above < 0 {
		return nil, false
	}
	line := prefix + name(key[len(key)-1]) + " = " + value + newline(text)
	if i := bytes.IndexByte(text[above:], '\n'); i >= 0 {
		above += i + 1
	} else {
		above, line = len(text), newline(text)+line
	}
	return slices.Concat(text[:above], []byte(line), text[above:]), true
}

// keyOf are the names of an expression's key, and where the last of them stands.
func keyOf(e *unstable.Node) (names []string, last unstable.Range) {
	for it := e.Key(); it.Next(); {
		names, last = append(names, string(it.Node().Data)), it.Node().Raw
	}
	return names, last
}

func newline(text []byte) string {
	return want(bytes.Contains(text, []byte("\r\n")), "\r\n", "\n")
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// name is a key as TOML writes it.
func name(key string) string {
	return want(bareKey.MatchString(key), key, quote(key))
}

// tables is TOML of values by key, to be pasted.
func tables(values map[string]string, root *node) string {
	var b strings.Builder
	former := ""
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var names []string
		for _, part := range path(root, key) {
			names = append(names, name(part))
		}
		last := len(names) - 1
		if table := strings.Join(names[:last], "."); table != former {
			fmt.Fprintf(&b, "%s[%s]\n", want(former == "", "", "\n"), table)
			former = table
		}
		fmt.Fprintf(&b, "%s = %s\n", names[last], values[key])
	}
	return b.String()
}

// overwrite replaces a file whose text was was, as long as it is so still. It keeps the file's mode.
func overwrite(file string, was, text []byte) (err error) {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".switchboard-*.toml")
	if err != nil {
		return fmt.Errorf("write beside the settings file: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	if now, err := readFile(file); err != nil || !bytes.Equal(now, was) {
		return cmp.Or(err, errors.New("the file was changed meanwhile; try again"))
	}
	return os.Rename(f.Name(), file)
}
