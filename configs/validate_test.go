package configs

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/slack"
)

// One line a rule: what is written, and the fault it must bring (with the key in
// front).
func TestEachRuleNamesItsFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"[server]\nlisten = \"8484\"", `server.listen: "8484" is not HOST:PORT`},
		{"[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"10.0.0.1\"]", `server.trusted_proxies[1]: "10.0.0.1" is not a CIDR such as "127.0.0.1/32"`},
		{"[server]\nlisten = \"[::]:1\"", ""}, // a token may have been made by command
		{"[server]\nlisten = \"[::1]:1\"", ""},
		{"[server]\nlisten = \"0.0.0.0:1\"\n[[server.tokens]]\nname = \"a\"\nvalue = \"v\"", ""},
		{"[server]\npublic_url = \"ftp://x\"", "server.public_url: is not an address"},
		{"[[server.tokens]]\nname = \"a\"\nvalue = \"v\"\n[[server.tokens]]\nname = \"a\"\nvalue = \"w\"", `server.tokens[1].name: "a" is used twice`},
		{"[[server.tokens]]\nvalue = \"v\"", "server.tokens[0].name: is missing"},
		{"[store]\nurl = \"sqlite:\"", `store.url: "sqlite:" needs a path`},
		{"[store]\nurl = \"sqlite:/x.db\"", ""},
		{"[store]\nurl = \"postgresql://h/d\"", ""},
		{"[log]\nlevel = \"loud\"", `log.level: "loud" is not one of debug`},
		{"[log]\nformat = \"xml\"", `log.format: "xml" is not one of auto`},
		{"[llm.providers.\"a/b\"]\nkind = \"openai\"", "llm.providers.a/b: the name of a provider has no slash"},
		{"[llm.providers.offline]\nkind = \"openai\"", "llm.providers.offline.kind: the name"},
		{"[llm.providers.p]\nkind = \"magic\"", `llm.providers.p.kind: "magic" is not one of`},
		{"[llm.providers.p]\nbase_url = \"host\"", "llm.providers.p.base_url: is not an address"},
		{"[llm.providers.p]\ntimeout = \"-1s\"", "llm.providers.p.timeout: must not be negative"},
		{"[llm.models.m]\nmodel = \"gpt\"", `llm.models.m.model: "gpt" is not of the form`},
		{"[llm.models.m]\nmodel = \"openrouter/x\"\ncontext_tokens = 10", "llm.models.m.context_tokens: must be more than max_output_tokens"},
		{"[llm.models.m]\nmodel = \"openrouter/x\"\nmax_output_tokens = 0", "llm.models.m.max_output_tokens: must be at least 1"},
		{"[llm.models.m]\nmodel = \"openrouter/x\"\nprice_in = -1", "llm.models.m.price_in: must not be negative"},
		{"[llm.models.m]\nmodel = \"openrouter/x\"\ntemperature = 3", "llm.models.m.temperature: 3 is not between"},
		{"[llm.models.offline]\nmodel = \"openrouter/x\"", "llm.models.offline: an alias"},
		{"[agent]\nplanner = \"\"", "agent.planner: names no model"},
		{"[agent]\nplanner = \"openrouter/a/b\"", ""},
		{"[agent]\nplanner = \"openrouter/\"", `agent.planner: "openrouter/" is no model`},
		{"[agent]\nreviewer = \"nobody/x\"", `agent.reviewer: "nobody/x" is no model`},
		{"[agent]\nfallback = [\"offline\", \"\"]", "agent.fallback[1]: names no model"},
		{"[agent]\ncontext_ceiling = 0", "agent.context_ceiling: 0 is not above 0"},
		{"[agent]\nmax_replan_depth = -1", "agent.max_replan_depth: -1 is too small"},
		{"[agent]\nmax_replan_depth = 0", ""},
		{"[agent]\nturn_timeout = \"0\"", "agent.turn_timeout: must be longer than 0"},
		{"[agent]\nworkspace_limit = \"1kB\"\nworkspace_files = 5", "agent.workspace_files: 5 is too small"},
		{"[agent]\noutput_limit = 1", "agent.output_limit: 1 is too small"},
		{"[agent]\nsandbox = \"on\"", `agent.sandbox: "on" is not one of auto, off`},
		{"[router]\nworkers = 0", "router.workers: 0 is too few"},
		{"[router]\nqueue_per_session = 0", "router.queue_per_session: 0 is too few"},
		{"[router]\nidle_timeout = \"0s\"", "router.idle_timeout: must be longer than 0"},
		{"[router]\ncollect_window = \"-1s\"", "router.collect_window: must not be negative"},
		{"[router]\nstale_after = \"0\"", "router.stale_after: must be longer than 0"},
		{"[router]\nmax_parts = -1", "router.max_parts: must not be negative"},
		{"[router]\nmessage_limit = 0", "router.message_limit: must be at least 1 byte"},
		{"[router]\nstop_words = [\" \"]", "router.stop_words[0]: is empty"},
		{"[router]\ndefault_mode = \"do\"", `router.default_mode: "do" is not one of ask, act`},
		{"[router]\non_edit = \"cry\"", `router.on_edit: "cry" is not one of`},
		{"[router]\nrate_person = \"20\"", `router.rate_person: "20" is not a rate`},
		{"[router]\nrate_person = \"0/m\"", `router.rate_person: "0/m" is not a rate`},
		{"[router]\nrate_person = \"default\"", `router.rate_person: "default" is not a rate`},
		{"[router]\nrate_person = \"off\"", ""},
		{"[channels.home]\nkind = \"pigeon\"\nrate = \"default\"", ""},
		{"[channels.home]\nkind = \"pigeon\"\nrate = \"30/s\"", ""},
		{"[channels.home]\nkind = \"pigeon\"\nrate = \"fast\"", `channels.home.rate: "fast" is not a rate`},
		{"[channels.home]\nkind = \"pigeon\"\ngroups = \"all\"", `channels.home.groups: "all" is not one of`},
		{"[channels.\"a:b\"]\nkind = \"pigeon\"", "channels.a:b: the name of a channel holds only letters"},
		{"[channels.home]\nkind = 1", "channels.home.kind: needs text"},
		{"[channels]\nhome = 1", "channels.home: needs a table, not a number"},
		{"[[people]]\nrole = \"user\"", "people[0].name: is missing"},
		{"[[people]]\nname = \"a\"\nidentities = [\"pigeon:1\"]", ""},
		{"[[people]]\nname = \"a\"\nidentities = [\"home:1\"]\n[channels.home]\nkind = \"pigeon\"", ""},
		{"[[people]]\nname = \"a\"\nidentities = [\"pigeon:@a\"]", `people[0].identities[0]: "pigeon:@a": a name can change hands`},
		{"[[people]]\nname = \"a\"\nidentities = [\"slack:ada\"]", `people[0].identities[0]: "slack:ada": a name can change hands; write the platform's stable ID, such as U012ABCDEF (`},
		{"[[people]]\nname = \"a\"\nidentities = [\"slack:C012ABCDEF\"]", `people[0].identities[0]: "slack:C012ABCDEF": a name`},
		{"[[people]]\nname = \"a\"\nidentities = [\"slack:U012ABCDEF\", \"slack:T01/W012ABCDEF\", \"discord:80351110224678912\", \"telegram:12345\"]", ""},
		{"[[people]]\nname = \"a\"\nidentities = [\"telegram:ada\"]", `people[0].identities[0]: "telegram:ada": a name`},
		{"[channels.acme]\nkind = \"slack\"\nallow_conversations = [\"C012ABCDEF\", \"#general\"]", `channels.acme.allow_conversations[1]: "#general": a name can change hands; write the platform's stable ID, such as C012ABCDEF (`},
		{"[channels.acme]\nkind = \"discord\"\nallow_conversations = [\"#general\"]", `channels.acme.allow_conversations[0]: "#general": a name`},
		{"[channels.acme]\nkind = \"telegram\"\nallow_conversations = [\"1001234567890\"]", `channels.acme.allow_conversations[0]: "1001234567890": a name`},
		{"[channels.acme]\nkind = \"telegram\"\nallow_conversations = [\"-1001234567890\"]", ""},
		{"[[people]]\nname = \"a\"\ntimezone = \"Local\"", `people[0].timezone: "Local" is not a time zone`},
		{"[[people]]\nname = \"telegram:5\"\nrole = \"admin\"", `people[0].name: "telegram:5" holds a colon`},
		{"[[people]]\nname = \"a\"\ntools = [\"time\", \"worksapce.*\"]", `people[0].tools[1]: "worksapce.*" names no tool and no group of tools; did you mean "workspace.*"?`},
		{"[[people]]\nname = \"a\"\ntools = [\"*\", \"files\", \"web\", \"schedule\", \"memory\", \"exec\", \"admin\", \"time\", \"message.send\", \"schedule.add\", \"memory.*\", \"work*\"]", ""},
		{"[channels.home]\nkind = \"pigeon\"\ntools_deny = [\"exce\"]", `channels.home.tools_deny[0]: "exce" names no tool and no group of tools; did you mean "exec"?`},
		{"[channels.home]\nkind = \"pigeon\"\ntools_allow = [\"file\"]", `channels.home.tools_allow[0]: "file" names no tool and no group of tools; did you mean "files"?`},
		{"[policy]\nask = [\"messages.send\"]", `policy.ask[0]: "messages.send" names no tool and no group of tools; did you mean "message.send"?`},
		{"[policy]\nask = [\"pigeonry\"]", `policy.ask[0]: "pigeonry" names no tool and no group of tools`},
		{"[policy]\nask = [\"[\"]", `policy.ask[0]: "[" names no tool`},
		{"[policy]\nask_not = [\"messages.send\"]", `policy.ask_not[0]: "messages.send" names no tool and no group of tools; did you mean "message.send"?`},
		{"[policy]\nask_not = [\"*\", \"exec\"]", `policy.ask_not[1]: "exec" is none of those that ask by themselves: message.send, schedule.send, admin.*`},
		{"[policy]\nask_not = [\"message.*\", \"schedule\", \"admin.config\", \"*\"]", ""},
		{"[policy.exec]\ndeny = [\"git push *\"]\nallow = []", ""},
		{"[policy]\nservice = \"http://10.0.0.1:8181/v1/data/a/allow\"\nservice_token = \"t\"", ""},
		{"[policy]\nservice = \"opa:8181\"", `policy.service: is not an address such as "http://127.0.0.1:8181/v1/data/switchboard/allow"`},
		{"[policy]\nservice = \"https://me:pass@opa/\"", "policy.service: is not an address"},
		{"[policy]\nservice = \"https://opa:99999/\"", "policy.service: there is no port 99999"},
		{"[policy]\nservice_token = \"env:NOT_SET\"", "policy.service_token: is empty: variable NOT_SET is not set"},
		{"[policy.exec]\nask = [\"ls\", \" \"]", "policy.exec.ask[1]: is empty"},
		{"[policy.exec]\nforbid = []", "policy.exec.forbid: unknown key"},
		{"people = 3", "people: needs a list of tables [[people]], not a number"},
		{"[scheduler]\ntimezone = \"\"", "scheduler.timezone: is empty"},
		{"[scheduler]\nmisfire_grace = \"-1s\"", "scheduler.misfire_grace: must not be negative"},
		{"[heartbeat]\nactive_hours = \"8-22\"", `heartbeat.active_hours: "8-22" is not of the form`},
		{"[heartbeat]\nactive_hours = \"08:00-08:00\"", `heartbeat.active_hours: "08:00-08:00" is not of the form`},
		{"[heartbeat]\nevery = \"10s\"", `heartbeat.every: 10s is not a time of whole seconds, of at least a minute`},
		{"[heartbeat]\ndeliver_to = \"home:1\"", `heartbeat.deliver_to: there is no channel "home"; it begins with the NAME of a table [channels.NAME]`},
		{"[heartbeat]\ndeliver_to = \"home\"", `heartbeat.deliver_to: "home" is not of the form`},
		{"[approvals]\ndeadline = \"0\"", "approvals.deadline: must be longer than 0"},
		{"[budget]\nper_person_day = 1\n[agent]\nplanner = \"x/y\"\n[llm.providers.x]\nbase_url = \"http://127.0.0.1:1\"", `budget.per_person_day: cannot be kept: the model "x/y" has no price; make an alias of it ([llm.models.NAME] with model = "x/y", price_in and price_out) and name that in its place`},
		{"[budget]\nper_day = 1\n[llm.models.a]\nmodel = \"x/y\"\nprice_in = 0\n[llm.providers.x]\nbase_url = \"http://127.0.0.1:1\"", `budget.per_day: cannot be kept: the model "a" lacks a price; set llm.models.a.price_out (0 is a price, too)`},
		{"[budget]\nper_day = -1", "budget.per_day: must not be negative"},
		{"[budget]\ncurrency = \"euro\"", `budget.currency: "euro" is not a code`},
		{"[embeddings]\nmodel = \"offline\"", "embeddings.model: the built-in model makes no vectors"},
		{"[embeddings]\nmodel = \"nobody/x\"", "embeddings.model: \"nobody/x\" is no model"},
		{"[memory]\nmin_confidence = 2", "memory.min_confidence: 2 is not between"},
		{"[files]\nmax_size = \"0\"", "files.max_size: must be at least 1 byte"},
		{"[files]\nmax_size = \"-1\"", "files.max_size: needs a size"},
		{"[files]\nmax_size = \"99999999999GB\"", "files.max_size: needs a size"},
		{"[files]\nmax_per_message = -1", "files.max_per_message: must not be negative"},
		{"[notify]\ndisk = [\":x\"]", `notify.disk[0]: ":x" is not of the form`},
		{"[notify]\ndown = [\"marco\"]", "notify.down: is no kind of notice; there are pairing, channel_down,"},
		{"[retention]\nturns = \"0\"", "retention.turns: must be longer than 0"},
	} {
		_, _, err := loaded(t, c.text+"\n")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), ": "+c.want)):
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestDurationsAndSizesAreShownAsWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "800ms", "60s", "15m", "1h", "1h30m", "90m30s"} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		shown := formatDuration(d)
		if back, err := time.ParseDuration(shown); err != nil || back != d || strings.Contains(shown, "m0s") {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
	for text, bytes := range map[string]int64{"25MB": 25 << 20, "64KB": 64 << 10, "1000": 1000, "3GB": 3 << 30, "0": 0} {
		if got, ok := parseSize(text); !ok || got != bytes || formatSize(bytes) != text {
			t.Errorf("%s is read as %d and shown as %s", text, got, formatSize(bytes))
		}
	}
}

// What runs without a question is said, and what ask_not does not change.
func TestWhatAsksNobodyIsSaid(t *testing.T) {
	t.Parallel()
	const asks, open = "policy.ask_not: I still ask for these, because ask names them too: ", "policy.ask_not: these run without asking anybody: "
	for text, want := range map[string][]string{
		"":                                         nil,
		"ask = [\"exec\"]":                         nil,
		"ask = [\"message.send\", \"admin.*\"]":    nil,
		"ask_not = [\"message.send\"]":             {open + "message.send"},
		"ask_not = [\"admin.c*\", \"schedule\"]":   {open + "admin.channels, admin.config, schedule.send"},
		"ask = [\"*\"]\nask_not = [\"message.*\"]": {asks + "message.send"},
		"ask = [\"schedule.*\"]\nask_not = [\"message.send\", \"schedule.send\"]": {asks + "schedule.send", open + "message.send"},
	} {
		_, warns, err := loaded(t, "[policy]\n"+text+"\n")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range warns {
			got = append(got, line(w.Key, w.Text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", text, got, want)
		}
	}
}

// Every number has a ceiling that is above its default, and what is more is a fault.
func TestNumbersHaveACeiling(t *testing.T) {
	t.Parallel()
	s := must(t, "[channels.\"a.b\"]\nkind = \"slack\"\n[llm.models.\"m.x\"]\nmodel = \"openrouter/x\"\n")
	slackConfig := slack.DefaultConfig()
	s.Channels = map[string]Channel{"a.b": {Adapter: &slackConfig}}
	found := 0
	for l := range leaves(reflect.ValueOf(s).Elem(), "", false) {
		if !l.value.CanInt() {
			continue
		}
		found++
		judged := func(l leaf) (faults string) {
			l.judge(func(_, fault string) { faults += fault })
			return faults
		}
		huge := leaf{l.key, reflect.New(l.value.Type()).Elem(), l.size}
		huge.value.SetInt(math.MaxInt64 / 1_000_000_000 * 1_000_000_000) // whole seconds
		if strings.Contains(judged(l), "too much") || !strings.Contains(judged(huge), "too much") {
			t.Errorf("%s has no ceiling above %s", l.key, format(l))
		}
	}
	if found < 35 {
		t.Errorf("%d numbers", found)
	}
	for text, want := range map[string]string{
		"[router]\nworkers = 1000000":                                                `router.workers: 1000000 is too much; at most 1024`,
		"[router]\nqueue_per_session = 10001":                                        `router.queue_per_session: 10001 is too much; at most 10000`,
		"[router]\nmessage_limit = \"8GB\"":                                          `router.message_limit: "8GB" is too much; at most "16MB"`,
		"[agent]\noutput_limit = \"65MB\"":                                           `agent.output_limit: "65MB" is too much; at most "64MB"`,
		"[approvals]\ndeadline = \"721h\"":                                           `approvals.deadline: "721h" is too much; at most "720h"`,
		"[retention]\naudit = \"900000h\"":                                           `retention.audit: "900000h" is too much; at most "876000h"`,
		"[llm.models.\"m.x\"]\nmodel = \"openrouter/x\"\ncontext_tokens = 100000001": `llm.models.m.x.context_tokens: 100000001 is too much; at most 100000000`,
		"[router]\nworkers = 1024\nqueue_per_session = 10000":                        "",
	} {
		if _, _, err := loaded(t, text+"\n"); want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
