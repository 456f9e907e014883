package configs

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/outbox"
)

// A checker says what is wrong with settings that could be read.
type checker struct {
	*problems
	env    variables
	refs   map[string]string
	fresh  map[string]bool // keys that are being changed at run time
	tables []channelTable
}

func (c *checker) validate(s *Settings) {
	c.channels()
	c.server(s)
	c.present("store.url", s.Store.URL.Reveal())
	c.check("store", s.Store.Validate())
	c.check("llm", s.LLM.Validate())
	c.check("agent", s.Agent.Validate())
	c.models(s)
	c.check("router", s.Router.Validate())
	c.accounts(s)
	c.people(s)
	c.open(&s.Policy)
	c.present("policy.service_token", s.Policy.ServiceToken.Reveal())
	c.check("policy.exec", s.Policy.Exec.Validate())
	c.budget(s)
	c.notices(s)
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		l.judge(c.wrong)
	}
}

// present wants a credential that was named to be there.
func (c *checker) present(key, value string) {
	c.says(value == "" && c.notes[key] != "", key, "is empty: %s", c.notes[key])
}

// channels checks what each table [channels.NAME] holds.
func (c *checker) channels() {
	for _, t := range c.tables {
		c.check(t.key, t.Validate())
		if judge, ok := t.Adapter.(interface{ Validate() error }); ok {
			c.check(t.key, judge.Validate())
		}
		_, place := idsOf(t.Adapter)
		for i, id := range t.AllowConversations {
			c.wrong(at(dot(t.key, "allow_conversations"), i), notStable(id, id, place))
		}
		judge, judged := t.Adapter.(interface {
			CheckCredential(key string, s secrets.Secret) error
		})
		for name, v := range credentialsOf(t.Adapter) {
			key := dot(t.key, name)
			secret, err := v.Interface().(channels.Credential).Read()
			switch {
			case err != nil && t.built && t.Enabled:
				c.warn(c.source(key), key, fmt.Sprintf("%v; the channel waits for it", err))
			case err == nil && judged && c.refs[key] == "": // it is written literally
				if err := judge.CheckCredential(name, secret); err != nil {
					c.wrong(key, err.Error())
				}
			}
		}
		if !t.built {
			c.warn(t.src, t.key, "channels of kind \""+t.Kind+"\" are not available in this build; the table has no effect")
		}
	}
}

var channelName = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

// badName says why a channel cannot have that name. A colon would make
// identities ambiguous, the rest would be awkward in commands and metrics.
func badName(name string) string {
	if len(name) > 64 {
		return "the name of a channel has at most 64 characters"
	}
	if name == "" {
		return "a channel needs a name"
	}
	if !channelName.MatchString(name) {
		return "the name of a channel holds only letters, digits, '.', '_' and '-'"
	}
	return ""
}

// accounts wants each channel to have an account of its own: two that share one take
// each other's messages. What cannot be read now is known by where it is kept.
func (c *checker) accounts(s *Settings) {
	owners := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Channels)) {
		ch := s.Channels[name]
		if !ch.Enabled {
			continue
		}
		for key, v := range credentialsOf(ch.Adapter) {
			full := "channels." + name + "." + key
			account := c.refs[full]
			if secret, err := v.Interface().(channels.Credential).Read(); err == nil {
				account = "=" + secret.Reveal()
			}
			if account == "" {
				continue
			}
			account = strings.Join([]string{ch.Kind, ch.Address(), key, account}, " ")
			if first := owners[account]; first != "" {
				c.fault(c.source(full), full, "is the same as that of [channels.%s]: two channels cannot share one account; take one table away, or set enabled = false in it", first)
			}
			owners[account] = name
		}
	}
}

func (c *checker) server(s *Settings) {
	v := s.Server
	_, port, err := net.SplitHostPort(v.Listen)
	c.says(err != nil && v.Listen != "", "server.listen", "%q is not HOST:PORT, e.g. \"127.0.0.1:8484\"; \"\" opens no port", v.Listen)
	c.says(err == nil && !isPort(port), "server.listen", "there is no port %s; the last is 65535", port)
	c.present("server.webhook_secret", v.WebhookSecret.Reveal())
	c.present("server.internal_token", v.InternalToken.Reveal())
	seen := map[string]bool{}
	for i, t := range v.Tokens {
		key := at("server.tokens", i)
		c.says(t.Name == "", key+".name", "is missing; it is written beside what the token did")
		c.says(t.Name != "" && seen[t.Name], key+".name", "%q is used twice", t.Name)
		seen[t.Name] = true
		if c.notes[key+".value"] != "" {
			c.present(key+".value", t.Value.Reveal())
		} else {
			c.says(t.Value.Reveal() == "", key+".value", "is missing")
		}
		for j, name := range t.People {
			known := slices.ContainsFunc(s.People, func(p Person) bool { return p.Name == name })
			c.says(!known, at(key+".people", j), "there is nobody named %q in [[people]]", name)
		}
	}
}

// models checks that every role names a model there is.
func (c *checker) models(s *Settings) {
	a := s.Agent
	roles := map[string]string{
		"agent.planner": a.Planner, "agent.reviewer": a.Reviewer, "agent.worker": a.Worker,
		"agent.summarizer": a.Summarizer, "agent.curator": a.Curator, "agent.paraphraser": a.Paraphraser,
	}
	for i, name := range a.Fallback {
		roles[at("agent.fallback", i)] = name
	}
	roles["embeddings.model"] = s.Embeddings.Model
	provider, _, _ := strings.Cut(s.EmbeddingsModel(), "/")
	c.says(provider == "offline", "embeddings.model", "the built-in model makes no vectors; leave it empty, and what is remembered is found by its words")
	for _, key := range slices.Sorted(maps.Keys(roles)) {
		name := roles[key]
		if _, alias := s.LLM.Models[name]; alias || name == "" || name == "offline" {
			continue
		}
		provider, rest, _ := strings.Cut(name, "/")
		_, known := s.LLM.Providers[provider]
		c.says(!known && provider != "offline" || rest == "", key,
			"%q is no model: neither an alias in [llm.models], nor \"PROVIDER/NAME\" with a table [llm.providers.PROVIDER], nor \"offline\"", name)
	}
}

// open says which of the tools that ask by themselves do not, and which entries of ask_not change nothing.
func (c *checker) open(p *router.PolicyConfig) {
	const key = "policy.ask_not"
	var asked []string // in spite of ask_not
	for i, pattern := range p.AskNot {
		own := false
		for _, name := range tools.Names() {
			if !tools.Named([]string{pattern}, name) || !tools.Named(router.BuiltinAsk, name) {
				continue
			}
			if own = true; tools.Named(p.Ask, name) {
				asked = append(asked, name)
			}
		}
		c.says(!own && patternFault(pattern) == "", at(key, i), "%q is none of those that ask by themselves: %s", pattern, strings.Join(router.BuiltinAsk, ", "))
	}
	if len(asked) > 0 {
		slices.Sort(asked)
		c.warn(c.source(key), key, "I still ask for these, because ask names them too: "+strings.Join(slices.Compact(asked), ", "))
	}
	if open := p.Open(); len(open) > 0 {
		c.warn(c.source(key), key, "these run without asking anybody: "+strings.Join(open, ", "))
	}
}

// patternFault says what is wrong with a pattern of tools: one that names none allows nothing, or worse, forbids
// nothing. Empty: nothing is wrong.
func patternFault(pattern string) string {
	near, ok := tools.KnownPattern(pattern)
	switch {
	case ok:
		return ""
	case near != "":
		return fmt.Sprintf("%q names no tool and no group of tools; did you mean %q?", pattern, near)
	}
	return fmt.Sprintf("%q names no tool and no group of tools", pattern)
}

// budget wants to know what each model costs where there is a limit.
func (c *checker) budget(s *Settings) {
	b := s.Budget
	for _, limit := range []struct {
		key   string
		value float64
	}{{"per_day", b.PerDay}, {"per_person_day", b.PerPersonDay}, {"per_session_day", b.PerSession}, {"per_job_run", b.PerJobRun}} {
		if limit.value > 0 {
			for _, why := range s.Unpriced() {
				c.says(true, "budget."+limit.key, "cannot be kept: %s", why)
			}
			return
		}
	}
}

// notices checks where notices and heartbeats go.
func (c *checker) notices(s *Settings) {
	targets := map[string]string{"heartbeat.deliver_to": s.Heartbeat.DeliverTo}
	for kind, list := range s.Notify {
		if !slices.Contains(outbox.NoticeKinds, outbox.NoticeKind(kind)) {
			c.says(true, "notify."+kind, "is no kind of notice; there are %s", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(outbox.NoticeKinds), "[]")), ", "))
		}
		for i, target := range list {
			if strings.Contains(target, ":") { // else a person's name
				targets[at("notify."+kind, i)] = target
			}
			c.says(target == "", at("notify."+kind, i), "is empty")
		}
	}
	if channel, _, ok := strings.Cut(s.Heartbeat.DeliverTo, ":"); ok {
		_, known := s.Channels[channel]
		c.says(channel != "" && channel != terminal && !known, "heartbeat.deliver_to",
			"there is no channel %q; it begins with the NAME of a table [channels.NAME], or is empty for an admin's last used chat", channel)
	}
	for _, key := range slices.Sorted(maps.Keys(targets)) {
		channel, conversation, _ := strings.Cut(targets[key], ":")
		c.says(targets[key] != "" && (channel == "" || conversation == ""), key,
			"%q is not of the form CHANNEL:CONVERSATION", targets[key])
	}
}

// strayVariables warns of variables that look like settings and are none: one underscore
// was written for two, say. What a credential names is somebody's own.
func (c *checker) strayVariables(s *Settings) {
	named := map[string]bool{"SWITCHBOARD_CONFIG": true, "SWITCHBOARD_TOKEN": true, vault.Variable: true}
	for _, ref := range c.refs {
		named[strings.TrimPrefix(ref, "env:")] = true
	}
	var names []string
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		names = append(names, variable(l.key))
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		if upper := strings.ToUpper(name); !strings.HasPrefix(upper, prefix) || named[name] || strings.Contains(name[len(prefix):], "__") || topLevel(strings.ToLower(name[len(prefix):])) {
			continue
		}
		text := "there is no such setting, so it does nothing"
		if meant := words.Nearest(strings.ToUpper(name), names); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		c.warns = append(c.warns, Warning{Source: source{env: name}.String(), Text: text})
	}
}
