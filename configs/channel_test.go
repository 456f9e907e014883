package configs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/telegram"
	"switchboard/router"
)

// A token in the environment makes a channel of its kind, where the settings name none.
func TestTokensMakeChannels(t *testing.T) {
	t.Parallel()
	tokens := []string{"HOME=/", "TELEGRAM_BOT_TOKEN=1:tg", "SLACK_BOT_TOKEN=xoxb", "DISCORD_BOT_TOKEN="}
	for _, c := range []struct {
		file string
		env  []string
		want string
	}{
		{"", tokens, "telegram"},
		{"", append(tokens, "SLACK_APP_TOKEN=xapp"), "slack telegram"},
		{"[channels.tg]\nkind = \"telegram\"\ntoken = \"2:tg\"\n", tokens, "tg"},
		{"[channels.telegram]\nkind = \"telegram\"\ntoken = \"2:tg\"\nenabled = false\n", tokens, "telegram"},
		{"", append(tokens, "SWITCHBOARD_CHANNELS__TELEGRAM__API_URL=http://127.0.0.1:1"), "telegram"},
		{"", []string{"HOME=/"}, ""},
	} {
		dir := t.TempDir()
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, "switchboard.toml"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, _, err := Load(Options{Dir: dir, Env: c.env, Kinds: kinds()})
		if err != nil {
			t.Errorf("%s, %v: %v", c.file, c.env, err)
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(s.Channels)), " "); got != c.want {
			t.Errorf("%s, %v: the channels %q, want %q", c.file, c.env, got, c.want)
		}
		if tg, ok := s.Channels["telegram"]; ok && c.file == "" {
			if token, err := tg.Adapter.(*telegram.Config).Token.Read(); err != nil || token.Reveal() != "1:tg" {
				t.Errorf("%v: the token is %q, %v", c.env, token, err)
			}
		}
	}
}

func TestChannelTableIsSharedByRouterAndAdapter(t *testing.T) {
	t.Parallel()
	s := must(t, `
[channels.home]
kind = "pigeon"
token = "coo"
weight = "1KB"
dm = "open"
[channels.console]
kind = "console"
`, "SWITCHBOARD_CHANNELS__HOME__COOP=attic", "SWITCHBOARD_CHANNELS__BACK__KIND=pigeon")
	want := map[string]Channel{
		"home":    {ChannelConfig: router.DefaultChannelConfig(), Adapter: &pigeon{Token: "coo", Coop: "attic", Weight: 1024}},
		"back":    {ChannelConfig: router.DefaultChannelConfig(), Adapter: &pigeon{Coop: "roof"}},
		"console": {ChannelConfig: router.DefaultChannelConfig()},
	}
	for name, edit := range map[string]func(*Channel){
		"home":    func(c *Channel) { c.Kind, c.DM = "pigeon", "open" },
		"back":    func(c *Channel) { c.Kind = "pigeon" },
		"console": func(c *Channel) { c.Kind = "console" },
	} {
		c := want[name]
		edit(&c)
		want[name] = c
	}
	if !reflect.DeepEqual(s.Channels, want) {
		t.Errorf("channels = %+v, want %+v", s.Channels, want)
	}
	for _, shown := range s.Show() {
		if shown.Key == "channels.home.token" && shown.Value != redacted {
			t.Errorf("token is shown: %v", shown)
		}
	}
}

func TestKindNotInThisBuildIsOneWarning(t *testing.T) {
	t.Parallel()
	s, warns, err := loaded(t, `
[channels.web]
kind = "web"
dm = "pairing"
[[people]]
name = "marco"
identities = ["web:1"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Channels) != 0 {
		t.Errorf("channels = %v", s.Channels)
	}
	if len(warns) != 1 || warns[0].Key != "channels.web" || !strings.HasSuffix(warns[0].Source, "s.toml:2") ||
		!strings.Contains(warns[0].String(), notAvailable) {
		t.Errorf("warnings = %v", warns)
	}
	_, _, err = loaded(t, "[channels.web]\nkind = \"web\"\nbot_token = \"x\"\ndm = 1\n")
	if err == nil || !strings.Contains(err.Error(), "bot_token: unknown key") || !strings.Contains(err.Error(), "dm: needs text") {
		t.Errorf("its keys are still judged: %v", err)
	}
}

func TestSecretsAreReadFromWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("from-file \n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := must(t, `
[llm.providers.a]
api_key = "literal"
headers = { Authorization = "Bearer literal" }
[llm.providers.b]
api_key = "env:SET"
[llm.providers.c]
api_key = "env:UNSET"
[llm.providers.d]
api_key = "file:`+dir+`/key"
[store]
url = "env:URL"
`, "SET=from-env", "URL=postgres://u:from-env@h/d", "OPENROUTER_API_KEY=from-default")
	for name, want := range map[string]string{"a": "literal", "b": "from-env", "c": "", "d": "from-file ", openRouter: "from-default"} {
		if got := s.LLM.Providers[name].APIKey.Reveal(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	shown := map[string]Shown{}
	for _, line := range s.Show() {
		shown[line.Key] = line
		if strings.Contains(line.Value, "literal") || strings.Contains(line.Value, "from-") {
			t.Errorf("a credential is shown: %+v", line)
		}
	}
	if got := shown["llm.providers.c.api_key"]; got.Value != notSet || !strings.Contains(got.Source, "variable UNSET is not set") {
		t.Errorf("missing variable shown as %+v", got)
	}
	if got := shown["llm.providers.b.api_key"]; got.Value != redacted || !strings.Contains(got.Source, "s.toml:6 (env:SET)") {
		t.Errorf("variable shown as %+v", got)
	}
}

func TestSecretFaultsNameTheSettingAndNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{
		"[store]\nurl = \"secret:x\"":                    "store.url: cannot be a secret of the encrypted store",
		`api_key = "file:missing"`:                       "there is no file /",
		`api_key = "file:` + dir + `"`:                   "is not a file",
		"api_key = \"\"\n[store]\nurl = \"env:UNSET\"":   "store.url: is empty: variable UNSET is not set",
		"[[server.tokens]]\nname = \"a\"":                "server.tokens[0].value: is missing",
		"[server]\ninternal_token = \"env:UNSET\"":       "server.internal_token: is empty",
		"api_key = [\"hunter2\"]":                        "needs text in quotes, not a list",
		"[store]\nurl = \"mysql://u:hunter2@host/name\"": "store.url: is none of",
	} {
		_, _, err := loaded(t, "[llm.providers.a]\n"+text+"\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a fault shows the credential: %v", err)
		}
	}
}

func TestLaterSettingsWarn(t *testing.T) {
	t.Parallel()
	_, warns, err := loaded(t, `
[agent]
context_messages = 6
[llm.providers.c]
kind = "anthropic"
`, "SWITCHBOARD_TRANSCRIPTION__MODEL=x/y")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, w := range warns {
		got[w.Key] = strings.Contains(w.String(), notAvailable) && w.Source != ""
	}
	want := map[string]bool{
		"agent.context_messages": true, "llm.providers.c.kind": true,
		"transcription.model": true,
	}
	if !reflect.DeepEqual(got, want) || len(warns) != len(want) {
		t.Errorf("warnings = %v, want %v", warns, want)
	}
}

func TestLaterKeysExist(t *testing.T) {
	t.Parallel()
	for _, l := range laterKeys {
		found := false
		for key := range schema(reflect.TypeFor[Settings](), "") {
			found = found || key == l.key || strings.HasPrefix(key, l.key+".") || strings.HasPrefix(key, l.key+"[")
		}
		if !found {
			t.Errorf("%s is no key", l.key)
		}
	}
}

func TestChannelsDoNotShareAnAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("1:hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, a, b, more string
		shared           bool
	}{
		{"twice", "1:hunter2", "1:hunter2", "", true},
		{"by different ways", "env:SET", "file:there", "", true},
		{"not there yet", "file:later", "file:./later", "", true},
		{"a variable not set", "env:UNSET", "env:UNSET", "", true},
		{"two accounts", "1:hunter2", "2:hunter2", "", false},
		{"not there yet, two", "file:later", "env:UNSET", "", false},
		{"none", "", "", "", false},
		{"two platforms", "1:hunter2", "1:hunter2", "api_url = \"http://127.0.0.1:8081\"\n", false},
		{"one is off", "env:SET", "env:SET", "enabled = false\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "s.toml")
			text := fmt.Sprintf("[channels.first]\nkind = \"telegram\"\ntoken = %q\n[channels.other]\nkind = \"telegram\"\ntoken = %q\n%s", c.a, c.b, c.more)
			text = strings.ReplaceAll(text, "file:", "file:"+dir+"/")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := Load(Options{File: file, Env: []string{"HOME=/nowhere", "SET=1:hunter2"}, Kinds: kinds()})
			if (err != nil) != c.shared {
				t.Fatal(err)
			}
			if err != nil && (!strings.Contains(err.Error(), "s.toml:6: channels.other.token: is the same as that of [channels.first]") || strings.Contains(err.Error(), "hunter2")) {
				t.Error(err)
			}
		})
	}
}

// What can never be a credential is a fault where it is written, and no fault where it
// may change.
func TestLiteralCredentialOfTheWrongShapeIsAFault(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"hunter2": "s.toml:3: channels.telegram.token: it does not look like 123456:ABC", "1:hunter2": "", "env:SET": "", "env:UNSET": "", "": "",
	} {
		_, _, err := loaded(t, fmt.Sprintf("[channels.telegram]\nkind = \"telegram\"\ntoken = %q\n", token), "SET=hunter2")
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", token, err)
		}
	}
}

func TestCredentialsAreReadAtEachUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	text := func(name, token string) string {
		return "[channels." + name + "]\nkind = \"telegram\"\ntoken = \"" + token + "\"\n"
	}
	opts := Options{File: filepath.Join(dir, "s.toml"), Env: []string{"HOME=/nowhere", "SET=1:from-env"}, Kinds: kinds()}
	if err := os.WriteFile(opts.File, []byte(text("a", "1:literal")+text("b", "env:SET")+text("c", "env:UNSET")+
		text("d", "file:token")+"[channels.e]\nkind = \"telegram\"\n"+text("off", "env:UNSET")+"enabled = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, warns, err := Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	token := func(name string) (string, error) {
		secret, err := s.Channels[name].Adapter.(*telegram.Config).Token.Read()
		return secret.Reveal(), err
	}
	for name, want := range map[string]string{"a": "1:literal", "b": "1:from-env", "c": "", "d": "", "e": ""} {
		got, err := token(name)
		if got != want || (want == "") != errors.Is(err, channels.ErrNoCredentials) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	var waited []string
	for _, w := range warns {
		if strings.Contains(w.Text, "waits for it") {
			waited = append(waited, w.Key)
		}
		if want := map[string]string{
			"channels.c.token": "variable UNSET is not set", "channels.d.token": "there is no file " + path + ";",
			"channels.e.token": `write token = "env:NAME" with that variable set, or token = "file:PATH"`,
		}[w.Key]; !strings.Contains(w.Text, want) {
			t.Errorf("%s does not say %q", w, want)
		}
	}
	slices.Sort(waited)
	if want := []string{"channels.c.token", "channels.d.token", "channels.e.token"}; !slices.Equal(waited, want) {
		t.Errorf("warnings of %v, want %v: %v", waited, want, warns)
	}
	for _, content := range []string{"1:first\n", "1:second"} { // it comes while the program runs, and changes
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := token("d"); err != nil || got != strings.TrimSpace(content) {
			t.Errorf("file: %q, %v", got, err)
		}
	}
	for _, line := range s.Show() {
		if strings.Contains(line.Value+line.Source, "1:literal") || strings.Contains(line.Value+line.Source, "1:from") || strings.Contains(line.Value+line.Source, "1:second") {
			t.Errorf("a credential is shown: %+v", line)
		}
		if want, ok := map[string]string{"channels.a.token": redacted, "channels.c.token": notSet, "channels.e.token": notSet}[line.Key]; ok && line.Value != want {
			t.Errorf("%s is shown as %s, want %s", line.Key, line.Value, want)
		}
	}
	_, _, err = loaded(t, text("x", "x")+"mode = \"carrier\"\napi_url = \"127.0.0.1:80\"\nwebhook_secret = \"a b\"\n")
	for _, want := range []string{"mode: \"carrier\" is not one of", "api_url: is not an address", "webhook_secret: has 1 to 256"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
