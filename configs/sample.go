package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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
	TimeZone string // IANA name
	DataDir  string // as data_dir
	// Provider is the server to plan with; its Name empty: none. Its APIKey is the key
	// itself, "env:NAME" or "file:PATH".
	Provider AnsweredProvider
	// Model is the provider's own name for the model to plan with; with ContextTokens it
	// gets an alias that says so.
	Model         string
	ContextTokens int
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

// answeredAlias is the alias of a model whose context is known.
const answeredAlias = "mine"

// Text is Sample with the answers filled in.
func (a Answers) Text() string {
	text := Sample
	if a.TimeZone != "" {
		text = replace(text, `timezone = "UTC"`, "timezone = "+quote(a.TimeZone))
	}
	if a.DataDir != "" {
		text = replace(text, `data_dir = ""`, "data_dir = "+quote(a.DataDir))
	}
	for _, ch := range a.Channels {
		text = ch.in(text)
	}
	p := a.Provider
	if p.Name == "" {
		return text
	}
	if p.Name == openRouter {
		text = replace(text, "#api_key = "+quote(openRouterKey), "api_key = "+quote(p.APIKey))
	} else {
		table := "\n[llm.providers." + p.Name + "]\nbase_url = " + quote(p.BaseURL) + "\n"
		if p.APIKey != "" {
			table += "api_key = " + quote(p.APIKey) + "\n"
		}
		text = insert(text, "\n# An alias, and what is known", table)
	}
	planner := p.Name + "/" + a.Model
	if a.ContextTokens > 0 {
		text = insert(text, "\n[agent]\n", fmt.Sprintf("\n[llm.models.%s]\nmodel = %s\ncontext_tokens = %d\n", answeredAlias, quote(planner), a.ContextTokens))
		planner = answeredAlias
	}
	return replace(text, `planner = "offline"`, "planner = "+quote(planner))
}

// in takes the example of the channel's kind in text into use.
func (c AnsweredChannel) in(text string) string {
	kind := "\n#kind = " + quote(c.Kind) + "\n"
	at := strings.Index(text, kind)
	begin := strings.LastIndex(text[:at], "\n#[channels.")
	end := at + strings.Index(text[at:], "\n\n") + 1
	rest, table := maps.Clone(c.Keys), ""
	for line := range strings.Lines(text[at+len(kind) : end]) {
		key, _, _ := strings.Cut(strings.TrimPrefix(line, "#"), " = ")
		if value, answered := rest[key]; answered {
			line = key + " = " + quote(value) + "\n"
			delete(rest, key)
		}
		table += line
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		table += key + " = " + quote(rest[key]) + "\n"
	}
	table = "\n[channels." + c.Kind + "]\nkind = " + quote(c.Kind) + "\n" + table
	return text[:begin] + table + text[end:]
}

// Init writes the text of the answers to path, readable by its owner alone, making the
// folder where it is missing. A file that exists is left alone: ErrExists.
func Init(path string, a Answers) error {
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

// replace changes the one line of Sample that is old.
func replace(text, old, line string) string {
	return strings.Replace(text, "\n"+old+"\n", "\n"+line+"\n", 1)
}

// insert puts more before the one place of Sample that begins with mark.
func insert(text, mark, more string) string { return strings.Replace(text, mark, more+mark, 1) }
