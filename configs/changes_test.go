package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"switchboard/internal/secrets"
)

func TestChangesLieBetweenFileAndEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := Options{
		File: "s.toml", Dir: dir, Env: []string{"HOME=" + dir, "SWITCHBOARD_ROUTER__WORKERS=9"}, Kinds: kinds(), LogLevel: "debug",
		Changes: map[string]string{
			"router.workers": "8", "router.queue_per_session": "6", "log.level": "warn", "channels.a.b.dm": "open", "notify.budget": "ann, pigeon:7",
			"llm.models.new.model": "openrouter/x", "llm.models.new.price_in": "1.5", "files.max_size": "1MB", "router.stop_words": `["a,b"]`,
		},
	}
	s, _, err := Parse(opts, "[router]\nworkers = 7\nqueue_per_session = 5\nidle_timeout = \"4s\"\n[channels.\"a.b\"]\nkind = \"pigeon\"\ntoken = \"x\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(s.Router.Workers, s.Router.QueuePerSession, s.Router.IdleTimeout, s.Log.Level, s.Channels["a.b"].DM, s.Notify["budget"],
		s.LLM.Models["new"].Model, *s.LLM.Models["new"].PriceIn, s.Files.MaxSize, len(s.Router.StopWords))
	if want := "9 6 4sdebugopen[ann pigeon:7]openrouter/x1.5 1048576 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	from := map[string]string{}
	for _, shown := range s.Show() {
		from[shown.Key] = shown.Source
	}
	for key, want := range map[string]string{
		"router.workers": "environment SWITCHBOARD_ROUTER__WORKERS", "router.queue_per_session": "run-time change", "log.level": "--log-level",
		"channels.a.b.dm": "run-time change", "notify.budget": "run-time change",
	} {
		if from[key] != want {
			t.Errorf("%s comes from %q, want %q", key, from[key], want)
		}
	}
}

// stored sets a secret in the vault of s.
func stored(t *testing.T, s *Settings, name string) {
	t.Helper()
	if err := s.MakeDataDir(); err != nil {
		t.Fatal(err)
	}
	sealed, err := s.Vault.Seal(secrets.Secret("value-of-" + name))
	if err != nil {
		t.Fatal(err)
	}
	s.Vault.Keep(map[string][]byte{name: sealed})
}

func TestProposalSaysWhatWouldBe(t *testing.T) {
	t.Parallel()
	s := must(t, "[router]\nworkers = 7\n[channels.pigeon]\nkind = \"pigeon\"\ntoken = \"literal-token\"\n", "KEY=from-env-key", "OPENROUTER_API_KEY=first-key-value")
	stored(t, s, "bird")
	p, err := s.Propose(map[string]string{
		"router.workers": "8", "channels.pigeon.token": "secret:bird", "log.format": "json", "agent.context_messages": "7", "llm.models.m.model": "openrouter/x", "router.busy": "queue",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range p.Diff {
		lines = append(lines, fmt.Sprintf("%s: %s → %s %v", d.Key, d.Was, d.Is, d.Live))
	}
	want := []string{
		`log.format: "auto" → "json" false`, `llm.models.m.model:  → "openrouter/x" true`,
		`llm.models.m.context_tokens:  → 0 true`, `llm.models.m.max_output_tokens:  → 4096 true`,
		`llm.models.m.price_in:  → (not set) true`, `llm.models.m.price_out:  → (not set) true`,
		`llm.models.m.price_cached:  → (not set) true`, `llm.models.m.temperature:  → (not set) true`,
		`agent.context_messages: 5 → 7 true`, `router.workers: 7 → 8 true`, `channels.pigeon.token: [redacted] → secret:bird true`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the difference is\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Key != "agent.context_messages" {
		t.Errorf("warnings %v", p.Warnings)
	}
	if s.Router.Workers != 7 || s.Changes() != nil || len(p.Changes) != 6 {
		t.Errorf("the proposal changed what it began with: %+v, %v; it is %v", s.Router, s.Changes(), p.Changes)
	}

	again, err := p.Settings.Propose(map[string]string{"router.busy": "steer"}, []string{"router.workers", "llm.models.m.model"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(again.Settings.Router.Workers, again.Settings.Router.Busy, len(again.Settings.LLM.Models)); got != "7steer0" {
		t.Errorf("after it was taken back: %s", got)
	}
	if d := again.Diff[len(again.Diff)-1]; d.Key != "llm.models.m.temperature" || d.Is != "" {
		t.Errorf("what is gone: %+v", d)
	}
	if got := Diff(p.Settings, p.Settings); got != nil {
		t.Errorf("the same differs in %v", got)
	}
}

func TestProposalListsAllFaults(t *testing.T) {
	t.Parallel()
	s := must(t, "[channels.pigeon]\nkind = \"pigeon\"\ntoken = \"x\"\n[[people]]\nname = \"ann\"\nrole = \"admin\"\nidentities = [\"pigeon:1\"]\n[llm.providers.p]\nbase_url = \"http://127.0.0.1/v1\"\n",
		"SWITCHBOARD_ROUTER__BUSY=steer")
	_, err := s.Propose(map[string]string{
		"router.workers": "none", "router.worker": "8", "router.busy": "queue", "data_dir": "/x", "store.url": "sqlite:x", "people[0].role": "user", "people": "[]",
		"server.tokens": "[]", "channels.pigeon.token": "1:literal-credential", "llm.providers.p.headers.Authorization": "Bearer x", "agent.fallback[0]": "offline", "": "1",
		"channels.gone.dm": "open", "agent.planner": "nowhere/x", "log..level": "info", "llm.providers": "x",
	}, []string{"router.max_parts"})
	said := fmt.Sprint(err)
	for _, want := range []string{
		"run-time change: router.max_parts: was not changed at run time",
		`run-time change: router.workers: `, `router.worker: unknown key; did you mean "workers"?`,
		"router.busy: is set by environment SWITCHBOARD_ROUTER__BUSY, which goes before",
		"data_dir: cannot be changed while the program runs", "store.url: cannot be changed while", "people[0].role: people are changed with /people",
		"people: people are changed with /people", "server.tokens: lists of tables can be set only in the file",
		"channels.pigeon.token: a credential would stand readable in the database; set it with /secret set NAME, at Secrets on the page or with \"switchboard secret set NAME\", and write secret:NAME here",
		"llm.providers.p.headers.Authorization: often holds a credential", "agent.fallback[0]: is an entry of a list",
		"channels.gone.kind: is missing", `agent.planner: "nowhere/x" is no model`, "log..level: names no key",
		`llm.providers: needs a table, not "x"`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("without %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "literal-credential") || s.Mask.Text("1:literal-credential") != "[redacted]" {
		t.Error("the credential is shown")
	}
	if _, err := s.Propose(map[string]string{"ROUTER.workers": "3"}, nil); err == nil || !strings.Contains(err.Error(), "ROUTER: unknown key") {
		t.Errorf("in capitals: %v", err)
	}
}

func TestWhatCouldLockOutIsKnown(t *testing.T) {
	t.Parallel()
	s := must(t, "[channels.a]\nkind = \"pigeon\"\ntoken = \"x\"\n[channels.b]\nkind = \"pigeon\"\ntoken = \"y\"\n")
	p, err := s.Propose(map[string]string{
		"channels.a.enabled": "false", "channels.a.dm": "disabled", "channels.a.coop": "tree", "channels.a.tools_deny": "exec, files", "channels.a.require_mention": "false",
		"channels.b.enabled": "false", "router.rate_person": "1/m", "router.stop_words": "/config", "router.message_limit": "1KB", "router.busy": "steer", "log.level": "warn", "server.listen": "127.0.0.1:9999",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofRouter := []string{"router.stop_words", "router.rate_person", "router.message_limit"}
	for channel, want := range map[string][]string{
		"a":       append(ofRouter[:3:3], "channels.a.enabled", "channels.a.dm", "channels.a.coop"),
		"b":       append(ofRouter[:3:3], "channels.b.enabled"),
		"web":     append([]string{"server.listen"}, ofRouter...),
		"console": nil,
	} {
		if got := p.LocksOut(channel); !slices.Equal(got, want) {
			t.Errorf("from %s: %v, want %v", channel, got, want)
		}
	}
}

// Every key of the file has its place in the table, or no effect yet, and every place has keys.
func TestEveryKeyIsLiveOrNot(t *testing.T) {
	t.Parallel()
	fits := map[string]bool{}
	for key := range schema(reflect.TypeFor[Settings](), "") {
		bare := strings.ReplaceAll(key, "[]", "")
		found := slices.ContainsFunc(laterKeys, func(l laterKey) bool { return l.values == nil && matches(l.key, bare) })
		for _, part := range liveness {
			if matches(part.key, bare) {
				found, fits[part.key] = true, true
			}
		}
		if !found {
			t.Errorf("nobody says whether %s is live", key)
		}
		if keys := strings.SplitN(bare, ".", 2); Live(key) != Live(bare) || keys[0] == "router" && !Live(key) {
			t.Errorf("%s is not live", key)
		}
	}
	for _, part := range liveness {
		if !fits[part.key] {
			t.Errorf("no key is %s", part.key)
		}
	}
	for key, want := range map[string]bool{
		"server.listen": false, "server.allow_private": true, "server.allow_private[1]": true, "server.tokens[0].value": true, "server.pprof": false, "server.trusted_proxies": false, "store.url": false,
		"log.level": true, "log.format": false, "channels.x.token": true, "people[3].role": true, "nothing": false,
		"memory.learning": true, "embeddings.model": true,
		"transcription.model": true, // which nothing reads yet
	} {
		if Live(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

// docs/settings.md has the same table.
func TestDocsSayWhatIsLive(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| settings | a change counts |\n|---|---|\n")
	for _, part := range liveness {
		fmt.Fprintf(&want, "| `%s` | at %s |\n", part.key, map[bool]string{true: "once", false: "the next start"}[part.live])
	}
	if !strings.Contains(string(text), "\n\n"+want.String()+"\n") {
		t.Errorf("docs/settings.md lacks this table:\n%s", want.String())
	}
}

func TestWhatNeedsARestartStays(t *testing.T) {
	t.Parallel()
	const text = "data_dir = \"\"\n[router]\nidle_timeout = \"3m\"\n"
	was := must(t, text)
	is, _, err := Parse(was.options(map[string]string{"log.format": "json", "server.listen": "127.0.0.1:1", "server.allow_private": "10.0.0.0/8", "router.workers": "3"}),
		strings.Replace(text, `data_dir = ""`, "data_dir = \"/else\"\nstore.url = \"sqlite:other\"\nserver.internal_token = \"other-token\"", 1))
	if err != nil {
		t.Fatal(err)
	}
	kept := is.Keeping(was)
	for _, d := range Diff(is, kept) {
		if d.Live {
			t.Errorf("%s is live and was kept", d.Key)
		}
	}
	for _, d := range Diff(was, kept) {
		if !d.Live {
			t.Errorf("%s is not live and was not kept", d.Key)
		}
	}
	if kept.DataDir != was.DataDir || kept.Store != was.Store || kept.Log.Format != "auto" || kept.Router.Workers != 3 || len(kept.Server.AllowPrivate) != 1 {
		t.Errorf("kept %+v", kept)
	}
	if len(Diff(was, is)) != 7 {
		t.Errorf("it should differ in seven settings: %v", Diff(was, is))
	}
}

func TestSettingsAreReadAgain(t *testing.T) {
	t.Parallel()
	s := must(t, "[router]\nworkers = 7\n")
	write(t, s.File, "[llm.providers.p]\napi_key = \"secret:model\"\n")
	if _, _, err := s.Again(nil); err == nil || !strings.Contains(err.Error(), `there is no secret "model"`) {
		t.Errorf("without the secret: %v", err)
	}
	stored(t, s, "model")
	write(t, s.File, "[router]\nworkers = 6\nqueue_per_session = 4\n[llm.providers.p]\napi_key = \"secret:model\"\n")
	next, _, err := s.Again(map[string]string{"router.workers": "5"})
	if err != nil {
		t.Fatal(err)
	}
	if next.Router.Workers != 5 || next.Router.QueuePerSession != 4 || next.LLM.Providers["p"].APIKey.Reveal() != "value-of-model" || next.Vault != s.Vault || next.Mask != s.Mask {
		t.Errorf("read again: %+v", next.Router)
	}
	write(t, s.File, "[router]\nworkers = 6\nbusy = 3\n")
	if _, _, err := s.Again(nil); err == nil {
		t.Error("a broken file was read")
	}
}

// A chat does not reach the machine by a setting, nor have a provider sent the key of the secrets.
func TestChangesDoNotReachTheMachine(t *testing.T) {
	t.Parallel()
	s := must(t, "", "SWITCHBOARD_SECRET_KEY=AGE-SECRET-KEY-1X")
	for key, value := range map[string]string{
		"policy.service": "", "policy.service_token": "secret:x",
		"agent.sandbox": "off", "agent.admin_unconfined": "true", "files.scan_command": "true",
		"llm.providers.openrouter.api_key": "env:SWITCHBOARD_SECRET_KEY",
		"server.internal_token":            "file:/etc/hostname",
		"server.webhook_secret":            "env:HOME",
	} {
		p, err := s.Propose(map[string]string{key: value}, nil)
		if faults, ok := errors.AsType[Faults](err); !ok || !slices.ContainsFunc(faults, func(f Fault) bool {
			return f.Key == key && (strings.Contains(f.Text, "reaches the machine") || strings.Contains(f.Text, "decides about admins too") || strings.Contains(f.Text, "env: and file: can be written in the settings file alone; set it with /secret set NAME"))
		}) {
			t.Errorf("%s = %s: %v, %v", key, value, p, err)
		}
	}
}

// A value of the environment is not what is saved.
func TestSaveLeavesWhatTheEnvironmentSets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "switchboard.toml")
	if err := os.WriteFile(path, []byte("[router]\nworkers = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := Load(Options{File: path, Env: []string{"HOME=" + t.TempDir(), "SWITCHBOARD_ROUTER__WORKERS=9"}, Changes: map[string]string{"router.workers": "7", "router.busy": "steer"}})
	if err != nil {
		t.Fatal(err)
	}
	saved, err := s.Save()
	text, readErr := os.ReadFile(path)
	if err != nil || readErr != nil || !slices.Equal(saved.Keys, []string{"router.busy"}) || !strings.Contains(string(text), "workers = 3\n") {
		t.Errorf("%+v, %v, %v\n%s", saved, err, readErr, text)
	}
}

// What lies in data_dir is no credential of a setting, whatever path leads there.
func TestCredentialsLieOutsideTheDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	for _, path := range []string{filepath.Join(data, "workspaces", "w"), filepath.Join(dir, "data-of-others")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(data, "secret.key"), "AGE-SECRET-KEY-1X\n")
	write(t, filepath.Join(data, "workspaces", "w", "note"), "text of a workspace")
	write(t, filepath.Join(dir, "data-of-others", "token"), "a-token-of-ours")
	for from, to := range map[string]string{"link": filepath.Join(data, "secret.key"), "folder": data, "root": "/"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(data, "secret.key"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(filepath.Join(data, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	load := func(ref string, environ ...string) error {
		_, _, err := Load(Options{
			File: "s.toml", Dir: dir, Env: append([]string{"HOME=" + dir, "SWITCHBOARD_SECRET_KEY=AGE-SECRET-KEY-1X"}, environ...), Kinds: kinds(),
		})
		return err
	}
	const text = "data_dir = \"data\"\n[llm.providers.p]\nbase_url = \"https://models.test/v1\"\n"
	for _, ref := range []string{
		"file:data/secret.key", "file:" + filepath.Join(data, "secret.key"), "file:x/../data/secret.key", "file:data/none-yet", "file:data/workspaces/w/note",
		"file:link", "file:hard", "file:folder/secret.key", "file:folder/workspaces/w/note", "file:root" + data + "/secret.key",
		"file:/proc/self/root" + data + "/secret.key", "file:/proc/self/root/proc/self/root" + data + "/workspaces/w/note", "file:/proc/self/cwd/../../../../../../../.." + data + "/secret.key",
		fmt.Sprintf("file:/proc/self/fd/%d", open.Fd()), "env:SWITCHBOARD_SECRET_KEY",
	} {
		const want = "llm.providers.p.api_key: lies with the data of the program itself"
		write(t, filepath.Join(dir, "s.toml"), text+fmt.Sprintf("api_key = %q\n", ref))
		if err := load(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in the file: %v", ref, err)
		}
		write(t, filepath.Join(dir, "s.toml"), text)
		if err := load(ref, "SWITCHBOARD_LLM__PROVIDERS__P__API_KEY="+ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s in the environment: %v", ref, err)
		}
	}
	write(t, filepath.Join(dir, "s.toml"), text+"api_key = \"file:data-of-others/token\"\n")
	if err := load(""); err != nil {
		t.Errorf("a file beside the folder: %v", err)
	}
}

// A chat has no credential sent elsewhere: an address that is set at run time goes with a credential that is
// set with it, or after it.
func TestNewAddressNeedsItsCredentialAgain(t *testing.T) {
	t.Parallel()
	const text = "[llm.providers.file]\nbase_url = \"https://models.test/v1\"\napi_key = \"literal-key-of-file\"\n" +
		"[llm.providers.\"head.er\"]\nbase_url = \"https://models.test/v1\"\nheaders = { X-Key = \"literal-header\" }\n" +
		"[llm.providers.open]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"\"\n" +
		"[llm.providers.env]\n[llm.providers.unset]\napi_key = \"env:NOT_SET\"\n[channels.tg]\nkind = \"telegram\"\ntoken = \"1:literal-token-of-the-bot-in-the-file\"\n[channels.\"t.g\"]\nkind = \"telegram\"\n"
	dir := t.TempDir()
	opts := Options{File: "s.toml", Dir: dir, Env: []string{"HOME=" + dir, "SWITCHBOARD_LLM__PROVIDERS__ENV__API_KEY=of-the-environment"}, Kinds: kinds()}
	const evil = "https://evil.test/v1"
	with := func(pairs ...string) map[string]string {
		set := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			set[pairs[i]] = pairs[i+1]
		}
		return set
	}
	const file, fresh, tg = "llm.providers.file.", "llm.providers.new.", "channels.t.g."
	for _, c := range []struct {
		name   string
		stored map[string]string
		set    map[string]string
		unset  string
		want   string // empty: it is taken
	}{
		{"the file's key", nil, with(file+"base_url", evil), "", file + "base_url: " + file + "api_key would go to another address"},
		{"the file's key, and back", nil, with(file+"base_url", evil, file+"api_key", "secret:mine"), "", ""},
		{"the file's headers", nil, with("llm.providers.head.er.base_url", evil, "llm.providers.head.er.api_key", "secret:mine"), "", "headers.X-Key would go"},
		{"the environment's key", nil, with("llm.providers.env.base_url", evil), "", "env.api_key would go"},
		{"the key that the environment always has", nil, with("llm.providers.openrouter.base_url", evil), "", "openrouter.api_key would go"},
		{"a variable that is not set yet", nil, with("llm.providers.unset.base_url", evil), "", "unset.api_key would go"},
		{"the file's token", nil, with("channels.tg.api_url", evil), "", "channels.tg.api_url: channels.tg.token would go"},
		{"no key", nil, with("llm.providers.open.base_url", evil), "", ""},
		{"no token", nil, with(tg+"api_url", evil), "", ""},
		{"a new provider", nil, with(fresh+"base_url", evil), "", ""},
		{"its key then", with(fresh+"base_url", evil), with(fresh+"api_key", "secret:mine"), "", ""},
		{"its key moved", with(fresh+"base_url", "https://mine.test", fresh+"api_key", "secret:mine"), with(fresh+"base_url", evil), "", fresh + "api_key would go to another address, so it has to be set again with it"},
		{"moved with its key", with(fresh+"base_url", "https://mine.test", fresh+"api_key", "secret:mine"), with(fresh+"base_url", evil, fresh+"api_key", "secret:mine"), "", ""},
		{"the same address", with(fresh+"base_url", evil, fresh+"api_key", "secret:mine"), with(fresh+"base_url", evil), "", ""},
		{"a token moved", with(tg+"api_url", "https://mine.test", tg+"token", "secret:mine"), with(tg+"api_url", evil), "", tg + "token would go"},
		{"the key that the file has comes back", with(file+"base_url", evil, file+"api_key", "secret:mine"), nil, file + "api_key", file + "api_key would go"},
		{"back to the file's address", with(file+"base_url", evil, file+"api_key", "secret:mine"), nil, file + "base_url", ""},
	} {
		opts.Changes = c.stored
		s, warns, err := Parse(opts, text)
		if err != nil || slices.ContainsFunc(warns, func(w Warning) bool { return strings.HasSuffix(w.Key, "_url") }) {
			t.Fatalf("%s: %v, %v", c.name, err, warns)
		}
		var unset []string
		if c.unset != "" {
			unset = append(unset, c.unset)
		}
		stored(t, s, "mine")
		_, err = s.Propose(c.set, unset)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What older builds stored locks nobody out: credentials go on counting, and are warned of; an address that would
// take a credential of the file elsewhere has no effect.
func TestChangesOfOlderBuildsGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "token-in-a-file")
	const text = "[llm.providers.p]\nbase_url = \"https://models.test/v1\"\napi_key = \"literal-key-of-file\"\n[channels.home]\nkind = \"pigeon\"\n"
	s, warns, err := Parse(Options{
		File: "s.toml", Dir: dir, Env: []string{"HOME=" + dir, "KEY=key-of-the-environment"}, Kinds: kinds(),
		Changes: map[string]string{
			"llm.providers.p.base_url": "https://evil.test/v1", "llm.providers.q.api_key": "env:KEY", "llm.providers.q.base_url": "https://q.test",
			"channels.home.token": "file:token", "router.workers": "7",
		},
	}, text)
	if err != nil {
		t.Fatal(err)
	}
	token := s.Channels["home"].Adapter.(*pigeon).Token
	if got := fmt.Sprint(s.LLM.Providers["p"].BaseURL, " ", s.LLM.Providers["q"].APIKey.Reveal(), " ", token.Reveal(), " ", s.Router.Workers); got != "https://models.test/v1 key-of-the-environment token-in-a-file 7" {
		t.Errorf("%s", got)
	}
	said := fmt.Sprint(warns)
	for _, want := range []string{
		"run-time change: llm.providers.p.base_url: has no effect", "run-time change: llm.providers.q.api_key: still works, but env: and file:", "run-time change: channels.home.token: still works",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\nwithout %q", said, want)
		}
	}
	for set, want := range map[string]string{"llm.providers.q.api_key": "env:KEY", "channels.home.token": "file:other"} {
		if _, err := s.Propose(map[string]string{set: want}, nil); err == nil || !strings.Contains(err.Error(), "in the settings file alone") {
			t.Errorf("%s is set again: %v", set, err)
		}
	}
	if p, err := s.Propose(map[string]string{"router.workers": "8"}, nil); err != nil || p.Settings.Router.Workers != 8 {
		t.Errorf("another change: %v", err)
	}
}
