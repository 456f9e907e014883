package configs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/discord"
	"switchboard/channels/slack"
	"switchboard/channels/telegram"
	"switchboard/internal/secrets"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pigeon is the Config of an adapter that exists only here.
type pigeon struct {
	Token  secrets.Secret `toml:"token"`
	Coop   string         `toml:"coop"`
	Weight int64          `toml:"weight" unit:"size"`
}

func (p *pigeon) Validate() error {
	if p.Coop == "" {
		return errors.New("coop: is missing; pigeons must come home")
	}
	return nil
}

func kinds() channels.Kinds {
	return channels.Kinds{
		{Name: "pigeon", Config: func() any { return &pigeon{Coop: "roof"} }},
		{Name: "console"},
		telegram.Kind, slack.Kind, discord.Kind,
	}
}

// loaded loads text as DIR/s.toml with these variables.
func loaded(t *testing.T, text string, environ ...string) (*Settings, []Warning, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Options{File: "s.toml", Dir: dir, Env: append([]string{"HOME=" + dir}, environ...), Kinds: kinds()})
}

// must is loaded without faults.
func must(t *testing.T, text string, environ ...string) *Settings {
	t.Helper()
	s, _, err := loaded(t, text, environ...)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return s
}

// relative is err without the folder of this run.
func relative(s *Settings, err error) string {
	lines := strings.Split(fmt.Sprint(err), "\n")
	for i, l := range lines {
		if _, rest, ok := strings.Cut(l, "/s.toml"); ok {
			lines[i] = "s.toml" + rest
		}
	}
	return strings.Join(lines, "\n")
}

func TestLayersOverrideEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "[router]\nworkers = 7\nqueue_per_session = 8\n[log]\nlevel = \"warn\"\n"
	if err := os.WriteFile(filepath.Join(dir, "switchboard.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := Load(Options{
		Dir: dir, DataDir: "d", LogLevel: "debug",
		Env: []string{"HOME=" + dir, "SWITCHBOARD_ROUTER__WORKERS=9", "switchboard_data_dir=/elsewhere", "SWITCHBOARD_TOKEN=t", "SWITCHBOARD_CONFIG="},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Router.Workers != 9 || s.Router.QueuePerSession != 8 || s.Router.IdleTimeout != 5*time.Minute {
		t.Errorf("router = %+v", s.Router)
	}
	if s.DataDir != filepath.Join(dir, "d") || s.Log.Level != "debug" {
		t.Errorf("data_dir %q, level %q; the command line comes last", s.DataDir, s.Log.Level)
	}
	file := filepath.Join(dir, "switchboard.toml")
	want := map[string]string{
		"router.workers":           "environment SWITCHBOARD_ROUTER__WORKERS",
		"router.queue_per_session": file + ":3",
		"router.idle_timeout":      "default",
		"data_dir":                 "--data",
		"log.level":                "--log-level",
		"log.format":               "default",
	}
	for _, shown := range s.Show() {
		if w, ok := want[shown.Key]; ok && shown.Source != w {
			t.Errorf("%s comes from %q, want %q", shown.Key, shown.Source, w)
		}
		delete(want, shown.Key)
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
}

func TestFileIsFoundInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, level string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("[log]\nlevel = \""+level+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	opts := Options{Dir: dir, Env: []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir + "/etc"}}
	level := func() string {
		s, _, err := Load(opts)
		if err != nil {
			return err.Error()
		}
		return s.Log.Level
	}
	if got := level(); got != "info" {
		t.Errorf("with no file: %s", got)
	}
	write("etc/switchboard/switchboard.toml", "debug")
	if got := level(); got != "debug" {
		t.Errorf("with one in the configuration folder: %s", got)
	}
	write("switchboard.toml", "warn")
	if got := level(); got != "warn" {
		t.Errorf("with one here: %s", got)
	}
	opts.Env = append(opts.Env, "SWITCHBOARD_CONFIG="+write("named.toml", "error"))
	if got := level(); got != "error" {
		t.Errorf("with SWITCHBOARD_CONFIG: %s", got)
	}
	opts.File = "missing.toml"
	if got := level(); !strings.Contains(got, "--config") || !strings.Contains(got, "switchboard init") {
		t.Errorf("with a --config that is not there: %s", got)
	}
}

func TestDataDirBeginsAtTheFileAndIsPrivate(t *testing.T) {
	t.Parallel()
	s := must(t, "data_dir = \"sub\"\n")
	if s.DataDir != filepath.Join(filepath.Dir(s.File), "sub") {
		t.Errorf("a relative data_dir begins at the file, got %q", s.DataDir)
	}
	if err := s.MakeDataDir(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.DataDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made %v, %v; want 0700", info.Mode(), err)
	}
	s = must(t, "", "XDG_DATA_HOME=/srv/data")
	if s.DataDir != "/srv/data/switchboard" {
		t.Errorf("default data_dir = %q", s.DataDir)
	}
	if _, _, err := Load(Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no home folder") {
		t.Errorf("without a home folder: %v", err)
	}
}

func TestFaultsAreNamedAllAtOnceWithFileAndLine(t *testing.T) {
	t.Parallel()
	faulty, err := os.ReadFile("testdata/faults.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := loaded(t, string(faulty), "SWITCHBOARD_ROUTER__WORKERS=many", "SWITCHBOARD_SERVR__LISTEN=x", "SWITCHBOARD_PEOPLE__NAME=x")
	got := relative(s, err) + "\n"
	if *update {
		if err := os.WriteFile("testdata/faults.golden", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/faults.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPortsThatDoNotExistAreFaults(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]string{
		"[server]\nlisten = \"127.0.0.1:99999\"":                               "server.listen",
		"[server]\npublic_url = \"https://bot.example.org:70000\"":             "server.public_url",
		"[llm.providers.openrouter]\nbase_url = \"http://127.0.0.1:99999/v1\"": "llm.providers.openrouter.base_url",
		"[store]\nurl = \"postgres://u@h:99999/n\"":                            "store.url",
	} {
		s, _, err := loaded(t, text)
		if got, want := relative(s, err), "s.toml:2: "+key+": there is no port "; !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q…", text, got, want)
		}
	}
	must(t, "[server]\nlisten = \"127.0.0.1:65535\"")
}

// What is set beside a setting has no effect, which nobody would find out.
func TestStrayVariablesWarn(t *testing.T) {
	t.Parallel()
	_, warns, err := loaded(t, "[llm.providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1/v1\"\napi_key = \"env:SWITCHBOARD_OWN_KEY\"",
		"SWITCHBOARD_AGENT_PLANNER=x", "SWITCHBOARD_FOO=1", "SWITCHBOARD_OWN_KEY=k", "SWITCHBOARD_TOKEN=t", "SWITCHBOARD_CONFIG=", "SWITCHBOARD_LLM_PROVIDERS_A_API_KEY=k")
	var got []string
	for _, w := range warns {
		got = append(got, w.String())
	}
	want := []string{
		"environment SWITCHBOARD_AGENT_PLANNER: there is no such setting, so it does nothing; did you mean SWITCHBOARD_AGENT__PLANNER?",
		"environment SWITCHBOARD_FOO: there is no such setting, so it does nothing",
		"environment SWITCHBOARD_LLM_PROVIDERS_A_API_KEY: there is no such setting, so it does nothing; did you mean SWITCHBOARD_LLM__PROVIDERS__A__API_KEY?",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
}

// A key that is at fault is not warned of as well.
func TestAFaultIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, warns, err := loaded(t, "[channels.home]\nkind = \"pigeon\"\ntoken = -1\n[channels.telegram]\nkind = \"telegram\"\n")
	for _, w := range warns {
		if err != nil && strings.Contains(err.Error(), w.Key+":") {
			t.Errorf("said twice: %v, %s", err, w)
		}
	}
	if err == nil {
		t.Error("no fault")
	}
}

func TestSyntaxFaultsNameTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = \n":                                    "s.toml:1: ",
		"[log]\nlevel = \"info\"\nlevel = \"x\"":    "s.toml:3: level: is written twice; the first time at ",
		"[log]\n[log]\n":                            "s.toml:2: log: is written twice",
		"[people]\n[[people]]\n":                    "s.toml:2: people: is written once as [[…]] and once otherwise",
		"data_dir = \"x\"\n[data_dir.y]\nz = 1\n":   "s.toml:2: data_dir: is a value at ",
		"[log]\nlevel = \"\xff\"\n":                 "s.toml:2: ",
		"\n\nserver = { listen = \"x\", listen = 1": "s.toml:3: ",
	} {
		s, _, err := loaded(t, text)
		if got := relative(s, err); !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q…", text, got, want)
		}
	}
}

func TestValuesOfEveryTypeAreRead(t *testing.T) {
	t.Parallel()
	s := must(t, `
[agent]
turn_timeout = "90s"
context_ceiling = 1
output_limit = "2 kb"
max_llm_calls = 1_000
fallback = ["offline"]
[memory]
expire_after = "0"
[files]
max_size = 2048
[llm.models.m]
model = "openrouter/a/b"
temperature = 0.5
[llm.providers.my-local]
base_url = "http://127.0.0.1:1/v1"
headers = { X-Title = "t" }
`,
		"SWITCHBOARD_ROUTER__STOP_WORDS=halt, basta", "SWITCHBOARD_AGENT__LENIENT=TRUE",
		`SWITCHBOARD_SERVER__ALLOW_PRIVATE=["10.0.0.0/8", "fd00::/8"]`, "SWITCHBOARD_AGENT__EXEC_TIMEOUT=5s",
		"SWITCHBOARD_FILES__MAX_SIZE=1GB", "SWITCHBOARD_LLM__PROVIDERS__MY_LOCAL__API_KEY=env:KEY", "KEY=hush",
		"SWITCHBOARD_MEMORY__MIN_CONFIDENCE=0.25", "SWITCHBOARD_NOTIFY__DISK=a:b")
	checks := []struct {
		name      string
		got, want any
	}{
		{"turn_timeout", s.Agent.TurnTimeout, 90 * time.Second},
		{"context_ceiling", s.Agent.ContextCeiling, 1.0},
		{"output_limit", s.Agent.OutputLimit, int64(2048)},
		{"max_llm_calls", s.Agent.MaxLLMCalls, 1000},
		{"fallback", s.Agent.Fallback, []string{"offline"}},
		{"stop_words", s.Router.StopWords, []string{"halt", "basta"}},
		{"lenient", s.Agent.Lenient, true},
		{"allow_private", s.Server.AllowPrivate, []string{"10.0.0.0/8", "fd00::/8"}},
		{"exec_timeout", s.Agent.ExecTimeout, 5 * time.Second},
		{"max_size", s.Files.MaxSize, int64(1 << 30)},
		{"min_confidence", s.Memory.MinConfidence, 0.25},
		{"notify", s.Notify, map[string][]string{"disk": {"a:b"}}},
		{"temperature", *s.LLM.Models["m"].Temperature, 0.5},
		{"kind", s.LLM.Providers["my-local"].Kind, "openai"},
		{"headers", s.LLM.Providers["my-local"].Headers, map[string]string{"X-Title": "t"}},
		{"api_key", s.LLM.Providers["my-local"].APIKey.Reveal(), "hush"},
	}
	for _, c := range checks {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}
