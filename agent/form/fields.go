package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"switchboard/internal/words"
)

// Fields reads one JSON object of an answer field by field and collects what is wrong, a sentence a fault.
type Fields struct {
	Lenient bool     // fields may be absent or unknown, and args an object
	May     []string // keys that may be absent
	Where   string   // "task 2, "
	Faults  []string
	values  map[string]json.RawMessage
}

// Fault says what is wrong with a field.
func (f *Fields) Fault(field, format string, args ...any) {
	f.Faults = append(f.Faults, f.Where+"field "+field+": "+fmt.Sprintf(format, args...))
}

// Open decodes the object and checks that it has these keys and no others. False: there is nothing to read.
func (f *Fields) Open(text string, keys ...string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		f.Faults = append(f.Faults, f.Where+"the answer is empty; write one JSON object of the schema")
		return false
	}
	if text[0] != '{' || !json.Valid([]byte(text)) {
		f.Faults = append(f.Faults, f.Where+"the answer is not one complete JSON object; write nothing but the JSON of the schema, to its end")
		return false
	}
	f.values = map[string]json.RawMessage{}
	again := ""
	in := json.NewDecoder(strings.NewReader(text))
	_, _ = in.Token() // nothing fails: the text is valid
	for in.More() {
		var value json.RawMessage
		key, _ := in.Token()
		_ = in.Decode(&value)
		name, _ := key.(string)
		if former, there := f.values[name]; there && !bytes.Equal(former, value) {
			again = name
		}
		f.values[name] = value
	}
	if again != "" {
		f.Fault(words.OneLine(again, 40), "stands there twice, and nobody can say which is meant; write it once")
		return false
	}
	if f.Lenient {
		return true
	}
	for _, key := range keys {
		if _, ok := f.values[key]; !ok && !slices.Contains(f.May, key) {
			f.Fault(key, "missing; every field of the schema must be there, null when unused")
		}
	}
	for key := range f.values {
		if !slices.Contains(keys, key) {
			f.Fault(words.OneLine(key, 40), "unknown; the schema has no such field")
		}
	}
	slices.Sort(f.Faults) // map order is random
	return true
}

// Text is a field that must hold words.
func (f *Fields) Text(name string) string {
	value := f.Optional(name)
	if value == nil {
		if _, there := f.values[name]; there || f.Lenient {
			f.Fault(name, "must be text")
		}
		return ""
	}
	return *value
}

// Optional is a text, or nil for null, blank and absent.
func (f *Fields) Optional(name string) *string {
	raw := f.values[name]
	if isNull(raw) {
		return nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		if f.Lenient && name == "args" {
			value = string(raw)
		} else {
			f.Fault(name, "must be text or null")
			return nil
		}
	}
	value = Tidy(value)
	if strings.TrimSpace(value) == "" {
		return nil
	}
	return &value
}

// Texts is a list of texts; nil for null, empty and absent.
func (f *Fields) Texts(name, what string) []string {
	raw := f.values[name]
	if f.Empty(name) {
		return nil
	}
	var values []string
	if err := json.Unmarshal(raw, &values); err != nil {
		f.Fault(name, "must be a list of texts or null")
		return nil
	}
	for i, value := range values {
		values[i] = strings.TrimSpace(Tidy(value))
		if values[i] == "" {
			f.Fault(name, "%s %d is blank", what, i+1)
		}
	}
	return values
}

// List is a list that must be there, of what.
func (f *Fields) List(name, what string) (list []json.RawMessage) {
	if raw, there := f.values[name]; there && (isNull(raw) || json.Unmarshal(raw, &list) != nil) {
		f.Fault(name, "must be a list of %s", what)
	}
	return list
}

// Numbers is a list of whole numbers that must be there.
func (f *Fields) Numbers(name string) (list []int64) {
	if raw, there := f.values[name]; there && (isNull(raw) || json.Unmarshal(raw, &list) != nil) {
		f.Fault(name, "must be a list of numbers")
	}
	return list
}

// Number is a whole number; 0 for null and absent.
func (f *Fields) Number(name string) (n int64) {
	if raw := f.values[name]; !isNull(raw) && json.Unmarshal(raw, &n) != nil {
		f.Fault(name, "must be a whole number")
	}
	return n
}

// Empty: the field is absent, null or an empty list.
func (f *Fields) Empty(name string) bool { return Empty(f.values[name]) }

// Empty: the value is absent, null or an empty list.
func Empty(raw json.RawMessage) bool {
	var list []json.RawMessage
	return isNull(raw) || json.Unmarshal(raw, &list) == nil && len(list) == 0
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}
