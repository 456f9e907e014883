package configs

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/agent/memory"
	"switchboard/internal/words"
)

// A rule says what is wrong with a setting, or with an entry of a list; empty: nothing.
type rule func(leaf) string

// rules are those of each setting, or of all in a table; "*" stands for a name. What is more than atMost allows could
// exhaust the machine, or is a slip.
var rules = []struct {
	key  string
	rule rule
}{
	{"log.level", oneOf("debug", "info", "warn", "error")},
	{"log.format", oneOf("auto", "text", "json")},
	{"people.role", oneOf("admin", "user")},
	{"people.timezone", zone},
	{"people.tools", tool},
	{"policy.ask", tool},
	{"policy.ask_not", tool},
	{"policy.service", is(isService, "is not an address such as \"http://127.0.0.1:8181/v1/data/switchboard/allow\"; a credential goes into service_token")},
	{"channels.*.tools_allow", tool},
	{"channels.*.tools_deny", tool},
	{"server.public_url", is(isWebAddress, "is not an address such as \"https://bot.example.org\"")},
	{"server.allow_private", is(isNetwork, "%q is not a CIDR such as \"10.0.0.0/8\"")},
	{"server.trusted_proxies", is(isNetwork, "%q is not a CIDR such as \"127.0.0.1/32\"")},
	{"server.tokens.scopes", oneOf("messages", "read", "send", "admin")},
	{"scheduler.timezone", zone},
	{"scheduler.timezone", is(notEmpty, "is empty; write an IANA name such as \"UTC\"")},
	{"scheduler.misfire", oneOf("skip", "once", "all")},
	{"scheduler.misfire_grace", atLeast(0, "must not be negative")},
	{"heartbeat.active_hours", is(isHours, "%q is not of the form \"08:00-22:00\"")},
	{"heartbeat.every", longerThanZero},
	{"heartbeat.every", is(wholeSeconds, "%s is not a time of whole seconds, of at least a minute, e.g. \"30m\"")},
	{"approvals.deadline", longerThanZero},
	{"retention", longerThanZero},
	{"memory.expire_after", atLeast(0, "must not be negative")},
	{"memory.min_confidence", is(isFraction, "%g is not between 0 and 1")},
	{"memory.denied_categories", oneOf(memory.Categories()...)},
	{"memory.recall_tokens", atLeast(0, "must not be negative; 0: nothing is recalled")},
	{"memory.per_day", atLeast(0, "must not be negative; 0: a model is never asked")},
	{"budget", atLeast(0, "must not be negative; 0 means no limit")},
	{"budget.currency", is(currency.MatchString, "%q is not a code of three capitals such as \"USD\"")},
	{"files.max_size", atLeast(1, "must be at least 1 byte, e.g. \"25MB\"")},
	{"files.max_per_message", atLeast(0, "must not be negative")},
	{"agent.fallback", is(notEmpty, "names no model")},
	{"router.workers", atMost(1024)},
	{"router.queue_per_session", atMost(10_000)},
	{"router.idle_timeout", atMost(24 * time.Hour)},
	{"router.collect_window", atMost(10 * time.Minute)},
	{"router.stale_after", atMost(7 * 24 * time.Hour)},
	{"router.message_limit", atMost(16 << 20)},
	{"router.max_parts", atMost(1000)},
	{"router.away_limit", atMost(1_000_000)},
	{"agent.context_messages", atMost(10_000)},
	{"agent.max_validation_retries", atMost(100)},
	{"agent.max_replan_depth", atMost(100)},
	{"agent.max_plan_tasks", atMost(1000)},
	{"agent.max_llm_calls", atMost(10_000)},
	{"agent.turn_timeout", atMost(7 * 24 * time.Hour)},
	{"agent.exec_timeout", atMost(7 * 24 * time.Hour)},
	{"agent.llm_timeout", atMost(24 * time.Hour)},
	{"agent.stall_timeout", atMost(24 * time.Hour)},
	{"agent.output_limit", atMost(64 << 20)},
	{"agent.workspace_limit", atMost(1 << 40)},
	{"agent.workspace_files", atMost(10_000_000)},
	{"agent.knowledge_max_facts", atMost(100_000)},
	{"agent.summarize_threshold", atMost(100_000)},
	{"llm.providers.*.timeout", atMost(24 * time.Hour)},
	{"llm.models.*.context_tokens", atMost(100_000_000)},
	{"llm.models.*.max_output_tokens", atMost(10_000_000)},
	{"channels.*.ping_interval", atMost(time.Hour)},
	{"approvals.deadline", atMost(30 * 24 * time.Hour)},
	{"files.max_size", atMost(2 << 30)},
	{"files.max_per_message", atMost(1000)},
	{"scheduler.misfire_grace", atMost(longest)},
	{"heartbeat.every", atMost(longest)},
	{"memory.expire_after", atMost(longest)},
	{"memory.recall_tokens", atMost(1_000_000)},
	{"memory.per_day", atMost(1_000_000)},
	{"retention", atMost(longest)},
}

// longest is a hundred years, which no instant is too far from.
const longest = 100 * 365 * 24 * time.Hour

// judge says what is wrong with a setting by its rules; an empty fault says nothing.
func (l leaf) judge(say func(key, fault string)) {
	say(l.key, portFault(l))
	key := entry.ReplaceAllString(l.key, "")
	for _, r := range rules {
		before, after, names := strings.Cut(r.key, "*") // a name may hold a dot
		switch {
		case r.key[0] != key[0] || !matches(r.key, key) && !(names && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)):
		case l.value.Kind() == reflect.Slice:
			for i := range l.value.Len() {
				say(at(l.key, i), r.rule(leaf{value: l.value.Index(i)}))
			}
		default:
			say(l.key, r.rule(l))
		}
	}
}

// is wants a value to be so; the fault may say the value.
func is[T any](so func(T) bool, fault string) rule {
	return func(l leaf) string {
		switch v := l.value.Interface().(T); {
		case so(v):
			return ""
		case strings.Contains(fault, "%"):
			return fmt.Sprintf(fault, v)
		}
		return fault
	}
}

func oneOf(words ...string) rule {
	return is(func(s string) bool { return slices.Contains(words, s) }, "%q is not one of "+strings.Join(words, ", "))
}

func notEmpty(s string) bool { return s != "" }

// atLeast is for numbers; others it leaves alone.
func atLeast(least int64, fault string) rule {
	return func(l leaf) string {
		return want(l.value.CanInt() && l.value.Int() < least || l.value.CanFloat() && l.value.Float() < float64(least), fault, "")
	}
}

// atMost has sizes in bytes, and durations in nanoseconds.
func atMost[T ~int | ~int64](most T) rule {
	return func(l leaf) string {
		if l.value.Int() <= int64(most) {
			return ""
		}
		limit := reflect.New(l.value.Type()).Elem()
		limit.SetInt(int64(most))
		return fmt.Sprintf("%s is too much; at most %s", format(l), format(leaf{l.key, limit, l.size}))
	}
}

func longerThanZero(l leaf) string {
	return want(l.value.Int() == 0, "must be longer than 0, e.g. \"10m\"", atLeast(0, "must not be negative")(l))
}

func wholeSeconds(d time.Duration) bool { return d <= 0 || d >= time.Minute && d%time.Second == 0 }

func isFraction(f float64) bool { return f >= 0 && f <= 1 }

func zone(l leaf) string {
	if l.value.Len() == 0 { // most people set none
		return ""
	}
	if err := words.CheckZone(l.value.String()); err != nil {
		return err.Error()
	}
	return ""
}

var (
	entry    = regexp.MustCompile(`\[\d+\]`)
	hours    = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$`)
	currency = regexp.MustCompile(`^[A-Z]{3}$`)
)

func isHours(s string) bool {
	from, until, _ := strings.Cut(s, "-")
	return s == "" || from != until && hours.MatchString(s)
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// isService says that questions can be posted to an address. A password in it would be shown.
func isService(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isWebAddress(s) && u.User == nil
}

func tool(l leaf) string { return patternFault(l.value.String()) }

// portFault judges the port of every address; HOST:PORT alone has no scheme.
func portFault(l leaf) string {
	text := ""
	if secret, ok := l.value.Interface().(revealer); ok {
		text = secret.Reveal() // of an address; it is not repeated
	} else if l.value.Kind() == reflect.String {
		text = l.value.String()
	}
	if u, err := url.Parse(text); err == nil && u.Host != "" && u.Port() != "" && !isPort(u.Port()) {
		return fmt.Sprintf("there is no port %s; the last is 65535", u.Port())
	}
	return ""
}

// isPort says whether a port can be listened at or reached: a number or a name.
func isPort(port string) bool {
	_, err := net.LookupPort("tcp", port)
	return err == nil
}
