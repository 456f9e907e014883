package configs

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/outbox"
)

// check takes what a Validate method returned: joined errors, each beginning
// with a key below key and a colon. It finds out where that key was written.
func (b *binder) check(key string, err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			b.check(key, e)
		}
		return
	}
	rest, text, ok := strings.Cut(err.Error(), ": ")
	if !ok || strings.ContainsAny(rest, " \"") {
		b.fault(b.source(key), key, "%v", err)
		return
	}
	full := dot(key, rest)
	b.fault(b.source(full), full, "%s", text)
}

// source is where key was written, or the table or list around it.
func (b *binder) source(key string) source {
	for key != "" {
		if src, ok := b.sources[key]; ok {
			return src
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return source{}
}

// says records a fault of key where wrong.
func (b *binder) says(wrong bool, key, format string, args ...any) {
	if wrong {
		b.fault(b.source(key), key, format, args...)
	}
}

func (b *binder) oneOf(key, value string, words ...string) {
	b.says(!slices.Contains(words, value), key, "%q is not one of %s", value, strings.Join(words, ", "))
}

func (b *binder) zone(key, value string) {
	if value == "" {
		return
	}
	if err := words.CheckZone(value); err != nil {
		b.says(true, key, "%v", err)
	}
}

// present wants a credential that was named to be there.
func (b *binder) present(key, value string) {
	b.says(value == "" && b.notes[key] != "", key, "is empty: %s", b.notes[key])
}

func (b *binder) validate(s *Settings) {
	b.server(s)
	b.present("store.url", s.Store.URL.Reveal())
	b.check("store", s.Store.Validate())
	b.oneOf("log.level", s.Log.Level, "debug", "info", "warn", "error")
	b.oneOf("log.format", s.Log.Format, "auto", "text", "json")
	b.check("llm", s.LLM.Validate())
	b.check("agent", s.Agent.Validate())
	b.models(s)
	b.check("router", s.Router.Validate())
	b.accounts(s)
	b.people(s)
	b.tools(s)
	b.time(s)
	b.budget(s)
	b.rest(s)
	b.ports(s)
	b.ceilings(s)
}

// ceilings are the most that numbers may be: what is more could exhaust the machine, or is a slip. "*" stands
// for a name. Sizes are in bytes, durations in nanoseconds.
var ceilings = []struct {
	key  string
	most int64
}{
	{"router.workers", 1024},
	{"router.queue_per_session", 10_000},
	{"router.idle_timeout", int64(24 * time.Hour)},
	{"router.collect_window", int64(10 * time.Minute)},
	{"router.stale_after", int64(7 * 24 * time.Hour)},
	{"router.message_limit", 16 << 20},
	{"router.max_parts", 1000},
	{"router.away_limit", 1_000_000},
	{"agent.context_messages", 10_000},
	{"agent.max_validation_retries", 100},
	{"agent.max_replan_depth", 100},
	{"agent.max_plan_tasks", 1000},
	{"agent.max_llm_calls", 10_000},
	{"agent.turn_timeout", int64(7 * 24 * time.Hour)},
	{"agent.exec_timeout", int64(7 * 24 * time.Hour)},
	{"agent.llm_timeout", int64(24 * time.Hour)},
	{"agent.stall_timeout", int64(24 * time.Hour)},
	{"agent.output_limit", 64 << 20},
	{"agent.workspace_limit", 1 << 40},
	{"agent.workspace_files", 10_000_000},
	{"agent.knowledge_max_facts", 100_000},
	{"agent.summarize_threshold", 100_000},
	{"llm.providers.*.timeout", int64(24 * time.Hour)},
	{"llm.models.*.context_tokens", 100_000_000},
	{"llm.models.*.max_output_tokens", 10_000_000},
	{"channels.*.ping_interval", int64(time.Hour)},
	{"approvals.deadline", int64(30 * 24 * time.Hour)},
	{"files.max_size", 2 << 30},
	{"files.max_per_message", 1000},
	{"scheduler.misfire_grace", longest},
	{"heartbeat.every", longest},
	{"memory.expire_after", longest},
	{"retention", longest},
}

// longest is a hundred years, which no instant is too far from.
const longest = int64(100 * 365 * 24 * time.Hour)

// ceiling is the most that a number may be.
func ceiling(key string) (most int64, ok bool) {
	for _, c := range ceilings {
		before, after, names := strings.Cut(c.key, "*") // a name may hold a dot
		if matches(c.key, key) || names && strings.HasPrefix(key, before) && strings.HasSuffix(key, after) {
			return c.most, true
		}
	}
	return 0, false
}

// ceilings checks the numbers that were set.
func (b *binder) ceilings(s *Settings) {
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		if most, ok := ceiling(l.key); ok && l.value.CanInt() && l.value.Int() > most {
			limit := reflect.New(l.value.Type()).Elem()
			limit.SetInt(most)
			b.says(true, l.key, "%s is too much; at most %s", format(l), format(leaf{l.key, limit, l.size}))
		}
	}
}

// ports checks the port of every address; HOST:PORT alone has no scheme.
func (b *binder) ports(s *Settings) {
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		text := ""
		if secret, ok := l.value.Interface().(revealer); ok {
			text = secret.Reveal() // of an address; it is not repeated
		} else if l.value.Kind() == reflect.String {
			text = l.value.String()
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" && u.Port() != "" {
			b.says(!isPort(u.Port()), l.key, "there is no port %s; the last is 65535", u.Port())
		}
	}
}

// isPort says whether a port can be listened at or reached: a number or a name.
func isPort(port string) bool {
	_, err := net.LookupPort("tcp", port)
	return err == nil
}

func (b *binder) server(s *Settings) {
	v := s.Server
	host, port, err := net.SplitHostPort(v.Listen)
	b.says(err != nil, "server.listen", "%q is not HOST:PORT, e.g. \"127.0.0.1:8484\"", v.Listen)
	b.says(err == nil && !isPort(port), "server.listen", "there is no port %s; the last is 65535", port)
	ip, ipErr := netip.ParseAddr(host)
	loopback := host == "localhost" || ipErr == nil && ip.IsLoopback()
	b.says(err == nil && !loopback && len(v.Tokens) == 0, "server.listen",
		"%q can be reached from elsewhere and needs at least one [[server.tokens]]", v.Listen)
	if v.PublicURL != "" {
		u, err := url.Parse(v.PublicURL)
		b.says(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https",
			"server.public_url", "is not an address such as \"https://bot.example.org\"")
	}
	b.present("server.webhook_secret", v.WebhookSecret.Reveal())
	b.present("server.internal_token", v.InternalToken.Reveal())
	for i, cidr := range v.AllowPrivate {
		_, err := netip.ParsePrefix(cidr)
		b.says(err != nil, at("server.allow_private", i), "%q is not a CIDR such as \"10.0.0.0/8\"", cidr)
	}
	seen := map[string]bool{}
	for i, t := range v.Tokens {
		key := at("server.tokens", i)
		b.says(t.Name == "", key+".name", "is missing; it is written beside what the token did")
		b.says(t.Name != "" && seen[t.Name], key+".name", "%q is used twice", t.Name)
		seen[t.Name] = true
		if b.notes[key+".value"] != "" {
			b.present(key+".value", t.Value.Reveal())
		} else {
			b.says(t.Value.Reveal() == "", key+".value", "is missing")
		}
		for j, scope := range t.Scopes {
			b.oneOf(at(key+".scopes", j), scope, "messages", "read", "send", "admin")
		}
		for j, name := range t.People {
			known := slices.ContainsFunc(s.People, func(p Person) bool { return p.Name == name })
			b.says(!known, at(key+".people", j), "there is nobody named %q in [[people]]", name)
		}
	}
}

// models checks that every role names a model there is.
func (b *binder) models(s *Settings) {
	a := s.Agent
	roles := map[string]string{
		"agent.planner": a.Planner, "agent.reviewer": a.Reviewer, "agent.worker": a.Worker,
		"agent.summarizer": a.Summarizer, "agent.curator": a.Curator, "agent.paraphraser": a.Paraphraser,
	}
	for i, name := range a.Fallback {
		roles[at("agent.fallback", i)] = name
		b.says(name == "", at("agent.fallback", i), "names no model")
	}
	for _, key := range slices.Sorted(maps.Keys(roles)) {
		name := roles[key]
		if _, alias := s.LLM.Models[name]; alias || name == "" || name == "offline" {
			continue
		}
		provider, rest, _ := strings.Cut(name, "/")
		_, known := s.LLM.Providers[provider]
		b.says(!known && provider != "offline" || rest == "", key,
			"%q is no model: neither an alias in [llm.models], nor \"PROVIDER/NAME\" with a table [llm.providers.PROVIDER], nor \"offline\"", name)
	}
}

// tools checks that every pattern names a tool: one that names none allows nothing, or
// worse, forbids nothing.
func (b *binder) tools(s *Settings) {
	check := func(key string, patterns []string) {
		for i, pattern := range patterns {
			fault := patternFault(pattern)
			b.says(fault != "", at(key, i), "%s", fault)
		}
	}
	check("policy.ask", s.Policy.Ask)
	check("policy.ask_not", s.Policy.AskNot)
	b.open(&s.Policy)
	b.check("policy.exec", s.Policy.Exec.Validate())
	for name, ch := range s.Channels {
		check("channels."+name+".tools_allow", ch.ToolsAllow)
		check("channels."+name+".tools_deny", ch.ToolsDeny)
	}
	for i, p := range s.People {
		check(at("people", i)+".tools", p.Tools)
	}
}

// open says which of the tools that ask by themselves do not, and which entries of ask_not change nothing.
func (b *binder) open(p *router.PolicyConfig) {
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
		b.says(!own && patternFault(pattern) == "", at(key, i), "%q is none of those that ask by themselves: %s", pattern, strings.Join(router.BuiltinAsk, ", "))
	}
	if len(asked) > 0 {
		slices.Sort(asked)
		b.warn(b.source(key), key, "I still ask for these, because ask names them too: "+strings.Join(slices.Compact(asked), ", "))
	}
	if open := p.Open(); len(open) > 0 {
		b.warn(b.source(key), key, "these run without asking anybody: "+strings.Join(open, ", "))
	}
}

// patternFault says what is wrong with a pattern of tools; empty: nothing.
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

var hours = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$`)

func (b *binder) time(s *Settings) {
	b.zone("scheduler.timezone", s.Scheduler.TimeZone)
	b.says(s.Scheduler.TimeZone == "", "scheduler.timezone", "is empty; write an IANA name such as \"UTC\"")
	b.oneOf("scheduler.misfire", s.Scheduler.Misfire, "skip", "once", "all")
	from, until, _ := strings.Cut(s.Heartbeat.ActiveHours, "-")
	b.says(s.Heartbeat.ActiveHours != "" && (from == until || !hours.MatchString(s.Heartbeat.ActiveHours)),
		"heartbeat.active_hours", "%q is not of the form \"08:00-22:00\"", s.Heartbeat.ActiveHours)
	every := s.Heartbeat.Every
	b.says(every > 0 && (every < time.Minute || every%time.Second != 0), "heartbeat.every", "%s is not a time of whole seconds, of at least a minute, e.g. \"30m\"", every)
	for _, d := range []struct {
		key   string
		value time.Duration
		zero  bool // may be 0
	}{
		{"approvals.deadline", s.Approvals.Deadline, false},
		{"scheduler.misfire_grace", s.Scheduler.MisfireGrace, true},
		{"heartbeat.every", s.Heartbeat.Every, false},
		{"memory.expire_after", s.Memory.ExpireAfter, true},
		{"retention.turns", s.Retention.Turns, false},
		{"retention.strangers", s.Retention.Strangers, false},
		{"retention.runs", s.Retention.Runs, false},
		{"retention.prompts", s.Retention.Prompts, false},
		{"retention.audit", s.Retention.Audit, false},
		{"retention.sessions", s.Retention.Sessions, false},
	} {
		b.says(d.value < 0, d.key, "must not be negative")
		b.says(d.value == 0 && !d.zero, d.key, "must be longer than 0, e.g. \"10m\"")
	}
}

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func (b *binder) rest(s *Settings) {
	c := s.Memory.MinConfidence
	b.says(c < 0 || c > 1, "memory.min_confidence", "%g is not between 0 and 1", c)
	b.says(s.Files.MaxSize < 1, "files.max_size", "must be at least 1 byte, e.g. \"25MB\"")
	b.says(s.Files.MaxPerMessage < 0, "files.max_per_message", "must not be negative")
	targets := map[string]string{"heartbeat.deliver_to": s.Heartbeat.DeliverTo}
	for kind, list := range s.Notify {
		if !slices.Contains(outbox.NoticeKinds, outbox.NoticeKind(kind)) {
			b.says(true, "notify."+kind, "is no kind of notice; there are %s", noticeKinds())
		}
		for i, target := range list {
			if strings.Contains(target, ":") { // else a person's name
				targets[at("notify."+kind, i)] = target
			}
			b.says(target == "", at("notify."+kind, i), "is empty")
		}
	}
	if channel, _, ok := strings.Cut(s.Heartbeat.DeliverTo, ":"); ok {
		_, known := s.Channels[channel]
		b.says(channel != "" && channel != terminal && !known, "heartbeat.deliver_to",
			"there is no channel %q; it begins with the NAME of a table [channels.NAME], or is empty for an admin's last used chat", channel)
	}
	for _, key := range slices.Sorted(maps.Keys(targets)) {
		channel, conversation, _ := strings.Cut(targets[key], ":")
		b.says(targets[key] != "" && (channel == "" || conversation == ""), key,
			"%q is not of the form CHANNEL:CONVERSATION", targets[key])
	}
}

// noticeKinds lists the kinds of notices.
func noticeKinds() string {
	var list []string
	for _, kind := range outbox.NoticeKinds {
		list = append(list, string(kind))
	}
	return strings.Join(list, ", ")
}
