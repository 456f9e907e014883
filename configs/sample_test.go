package configs

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"switchboard/router"
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
		for _, k := range known {
			if k.Adapter != nil && !schemaWalk(reflect.TypeOf(k.Adapter()).Elem(), key, yield) {
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
	want.DataDir, want.File, want.sources, want.notes, want.refs, want.kinds = s.DataDir, s.File, s.sources, s.notes, s.refs, s.kinds
	p := want.LLM.Providers[openRouter]
	p.Headers = map[string]string{}
	want.LLM.Providers[openRouter] = p
	want.Server.AllowPrivate, want.Agent.Fallback, want.Memory.DeniedCategories = []string{}, []string{}, []string{}
	want.Policy.Exec.Deny, want.Policy.Exec.Ask = []string{}, []string{}
	want.Notify = map[string][]string{}
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
	if len(s.People) != 1 || len(s.Server.Tokens) != 1 || len(s.LLM.Models) != 1 {
		t.Errorf("people %v, tokens %v, models %v", s.People, s.Server.Tokens, s.LLM.Models)
	}
	unbuilt := 0
	for _, w := range warns {
		if strings.HasPrefix(w.Key, "channels.") {
			unbuilt++
		}
	}
	if unbuilt != 3 {
		t.Errorf("warnings = %v", warns)
	}
}

func TestSampleHasEveryKey(t *testing.T) {
	t.Parallel()
	root, faults := read("sample", []byte(everything()))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for key := range schema(reflect.TypeFor[Settings](), "") {
		if !has(root, strings.Split(strings.ReplaceAll(key, "[]", ".*"), ".")) {
			t.Errorf("the sample does not name %s", key)
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
	answers := Answers{
		TimeZone: "Europe/Rome", APIKey: "sk-\"quoted\"\t", Planner: "openrouter/a/b",
		Admin: "marco", Identity: "telegram:12345",
	}
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
	want := Person{
		Name: "marco", Role: "admin", Identities: []string{"telegram:12345"},
		Tools: []string{"*"}, TimeZone: "Europe/Rome",
	}
	if len(s.People) != 1 || !reflect.DeepEqual(s.People[0], want) {
		t.Errorf("people = %+v", s.People)
	}
	if s.Scheduler.TimeZone != "Europe/Rome" || s.Agent.Planner != "openrouter/a/b" ||
		s.LLM.Providers[openRouter].APIKey.Reveal() != answers.APIKey {
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
