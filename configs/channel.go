package configs

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/router"
)

// known are kinds that identities may name and later builds have; a table of one is judged as far as it is
// known, and has no effect.
var known = []string{"api", "console", "web"}

// channel reads one table [channels.NAME]: first its kind, then all of it into
// the router's part and the adapter's. v stays zero where nothing can be made of
// it.
func (b *binder) channel(v reflect.Value, n *node, key string) {
	if n.kind != table {
		b.mismatch(n, key, "a table")
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
	b.check(key, ch.Validate())
	b.credentials(ch.Adapter, key)
	if judge, ok := ch.Adapter.(interface{ Validate() error }); ok {
		b.check(key, judge.Validate())
	}
	_, place := idsOf(ch.Adapter)
	for i, id := range ch.AllowConversations {
		b.stable(at(dot(key, "allow_conversations"), i), id, id, place)
	}
	if !built {
		b.warn(n.src, key, "channels of kind \""+word+"\" are not available in this build; the table has no effect")
		return
	}
	if ch.Enabled {
		b.waiting(ch.Adapter, key)
	}
	v.Set(reflect.ValueOf(ch))
}

// idsOf are the shapes of a platform's IDs, as an adapter's part says them; zero where it does not.
func idsOf(adapter any) (person, place channels.IDShape) {
	if says, ok := adapter.(interface {
		IDs() (person, place channels.IDShape)
	}); ok {
		return says.IDs()
	}
	return person, place
}

// stable wants an ID, which stands in written, to be the platform's own.
func (b *binder) stable(key, written, id string, shape channels.IDShape) {
	fault := notStable(written, id, shape)
	b.says(fault != "", key, "%s", fault)
}

// notStable says why an ID is not the platform's own: names change hands. Empty: it is.
func notStable(written, id string, shape channels.IDShape) string {
	text := fmt.Sprintf("%q: a name can change hands; write the platform's stable ID", written)
	switch {
	case shape.Pattern == "" && strings.HasPrefix(id, "@"):
		return text
	case shape.Pattern != "" && !regexp.MustCompile("^(?:"+shape.Pattern+")$").MatchString(id):
		return text + ", such as " + shape.Like
	}
	return ""
}

// Credentials are those of the adapter's part, by their keys.
func (c Channel) Credentials() map[string]channels.Credential {
	all := map[string]channels.Credential{}
	for key, v := range credentialsOf(c.Adapter) {
		all[key] = v.Interface().(channels.Credential)
	}
	return all
}

// credentialsOf yields the credentials among the keys of an adapter's part.
func credentialsOf(adapter any) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		if adapter == nil {
			return
		}
		v := reflect.ValueOf(adapter).Elem()
		for f := range fieldsOf(v.Type()) {
			if f.typ == reflect.TypeFor[channels.Credential]() && !yield(f.key, v.FieldByIndex(f.index)) {
				return
			}
		}
	}
}

// credentials has the adapter judge its credentials that are written literally. One
// that is not written at all says, when it is read, how to write it.
func (b *binder) credentials(adapter any, key string) {
	judge, ok := adapter.(interface {
		CheckCredential(key string, s secrets.Secret) error
	})
	for name, v := range credentialsOf(adapter) {
		full := dot(key, name)
		if _, written := b.sources[full]; !written {
			v.Set(reflect.ValueOf(b.credential("", nil, full)))
		}
		secret, err := v.Interface().(channels.Credential).Read()
		if !ok || err != nil || b.refs[full] != "" {
			continue
		}
		if err := judge.CheckCredential(name, secret); err != nil {
			b.fault(b.source(full), full, "%v", err)
		}
	}
}

// Address is the api_url of the adapter's part: elsewhere is another platform, with accounts of
// its own.
func (c Channel) Address() string {
	v := reflect.ValueOf(c.Adapter).Elem()
	for f := range fieldsOf(v.Type()) {
		if f.key == "api_url" {
			return v.FieldByIndex(f.index).String()
		}
	}
	return ""
}

// waiting warns of the credentials that an enabled channel will wait for.
func (b *binder) waiting(adapter any, key string) {
	for name, v := range credentialsOf(adapter) {
		if _, err := v.Interface().(channels.Credential).Read(); err != nil {
			full := dot(key, name)
			b.warn(b.source(full), full, fmt.Sprintf("%v; the channel waits for it", err))
		}
	}
}

// accounts wants each channel to have an account of its own: two that share one take
// each other's messages. What cannot be read now is known by where it is kept.
func (b *binder) accounts(s *Settings) {
	owners := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Channels)) {
		ch := s.Channels[name]
		if !ch.Enabled {
			continue
		}
		for key, v := range credentialsOf(ch.Adapter) {
			full := "channels." + name + "." + key
			account := b.refs[full]
			if secret, err := v.Interface().(channels.Credential).Read(); err == nil {
				account = "=" + secret.Reveal()
			}
			if account == "" {
				continue
			}
			account = strings.Join([]string{ch.Kind, ch.Address(), key, account}, " ")
			if first := owners[account]; first != "" {
				b.fault(b.source(full), full, "is the same as that of [channels.%s]: two channels cannot share one account; take one table away, or set enabled = false in it", first)
			}
			owners[account] = name
		}
	}
}

// badName says why a channel cannot have that name. A colon would make
// identities ambiguous, the rest would be awkward in commands and metrics.
func badName(name string) string {
	if len(name) > 64 {
		return "the name of a channel has at most 64 characters"
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return "the name of a channel holds only letters, digits, '.', '_' and '-'"
		}
	}
	if name == "" {
		return "a channel needs a name"
	}
	return ""
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
