package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram"
	"switchboard/router"
)

// A Kind says how the tables [channels.NAME] of one kind are read.
type Kind struct {
	// Router is the router's part with nothing set; nil:
	// router.DefaultChannelConfig.
	Router func() router.ChannelConfig
	// Adapter makes the pointer to the adapter's Config with its defaults; nil: the
	// kind has no keys of its own. Where the Config has a method Validate() error, it
	// is asked.
	Adapter func() any
}

// known are the kinds of this program that a build may lack, with the keys their
// tables have, so that a file written for another build is still judged.
var known = map[string]Kind{
	"telegram": {Adapter: func() any { cfg := telegram.DefaultConfig(); return &cfg }},
	"slack":    {Adapter: func() any { return new(slackTable) }},
	"discord":  {Adapter: func() any { return new(discordTable) }},
	"web":      {},
	"api":      {},
	"console":  {},
}

type slackTable struct {
	BotToken      channels.Secret `toml:"bot_token"`
	AppToken      channels.Secret `toml:"app_token"`
	SigningSecret channels.Secret `toml:"signing_secret"`
	Mode          string          `toml:"mode"` // socket | events
	APIURL        string          `toml:"api_url"`
	PingInterval  time.Duration   `toml:"ping_interval"`
}

type discordTable struct {
	Token         channels.Secret `toml:"token"`
	ApplicationID string          `toml:"application_id"`
	Guilds        []string        `toml:"guilds"`
	APIURL        string          `toml:"api_url"`
}

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
	all := kindNames(b.kinds)
	kindNode := n.fields["kind"]
	if kindNode == nil {
		b.fault(n.src, dot(key, "kind"), "is missing; write one of %s", strings.Join(all, ", "))
		return
	}
	word, ok := b.text(kindNode, dot(key, "kind"))
	if !ok {
		return
	}
	kind, built := b.kinds[word]
	if !built {
		if kind, ok = known[word]; !ok {
			b.fault(kindNode.src, dot(key, "kind"), "%q is not one of %s", word, strings.Join(all, ", "))
			return
		}
	}
	if _, isKind := b.kind(name); isKind && name != word {
		b.fault(n.src, key, "the name %q is that of another kind; identities would be ambiguous", name)
	}
	ch := Channel{ChannelConfig: router.DefaultChannelConfig()}
	if kind.Router != nil {
		ch.ChannelConfig = kind.Router()
	}
	parts := []reflect.Value{reflect.ValueOf(&ch.ChannelConfig).Elem()}
	if kind.Adapter != nil {
		ch.Adapter = kind.Adapter()
		parts = append(parts, reflect.ValueOf(ch.Adapter).Elem())
	}
	b.bindStruct(n, key, parts...)
	b.check(key, ch.Validate())
	if judge, ok := ch.Adapter.(interface{ Validate() error }); ok {
		b.check(key, judge.Validate())
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

// waiting warns of the credentials that an enabled channel will wait for.
func (b *binder) waiting(adapter any, key string) {
	if adapter == nil {
		return
	}
	v := reflect.ValueOf(adapter).Elem()
	for f := range fieldsOf(v.Type()) {
		credential, ok := v.FieldByIndex(f.index).Interface().(channels.Credential)
		if !ok {
			continue
		}
		if _, err := credential.Read(); err != nil {
			name := dot(key, f.key)
			b.warn(b.source(name), name, fmt.Sprintf("%v; the channel waits for it", err))
		}
	}
}

func (b *binder) kind(name string) (Kind, bool) {
	if k, ok := b.kinds[name]; ok {
		return k, true
	}
	k, ok := known[name]
	return k, ok
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

// kindNames are the kinds a table may name: those of this build and those of others.
func kindNames(built map[string]Kind) []string {
	all := maps.Clone(known)
	maps.Copy(all, built)
	return slices.Sorted(maps.Keys(all))
}
