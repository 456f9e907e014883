package setup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A command that is none names the nearest, and none of nothing is wanted.
func TestWrongUsageSaysWhatWasMeant(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	for line, want := range map[string]string{
		"trun":                       `unexpected argument trun, did you mean "turn"?`,
		"trun list":                  `did you mean "turn"?`,
		"pepole":                     `unexpected argument pepole`,
		"turn lsit":                  `did you mean "list"?`,
		"turn list --limit 0":        "--limit: 0 is none; at least 1 is needed",
		"turn list --limit=-1":       "--limit: -1 is none",
		"delivery list --limit 0":    "--limit: 0 is none",
		"channel rejected --limit 0": "--limit: 0 is none",
		"person refused --limit 0":   "--limit: 0 is none",
		"memory forget -- -1":        "<id>: -1 is no number; numbers begin with 1",
		"turn show 0":                "<id>: 0 is no number",
	} {
		r.Refuses(line, 2, want)
	}
}

// A check says each fault once and where it is, to people and to programs.
func TestConfigCheckPlacesEachFault(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	check := func(settings string) (text string, view struct {
		OK               bool
		File             string
		Faults, Warnings []struct{ Source, Key, Text string }
	},
	) {
		t.Helper()
		path := filepath.Join(r.Dir, "check.toml")
		testkit.Write(t, path, settings)
		_, text, code := r.Command("config", "check", "--config", path)
		out, errs, jsonCode := r.Command("config", "check", "--json", "--config", path)
		if err := json.Unmarshal([]byte(out), &view); err != nil || code != jsonCode || view.OK != (code == 0) || code == 0 && view.File != path {
			t.Fatalf("%v, exit %d and %d\n%s%s", err, code, jsonCode, out, errs)
		}
		return text, view
	}
	if _, v := check(""); !v.OK || v.Faults == nil || len(v.Faults) > 0 {
		t.Errorf("%+v", v)
	}
	text, v := check("[llm.models.a]\nmodel = \"openrouter/x\"\n[llm.models.b]\nmodel = \"openrouter/y\"\n[agent]\nplanner = \"a\"\nreviewer = \"b\"\nworker = \"offline\"\n")
	if len(v.Faults) != 1 || !strings.HasSuffix(v.Faults[0].Source, "check.toml:6") || v.Faults[0].Key != "llm.providers.openrouter.api_key" ||
		strings.Count(text, "no key for this provider") != 1 || !strings.Contains(text, "check.toml:6: ") {
		t.Errorf("%+v\n%s", v, text)
	}
	text, v = check("[channels.telegram]\nkind = \"telegram\"\ntoken = -1\n[server]\nlisten = \"127.0.0.1:99999\"\n")
	if len(v.Faults) != 2 || len(v.Warnings) != 0 || strings.Count(text, "token") != 1 || !strings.Contains(text, "check.toml:5: server.listen: there is no port 99999") {
		t.Errorf("%+v\n%s", v, text)
	}
	text, v = check("[channels.acme]\nkind = \"slack\"\nallow_conversations = [\"#general\"]\n[[people]]\nname = \"ada\"\nidentities = [\"slack:ada\", \"acme:ada\"]\n")
	if len(v.Faults) != 3 || strings.Count(text, "write the platform's stable ID, such as U012ABCDEF (the person's profile") != 2 ||
		!strings.Contains(text, "check.toml:3: channels.acme.allow_conversations[0]: \"#general\": a name can change hands; write the platform's stable ID, such as C012ABCDEF (") {
		t.Errorf("%+v\n%s", v, text)
	}
	out, _, code := r.Command("config", "check", "--json", "--config", filepath.Join(r.Dir, "none.toml"))
	if code != 2 || !strings.Contains(out, "none.toml") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// What somebody may use is what the gate allows them on that channel, not what their
// patterns say.
func TestWhoamiSaysWhatMayBeUsed(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	out, errs, code := r.CommandWith("/whoami\n", "chat")
	if code != 0 || !strings.Contains(out, "Tools you may use here: exec, ") || strings.Contains(out, "*") {
		t.Errorf("exit %d, %s\n%s", code, out, errs)
	}
	r = programtest.NewRig(t, []string{"u1"}, "[router]\ndefault_mode = \"ask\"\n")
	r.Up()
	if got := r.Ask("u1", "/whoami"); !strings.Contains(got, "http.get") || strings.Contains(got, "exec") || strings.Contains(got, "workspace.write") {
		t.Errorf("%q", got)
	}
}
