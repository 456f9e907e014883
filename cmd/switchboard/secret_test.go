package main_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/store/storetest"
	"switchboard/testkit"
)

// promise: P6.encrypted
func TestSecretsAreSetOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := bare(t)
	data := filepath.Join(r.dir, "data")
	testkit.Write(t, r.config, "data_dir = \""+data+"\"\n[llm.providers.x]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"secret:model\"\n")
	const value = "canary-of-the-pipe-4711"
	gives := func(stdin, line string, code int, want string) {
		t.Helper()
		out, errs, got := r.commandWith(stdin, strings.Fields(line)...)
		if got != code || !strings.Contains(out+errs, want) || strings.Contains(out+errs, "canary") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %d, %q", line, got, out, errs, code, want)
		}
	}
	gives("", "config check", 2, `llm.providers.x.api_key: there is no secret "model"; set it with: switchboard secret set model`)
	gives("short", "secret set model", 1, "at least 6 characters")
	gives("some-value", "secret set a/b", 2, `"a/b" is no name of a secret`)
	gives(value+"\n", "secret set model --tool http.get", 0, "It is used by llm.providers.x.api_key.")
	gives("", "config check", 0, "the settings are fine")
	gives("", "secret list", 0, "http.get")
	gives("", "config show", 0, "(secret:model)")
	gives("", "secret remove model", 1, "model is used by llm.providers.x.api_key; change that first")
	gives("other-value", "secret set other", 0, "other is set")
	gives("", "secret remove other", 0, "other is taken away")
	gives("", "secret remove other", 1, "not found")
	key := filepath.Join(data, "secret.key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	gives("", "config check", 0, "run chmod 600 "+key)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	gives("", "config check", 0, "the key "+key+" is not there: put it back")
	gives("hello\n", "chat", 0, "") // everything else goes on
	written := storetest.Files(t, data)
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))[:20]} {
		if strings.Contains(written, form) {
			t.Errorf("%q is in the data folder", form)
		}
	}
}
