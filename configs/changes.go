package configs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
)

// changes lays what was changed at run time over the file's tree.
func (b *binder) changes(root *node, changes map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		value := &node{kind: word, text: changes[key], src: source{change: true}}
		if why := notChangeable(key); why != "" {
			b.fault(value.src, key, "%s", why)
			continue
		}
		parts := path(root, key)
		if len(parts) == 0 || slices.Contains(parts, "") {
			b.fault(value.src, key, "names no key; one dot stands between two levels")
			continue
		}
		b.plant(root, parts, value)
	}
}

// fixed are the settings that no change at run time reaches; * stands for one name.
var fixed = []struct{ key, why string }{
	{"data_dir", "cannot be changed while the program runs: changes made at run time are kept there; write it in the file"},
	{"store", "cannot be changed while the program runs: changes made at run time are kept in that database; write it in the file"},
	{"people", "people are changed with /people, or in the file"},
	{"agent.sandbox", hostOnly},
	{"agent.admin_unconfined", hostOnly},
	{"files.scan_command", hostOnly},
	{"server.tokens", "lists of tables can be set only in the file"},
	{"llm.providers.*.headers", "often holds a credential, which would stand readable in the database; write it in the file"},
}

// hostOnly is why a setting that lets a chat reach the machine stands in the file alone.
const hostOnly = "decides what reaches the machine itself, so it is changed in the file alone"

// notChangeable says why a setting cannot be changed at run time; empty: it can.
func notChangeable(key string) string {
	bare, _, isEntry := strings.Cut(key, "[")
	for _, f := range fixed {
		if matches(f.key, bare) {
			return f.why
		}
	}
	if isEntry {
		return "is an entry of a list; change the whole list"
	}
	return ""
}

// credentialText is the text of a credential. A change at run time is kept where people can read it, and
// comes from a chat, which is not to reach files and variables of the machine.
func (b *binder) credentialText(n *node, key string) (string, bool) {
	s, ok := b.text(n, key)
	switch kept := strings.HasPrefix(s, "env:") || strings.HasPrefix(s, "file:"); {
	case !ok || !n.src.change || s == "" || strings.HasPrefix(s, "secret:"):
		return s, ok
	case kept && b.fresh[key]:
		b.fault(n.src, key, "env: and file: can be written in the settings file alone; "+setSecret)
	case kept: // of an older build: without it a channel or a model might be lost
		b.warn(n.src, key, "still works, but env: and file: can be written in the settings file alone; "+setSecret)
		return s, ok
	default:
		if !strings.HasPrefix(s, "/") { // which may be a command
			b.mask.Add(secrets.Secret(s))
		}
		b.fault(n.src, key, "a credential would stand readable in the database; "+setSecret)
	}
	return "", false
}

// setSecret says how a credential is set at run time.
const setSecret = "set it with /secret set NAME or \"switchboard secret set NAME\", and write secret:NAME here"

// misdirected are the addresses, changed at run time, to which a credential of the file or the
// environment would go. A new one is a fault; one of an older build is to be left out.
func (b *binder) misdirected(s *Settings) (stored []string) {
	look := func(table, address string, part reflect.Value) {
		key, touched := dot(table, address), false
		if !b.sources[key].change {
			return
		}
		for fresh := range b.fresh {
			touched = touched || strings.HasPrefix(fresh, table+".")
		}
		for l := range leaves(part, table, false) {
			header := strings.HasPrefix(l.key, table+".headers.")
			secret := header || isSecret(l.value.Type()) || l.value.Type() == reflect.TypeFor[channels.Credential]()
			if !secret || b.sources[l.key].change || b.refs[l.key] == "" && hidden(l) == "" && !header {
				continue
			}
			if !touched {
				stored = append(stored, key)
				return
			}
			b.fault(b.sources[key], key, "%s would go to another address: it is set in the file or the environment, and so is its address", l.key)
		}
	}
	for name, p := range s.LLM.Providers {
		look("llm.providers."+name, "base_url", reflect.ValueOf(p))
	}
	for name, ch := range s.Channels {
		if ch.Adapter != nil {
			look("channels."+name, "api_url", reflect.ValueOf(ch.Adapter).Elem())
		}
	}
	return stored
}

// needsAgain is a credential, set at run time, that would go to another address with a change that does
// not name it too; empty: none.
func (s *Settings) needsAgain(key string, set map[string]string) string {
	table, ok := strings.CutSuffix(key, ".base_url")
	if !ok {
		table, ok = strings.CutSuffix(key, ".api_url")
	}
	if !ok || s.opts.Changes[key] == set[key] {
		return ""
	}
	for _, credential := range slices.Sorted(maps.Keys(s.refs)) {
		name, of := strings.CutPrefix(credential, table+".")
		if _, again := set[credential]; of && !again && !strings.Contains(name, ".") && s.sources[credential].change {
			return credential
		}
	}
	return ""
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

// Changes are what was changed at run time, as these settings have it.
func (s *Settings) Changes() map[string]string { return maps.Clone(s.opts.Changes) }

// Again reads the same file anew, with other changes at run time. It takes secrets as the
// vault has them.
func (s *Settings) Again(changes map[string]string) (*Settings, []Warning, error) {
	opts := s.options(changes)
	if s.File == "" {
		return Load(opts)
	}
	data, err := readFile(s.File)
	if err != nil {
		return nil, nil, err
	}
	return load(opts, newVariables(opts.Env), s.File, data)
}

// With is Again over the file's text as these settings have it, whatever became of the file.
func (s *Settings) With(changes map[string]string) (*Settings, []Warning, error) {
	opts := s.options(changes)
	return load(opts, newVariables(opts.Env), s.File, s.text)
}

// Print tells two texts of the file apart: that which these settings were read from, and that which
// is there now. It is empty where no file is.
func (s *Settings) Print() (was, now string) {
	if s.File == "" {
		return "", ""
	}
	print := func(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
	text, err := readFile(s.File)
	if err != nil {
		return print(s.text), err.Error()
	}
	return print(s.text), print(text)
}

func (s *Settings) options(changes map[string]string) Options {
	opts := s.opts
	opts.Changes, opts.Mask, opts.Vault = maps.Clone(changes), s.Mask, s.Vault
	if opts.Secrets != nil || !s.UsesSecrets() { // else who loaded them needs none, and one may be about to be set
		opts.Secrets = s.Vault.Look
	}
	return opts
}

// A Proposal is what settings would become by a change at run time.
type Proposal struct {
	Settings *Settings
	// Changes is the whole layer after it.
	Changes map[string]string
	Diff    []Difference
	// Warnings are those that the change brings.
	Warnings []Warning
}

// Propose says what the settings would be with other changes at run time: some set, and some
// taken back. An error is a Faults with everything that is wrong; nothing is changed in any case.
func (s *Settings) Propose(set map[string]string, unset []string) (*Proposal, error) {
	changes := s.Changes()
	if changes == nil {
		changes = map[string]string{}
	}
	var faults Faults
	fault := func(key, text string) {
		at := source{change: true}
		faults = append(faults, Fault{Source: at.String(), Key: key, Text: text, at: at})
	}
	for _, key := range unset {
		if _, ok := changes[key]; !ok {
			fault(key, "was not changed at run time")
		}
		delete(changes, key)
	}
	for key, value := range set {
		if at := s.sources[key]; at.env != "" || at.flag != "" {
			fault(key, "is set by "+at.String()+", which goes before; change it there")
		}
		changes[key] = value
	}
	for key := range set {
		if credential := s.needsAgain(key, set); credential != "" {
			fault(key, fmt.Sprintf("%s would go to another address, so it has to be set again with it: \"switchboard config set %s ADDRESS %s secret:NAME\"; or give another name this address, and then its credential", credential, key, credential))
		}
	}
	opts := s.options(changes)
	opts.fresh = map[string]bool{}
	for _, key := range slices.AppendSeq(slices.Clone(unset), maps.Keys(set)) {
		opts.fresh[key] = true
	}
	next, warnings, err := load(opts, newVariables(opts.Env), s.File, s.text)
	if found, ok := errors.AsType[Faults](err); ok {
		faults = append(faults, found...)
	}
	for key := range set {
		if err == nil && len(faults) == 0 && !next.sources[key].change {
			fault(key, "unknown key") // written in capitals, say
		}
	}
	if len(faults) > 0 {
		return nil, sorted(faults)
	}
	return &Proposal{
		Settings: next, Changes: changes, Diff: Diff(s, next),
		Warnings: slices.DeleteFunc(warnings, func(w Warning) bool { _, ok := set[w.Key]; return !ok }),
	}, err
}

// harmless are the keys of a channel after which an admin is still let in there.
var harmless = []string{"allow_conversations", "groups", "reply_in", "require_mention", "tools_allow", "tools_deny"}

// LocksOut are the keys of a proposal after which an admin who asks for it in a direct chat of that channel
// might not be heard there any more. The terminal always hears.
func (p *Proposal) LocksOut(channel string) (keys []string) {
	for _, d := range p.Diff {
		rest, ofChannel := strings.CutPrefix(d.Key, "channels."+channel+".")
		switch {
		case ofChannel && !slices.Contains(harmless, rest):
		case slices.Contains([]string{"router.rate_person", "router.message_limit", "router.stop_words"}, d.Key) && channel != terminal:
		default:
			continue
		}
		keys = append(keys, d.Key)
	}
	return keys
}

// terminal is the channel that every engine has, and no setting closes.
const terminal = "console"

// keptApart refuses references to what lies in data_dir, such as what the secrets are encrypted with: a
// provider could be sent it.
func (b *binder) keptApart(s *Settings) {
	for key, ref := range b.refs {
		path, isFile := strings.CutPrefix(ref, "file:")
		if isFile && liesIn(s.DataDir, path) || ref == "env:"+vault.Variable {
			b.fault(b.sources[key], key, "lies with the data of the program itself; name a file elsewhere, or set it with \"switchboard secret set NAME\" and write secret:NAME")
		}
	}
}

// liesIn says whether a file lies in a folder, whatever path leads there: links, other mounts, /proc/self/root.
func liesIn(dir, path string) bool {
	if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
		return true
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return false // it is not there yet
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	for _, at := range []string{path, real} {
		for up := filepath.Dir(at); up != at; at, up = up, filepath.Dir(up) {
			if info, err := os.Stat(up); err == nil && os.SameFile(info, folder) {
				return true
			}
		}
	}
	file, err := os.Stat(path)
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(dir) // a hard link has no path in common
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && os.SameFile(info, file)
	})
}
