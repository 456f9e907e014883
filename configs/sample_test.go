package configs

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/channels/discord"
	"switchboard/channels/slack"
	"switchboard/channels/telegram"
	"switchboard/router"
	"switchboard/router/outbox"
)

// schema yields every key a settings file can have; * stands for a free name,
// [] for an entry of a list of tables.
func schema(t reflect.Type, key string) iter.Seq[string] {
	return func(yield func(string) bool) { schemaWalk(t, key, yield) }
}

func schemaWalk(t reflect.Type, key string, yield func(string) bool) bool {
	switch {
	case t == reflect.TypeFor[Channel]():
		if !schemaWalk(reflect.TypeFor[router.ChannelConfig](), key, yield) {
			return false
		}
		for _, k := range kinds()[2:] {
			if !schemaWalk(reflect.TypeOf(k.Config()).Elem(), key, yield) {
				return false
			}
		}
		return true
	case t.Kind() == reflect.Struct:
		for f := range fieldsOf(t) {
			if !schemaWalk(f.typ, dot(key, f.key), yield) {
				return false
			}
		}
		return true
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
		return schemaWalk(t.Elem(), key+".*", yield)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return schemaWalk(t.Elem(), key+"[]", yield)
	}
	return yield(key)
}

// everything is Sample with its examples taken into use.
func everything() string {
	return regexp.MustCompile(`(?m)^#([^ \n])`).ReplaceAllString(Sample, "$1")
}

func TestSampleIsTheDefaults(t *testing.T) {
	t.Parallel()
	s, warns, err := loaded(t, Sample)
	if err != nil || len(warns) > 0 {
		t.Fatalf("faults %v, warnings %v", err, warns)
	}
	want := Defaults()
	want.DataDir, want.File, want.Mask, want.Vault, want.sources, want.notes, want.refs = s.DataDir, s.File, s.Mask, s.Vault, s.sources, s.notes, s.refs
	want.opts, want.text = s.opts, s.text
	p := want.LLM.Providers[openRouter]
	p.Headers = map[string]string{}
	want.LLM.Providers[openRouter] = p
	want.Server.AllowPrivate, want.Server.TrustedProxies, want.Agent.Fallback = []string{}, []string{}, []string{}
	want.Policy.AskNot, want.Policy.Ask = []string{}, []string{}
	want.Policy.Exec.Deny, want.Policy.Exec.Ask = []string{}, []string{}
	want.Notify, want.Memory.DeniedCategories = map[string][]string{}, []string{}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("sample = %+v\ndefaults = %+v", s, want)
	}
	all := must(t, "")
	if a, b := all.Show()[1:], s.Show()[1:]; len(a) != len(b) {
		t.Errorf("%d settings without a file, %d with the sample", len(a), len(b))
	}
}

func TestSampleWithItsExamplesLoads(t *testing.T) {
	t.Parallel()
	s, warns, err := loaded(t, everything(), "SWITCHBOARD_TOKEN=t")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.People) != 1 || len(s.LLM.Models) != 1 {
		t.Errorf("people %v, models %v", s.People, s.LLM.Models)
	}
	waiting := 0
	for _, w := range warns {
		if strings.HasPrefix(w.Key, "channels.") {
			waiting++
		}
	}
	if waiting != 4 {
		t.Errorf("warnings = %v", warns)
	}
}

// Nobody can set up a notice that the file does not name.
func TestSampleNamesEveryKindOfNotice(t *testing.T) {
	t.Parallel()
	_, above, _ := strings.Cut(Sample, "# Kind of notice")
	above, _, found := strings.Cut(above, "[notify]")
	_, names, _ := strings.Cut(strings.Join(strings.Fields(strings.ReplaceAll(above, "#", "")), " "), "Kinds: ")
	var kinds []outbox.NoticeKind
	for _, name := range strings.Split(strings.TrimSuffix(names, "."), ", ") {
		kinds = append(kinds, outbox.NoticeKind(name))
	}
	if !found || !slices.Equal(kinds, outbox.NoticeKinds) {
		t.Errorf("named are %v, of %v", kinds, outbox.NoticeKinds)
	}
}

func TestSampleHasEveryKey(t *testing.T) {
	t.Parallel()
	root, faults := read("sample", []byte(everything()))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for key := range schema(reflect.TypeFor[Settings](), "") {
		without := slices.ContainsFunc(laterKeys, func(l laterKey) bool {
			return (l.values == nil || l.hidden) && matches(l.key, strings.ReplaceAll(key, "[]", ".*"))
		})
		if without == has(root, strings.Split(strings.ReplaceAll(key, "[]", ".*"), ".")) {
			t.Errorf("the sample has %s: %t, and it has an effect: %t", key, without, !without)
		}
	}
}

func has(n *node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if path[0] != "*" {
		next := n.fields[path[0]]
		return next != nil && has(next, path[1:])
	}
	for _, child := range n.fields {
		if has(child, path[1:]) {
			return true
		}
	}
	for _, item := range n.items {
		if has(item, path[1:]) {
			return true
		}
	}
	return false
}

func TestInitWritesPrivateSettingsThatLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "etc", "switchboard.toml")
	answers := Answers{TimeZone: "Europe/Rome", Provider: AnsweredProvider{Name: openRouter, APIKey: "sk-\"quoted\"\t"}, Model: "a/b"}
	if err := Init(path, answers); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	s, _, err := Load(Options{File: path, Env: []string{"HOME=/nowhere"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Scheduler.TimeZone != "Europe/Rome" || s.Agent.Planner != "openrouter/a/b" ||
		s.LLM.Providers[openRouter].APIKey.Reveal() != answers.Provider.APIKey {
		t.Errorf("answers are not in %+v", s)
	}
	if err := Init(path, Answers{}); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
	plain := filepath.Join(t.TempDir(), "s.toml")
	if err := Init(plain, Answers{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(plain); err != nil || string(data) != Sample {
		t.Errorf("without answers it is not the sample (%v)", err)
	}
}

// Each answer changes its own settings and nothing else.
func TestAnswersChangeWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	tokens := map[string]map[string]string{
		telegram.Kind.Name: {"token": "110201543:AAH-secret", "api_url": "http://127.0.0.1:1", "groups": "open"},
		slack.Kind.Name:    {"bot_token": "xoxb-1", "app_token": "env:APP", "groups": "open"},
		discord.Kind.Name:  {"token": "file:discord.token"},
	}
	answers := Answers{DataDir: "data", Provider: AnsweredProvider{Name: "local", BaseURL: "http://127.0.0.1:11434/v1", APIKey: "none"}, Model: "m:8b"}
	for kind, keys := range tokens {
		answers.Channels = append(answers.Channels, AnsweredChannel{Kind: kind, Keys: keys})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "discord.token"), []byte("a-very-long-head.b.a-very-long-tail"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := Parse(Options{File: filepath.Join(dir, "s.toml"), Env: []string{"HOME=/nowhere", "APP=xapp-2"}, Kinds: kinds()}, answers.Text())
	if err != nil {
		t.Fatal(err)
	}
	if s.DataDir != filepath.Join(dir, "data") || s.Agent.Planner != "local/m:8b" || len(s.Channels) != 3 {
		t.Errorf("data_dir %s, planner %s, channels %v", s.DataDir, s.Agent.Planner, s.Channels)
	}
	if p := s.LLM.Providers["local"]; p.BaseURL != "http://127.0.0.1:11434/v1" || p.APIKey != llm.NoKey || p.Kind != "openai" {
		t.Errorf("the provider is %+v", p)
	}
	want := map[string][]string{
		telegram.Kind.Name: {"110201543:AAH-secret"}, slack.Kind.Name: {"xapp-2", "xoxb-1"}, discord.Kind.Name: {"a-very-long-head.b.a-very-long-tail"},
	}
	for kind, tokens := range want {
		ch := s.Channels[kind]
		var got []string
		for _, v := range credentialsOf(ch.Adapter) {
			secret, err := v.Interface().(channels.Credential).Read()
			if err != nil {
				t.Error(err)
			}
			got = append(got, secret.Reveal())
		}
		slices.Sort(got)
		plain := router.DefaultChannelConfig()
		plain.Kind = kind
		if kind != discord.Kind.Name {
			plain.Groups = "open"
		}
		if !slices.Equal(got, tokens) || !reflect.DeepEqual(ch.ChannelConfig, plain) {
			t.Errorf("%s: %q, %+v", kind, got, ch.ChannelConfig)
		}
	}
	if c := s.Channels[telegram.Kind.Name].Adapter.(*telegram.Config); c.APIURL != "http://127.0.0.1:1" || c.Mode != telegram.ModePolling {
		t.Errorf("%+v", c)
	}
}

// What is added to a file that is there changes nothing else of it, however it is written.
func TestAnswersAreAddedToAFile(t *testing.T) {
	t.Parallel()
	answers := Answers{
		Provider: AnsweredProvider{Name: openRouter, BaseURL: "https://openrouter.ai/api/v1", APIKey: "sk-1"}, Model: "a/b",
		Channels: []AnsweredChannel{{Kind: telegram.Kind.Name, Keys: map[string]string{"token": "1:new"}}},
	}
	for name, text := range map[string]string{
		"the sample":    Sample,
		"nothing":       "",
		"no last line":  "[router]\nworkers = 3",
		"of windows":    "[router]\r\nworkers = 3\r\n[agent]\r\nplanner = \"offline\" # now\r\n",
		"dotted":        "router.workers = 3\nagent.planner = \"offline\"\nchannels.telegram.kind = \"telegram\"\nchannels.telegram.token = \"1:old\"\n",
		"there already": "[channels.telegram]\ntoken = \"1:old\" # mine\nkind = \"telegram\"\n[llm.providers.openrouter]\napi_key = \"env:OLD\"\n[agent]\nplanner = \"offline\"\n",
		"a trap":        "[router]\nstop_words = [\"\"\"\n[agent]\nplanner = \"x\"\n\"\"\"]\n",
	} {
		a := answers
		a.Existing = []byte(text)
		was, _, err := Parse(Options{Env: []string{"HOME=/nowhere", "OLD=x"}, Kinds: kinds()}, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now, _, err := Parse(Options{Env: []string{"HOME=/nowhere"}, Kinds: kinds()}, a.Text())
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, a.Text())
			continue
		}
		if now.Agent.Planner != "openrouter/a/b" || now.LLM.Providers[openRouter].APIKey.Reveal() != "sk-1" || now.Channels[telegram.Kind.Name].Kind != telegram.Kind.Name || !strings.Contains(a.Text(), "\"1:new\"") || strings.Contains(a.Text(), "1:old") {
			t.Errorf("%s: %s", name, a.Text())
		}
		for _, d := range Diff(was, now) {
			if d.Key != "agent.planner" && !strings.HasPrefix(d.Key, "channels.telegram") && d.Key != "llm.providers.openrouter.api_key" {
				t.Errorf("%s: %s was changed", name, d.Key)
			}
		}
		path := filepath.Join(t.TempDir(), "s.toml")
		if err := os.WriteFile(path, a.Existing, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := Init(path, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if written, err := os.ReadFile(path); err != nil || string(written) != a.Text() {
			t.Errorf("%s: the file is %q, %v", name, written, err)
		}
		again := a
		if again.Existing = []byte(a.Text()); again.Text() != a.Text() {
			t.Errorf("%s: the same once more changes\n%s\nto\n%s", name, again.Existing, again.Text())
		}
		if strings.Contains(text, "\r\n") && strings.Count(a.Text(), "\n") != strings.Count(a.Text(), "\r\n") {
			t.Errorf("%s: line ends are mixed: %q", name, a.Text())
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(Sample), "SWITCHBOARD_SERVER__LISTEN=x")
	f.Add([]byte(everything()), "SWITCHBOARD_PEOPLE__0__NAME=x")
	f.Add([]byte("[channels.a]\nkind = \"pigeon\"\n[a.b]\n[[a.b.c]]\n"), "SWITCHBOARD_____=")
	if faulty, err := os.ReadFile("testdata/faults.toml"); err == nil {
		f.Add(faulty, "SWITCHBOARD_ROUTER__STOP_WORDS=[")
	}
	f.Fuzz(func(t *testing.T, data []byte, variable string) {
		if strings.Contains(string(data), "file:") || strings.Contains(variable, "file:") {
			t.Skip("reads files")
		}
		env := newVariables([]string{"HOME=/home/x", variable})
		s, _, err := load(Options{Kinds: kinds()}, env, "/etc/s.toml", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("settings %v with error %v", s, err)
		}
		if err == nil {
			s.Show()
			return
		}
		for _, fault := range err.(Faults) {
			if fault.Text == "" || fault.Source == "" && fault.Key == "" {
				t.Fatalf("a fault that says nothing: %+v", fault)
			}
		}
	})
}
