package configs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/telegram"
	"switchboard/internal/secrets"
)

func TestSecretsOfTheStoreAreLookedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	load := func(text string, look func(string) (secrets.Secret, error)) (*Settings, []Warning, error) {
		if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(Options{
			File: "s.toml", Dir: dir, Env: []string{"HOME=" + dir, "SWITCHBOARD_SECRET_KEY=AGE-SECRET-KEY-1X", "KEY=from-env-key"}, Secrets: look,
			Kinds: kinds(),
		})
	}
	const text = `
[llm.providers.a]
api_key = "secret:model"
headers = { Authorization = "Bearer in-a-header" }
[llm.providers.b]
api_key = "env:KEY"
[channels.tg]
kind = "telegram"
token = "secret:bot"
[[server.tokens]]
name = "ci"
value = "secret:ci"
[store]
url = "postgres://u:in-the-url@h/d"
`
	key := func(s *Settings) string { return s.LLM.Providers["a"].APIKey.Reveal() }
	token := func(s *Settings) (string, error) {
		secret, err := s.Channels["tg"].Adapter.(*telegram.Config).Token.Read()
		return secret.Reveal(), err
	}
	s, warns, err := load(text, nil)
	if err != nil || len(warns) != 1 || !s.UsesSecrets() || len(key(s)) < 20 || strings.Contains(key(s), "model") {
		t.Fatalf("before they are looked up: %v, %v, %q", err, warns, key(s))
	}
	values := map[string]secrets.Secret{"model": "value-of-model", "bot": "1:value-of-bot", "ci": "value-of-ci"}
	look := func(name string) (secrets.Secret, error) {
		if v, ok := values[name]; ok {
			return v, nil
		}
		return "", secrets.ErrUnknown
	}
	if s, warns, err = load(text, look); err != nil || len(warns) != 0 {
		t.Fatal(err, warns)
	}
	if got, err := token(s); key(s) != "value-of-model" || got != "1:value-of-bot" || err != nil || s.Server.Tokens[0].Value.Reveal() != "value-of-ci" {
		t.Errorf("%q, %q, %v", key(s), got, err)
	}
	if by := s.UsedBy("bot"); !slices.Equal(by, []string{"channels.tg.token"}) || s.UsedBy("none") != nil {
		t.Errorf("used by %v", by)
	}
	for _, secret := range []string{"value-of-model", "1:value-of-bot", "value-of-ci", "from-env-key", "in-a-header", "in-the-url", "AGE-SECRET-KEY-1X"} {
		if got := s.Mask.Text("<" + secret + ">"); got != "<[redacted]>" {
			t.Errorf("%q is not masked: %q", secret, got)
		}
	}
	for _, line := range s.Show() {
		if line.Key == "llm.providers.a.api_key" && (line.Value != redacted || line.Kept != "secret:model" || !strings.Contains(line.Source, "secret:model")) {
			t.Errorf("shown as %+v", line)
		}
	}

	delete(values, "bot")
	delete(values, "ci")
	_, _, err = load(text, look)
	for _, want := range []string{
		`channels.tg.token: there is no secret "bot"; set it with: switchboard secret set bot`, `server.tokens[0].value: there is no secret "ci"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}

	lost := errors.New("the key is lost: do this")
	s, warns, err = load(text, func(string) (secrets.Secret, error) { return "", lost })
	if err != nil {
		t.Fatalf("a lost key keeps everything from starting: %v", err)
	}
	said := ""
	for _, w := range warns {
		said += w.String() + "\n"
	}
	for _, key := range []string{"llm.providers.a.api_key", "channels.tg.token", "server.tokens[0].value"} {
		if !strings.Contains(said, key) || !strings.Contains(said, lost.Error()) {
			t.Errorf("%s is not said of in: %s", key, said)
		}
	}
	if _, err := token(s); !errors.Is(err, channels.ErrNoCredentials) || !errors.Is(err, lost) {
		t.Errorf("the token: %v", err)
	}
	if len(key(s)) < 20 || len(s.Server.Tokens[0].Value.Reveal()) < 20 {
		t.Error("what a lost secret should open is open")
	}
	if _, _, err := load("data_dir = \"secret:x\"\n", nil); err == nil || !strings.Contains(err.Error(), "data_dir: cannot be a secret") {
		t.Errorf("data_dir: %v", err)
	}
}
