package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Sample is the complete, commented settings file. As it is it loads to exactly
// Defaults; lines that begin with "#" and no space are examples.
//
//go:embed switchboard.toml
var Sample string

// ErrExists is returned by Init when there is a settings file already.
var ErrExists = errors.New("there is a settings file already")

// Answers are what `init` asks for; what is empty stays as in Sample.
type Answers struct {
	Existing []byte // text of a settings file that is added to; nil: there is none, Sample is
	TimeZone string // IANA name
	DataDir  string // as data_dir
	// Provider is the server to plan with; its Name empty: none. Its APIKey is the key
	// itself, "env:NAME" or "file:PATH".
	Provider AnsweredProvider
	// Model is the provider's own name for the model to plan with.
	Model string
	// Channels are tables [channels.KIND].
	Channels []AnsweredChannel
}

// An AnsweredProvider is a table [llm.providers.NAME].
type AnsweredProvider struct{ Name, BaseURL, APIKey string }

// An AnsweredChannel is a table [channels.KIND] with those keys; Sample has an example of it.
type AnsweredChannel struct {
	Kind string
	Keys map[string]string
}

// Text is Sample, or what there is, with the answers filled in.
func (a Answers) Text() string {
	text := Sample
	if a.Existing != nil {
		text = string(a.Existing)
	}
	if a.TimeZone != "" {
		text = set(text, quote(a.TimeZone), "scheduler", "timezone")
	}
	if a.DataDir != "" {
		text = set(text, quote(a.DataDir), "data_dir")
	}
	for _, ch := range a.Channels {
		text = ch.in(text)
	}
	p := a.Provider
	if p.Name == "" {
		return text
	}
	if own := []string{"llm", "providers", p.Name}; p.Name != openRouter || !says(text, own...) {
		text = set(headed(text, "\n# An alias, and what is known", own), quote(p.BaseURL), append(own, "base_url")...)
	}
	if p.APIKey != "" {
		text = set(text, quote(p.APIKey), "llm", "providers", p.Name, "api_key")
	}
	planner := p.Name + "/" + a.Model
	return set(text, quote(planner), "agent", "planner")
}

// in writes the table of the channel into text; where its kind has an example there, in place of that.
func (c AnsweredChannel) in(text string) string {
	own, kind := []string{"channels", c.Kind}, "\n#kind = "+quote(c.Kind)+"\n"
	if at := strings.Index(text, kind); at >= 0 && !says(text, own...) {
		begin := strings.LastIndex(text[:at], "\n#[channels.")
		text = text[:begin] + "\n[channels." + c.Kind + "]" + text[at:]
	}
	text = set(text, quote(c.Kind), append(own, "kind")...)
	for _, key := range slices.Sorted(maps.Keys(c.Keys)) {
		text = set(text, quote(c.Keys[key]), append(own, key)...)
	}
	return text
}

// says that a text has a key, or a table.
func says(text string, key ...string) bool {
	n, _ := read("", []byte(text))
	for _, part := range key {
		if n == nil {
			return false
		}
		n = n.fields[part]
	}
	return n != nil
}

// headed puts a table's head before the place that begins with mark, if neither is missing.
func headed(text, mark string, key []string) string {
	if says(text, key...) {
		return text
	}
	return strings.Replace(text, mark, "\n["+strings.Join(key, ".")+"]\n"+mark, 1)
}

// set writes a key's value into text: in place of the former one or of an example of it, else below the
// last line of its table, or in a table at the end.
func set(text, value string, key ...string) string {
	last := len(key) - 1
	head := "\n[" + strings.Join(key[:last], ".") + "]\n"
	if at := strings.Index(text, head); at >= 0 && !says(text, key...) {
		block := at + len(head)
		end := len(text)
		if n := regexp.MustCompile(`\n(\n|#?\[)`).FindStringIndex(text[block-1:]); n != nil {
			end = block + n[0]
		}
		example := regexp.MustCompile(`(?m)^#` + regexp.QuoteMeta(key[last]) + ` = .*$`)
		if n := example.FindStringIndex(text[block:end]); n != nil {
			return text[:block+n[0]] + key[last] + " = " + value + text[block+n[1]:]
		}
	}
	if edited, ok := edit([]byte(text), key, value); ok {
		return string(edited)
	}
	end := newline([]byte(text))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += end
	}
	return text + strings.ReplaceAll(head, "\n", end) + name(key[last]) + " = " + value + end
}

// Init writes the text of the answers to path, readable by its owner alone, making the
// folder where it is missing. A file that exists is left alone, ErrExists, unless its text is
// what the answers are added to.
func Init(path string, a Answers) error {
	if a.Existing != nil {
		file, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		return overwrite(file, a.Existing, []byte(a.Text()))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for settings: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w; edit it, or move it away first", path, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	_, err = f.WriteString(a.Text())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	return nil
}
