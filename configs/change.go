package configs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Changes are what was changed at run time, as these settings have it.
func (s *Settings) Changes() map[string]string { return maps.Clone(s.opts.Changes) }

// Again reads the same file once more, with other changes at run time. It takes secrets as the
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

// needsAgain is a credential, set at run time, that would go to another address with a change that does
// not name it too; empty: none.
func (s *Settings) needsAgain(key string, set map[string]string) string {
	table, ok := strings.CutSuffix(key, ".base_url")
	if !ok {
		table, ok = strings.CutSuffix(key, "."+AddressKey)
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

// harmless are the keys of a channel after which an admin is still let in there.
var harmless = []string{"allow_conversations", "groups", "reply_in", "require_mention", "stranger_context", "tools_allow", "tools_deny"}

// LocksOut are the keys of a proposal after which an admin who asks for it in a direct chat of that channel
// might not be heard there any more. The terminal always hears.
func (p *Proposal) LocksOut(channel string) (keys []string) {
	for _, d := range p.Diff {
		rest, ofChannel := strings.CutPrefix(d.Key, "channels."+channel+".")
		switch {
		case ofChannel && !slices.Contains(harmless, rest):
		case channel == page && slices.Contains([]string{"server.listen", "server.public_url", "server.trusted_proxies"}, strings.SplitN(d.Key, "[", 2)[0]):
		case slices.Contains([]string{"router.rate_person", "router.message_limit", "router.stop_words"}, d.Key) && channel != terminal:
		default:
			continue
		}
		keys = append(keys, d.Key)
	}
	return keys
}

// terminal is the channel that every engine has, and no setting closes; page is the one of browsers.
const (
	terminal = "console"
	page     = "web"
)

// Keeping is s with those settings of was that a change reaches at the next start alone: what
// counts in a program that was started with was.
func (s *Settings) Keeping(was *Settings) *Settings {
	kept := *s
	to, from := reflect.ValueOf(&kept).Elem(), reflect.ValueOf(was).Elem()
	for f := range fieldsOf(to.Type()) {
		keep(to.FieldByIndex(f.index), from.FieldByIndex(f.index), f.key)
	}
	return &kept
}

func keep(to, from reflect.Value, key string) {
	if inner := to.Type(); inner.Kind() == reflect.Struct {
		for f := range fieldsOf(inner) {
			keep(to.FieldByIndex(f.index), from.FieldByIndex(f.index), dot(key, f.key))
		}
		return
	}
	if !Live(key) {
		to.Set(from)
	}
}
