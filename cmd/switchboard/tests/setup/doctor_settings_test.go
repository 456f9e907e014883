package setup_test

import (
	"os"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// Beside an engine the doctor tells of the engine, and says that the file is ahead.
func TestDoctorComparesWithTheEngine(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "[llm.providers.other]\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"env:NOT_SET\"\n", programtest.Echo, "u1")
	r.Up()
	const ahead = "does not use the file's values"
	if out, errs, _ := r.Command("doctor"); strings.Contains(out, ahead) || !strings.Contains(out, "u1 (admin: scripted:u1)") {
		t.Errorf("nothing changed:\n%s%s", out, errs)
	}
	if out, errs, _ := r.Command("--log-level", "warn", "doctor"); strings.Contains(out, ahead) {
		t.Errorf("what counts for one command is no change:\n%s%s", out, errs)
	}
	text, err := os.ReadFile(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "tools_deny = []", "tools_deny = [\"exec\"]", 1)
	changed = strings.Replace(changed, "\"test-key-not-secret\"", "\"env:SOME_KEY\"", 1)
	changed = strings.Replace(changed, "env:NOT_SET", "env:NOT_SET_EITHER", 1)
	changed = strings.Replace(changed, "scripted:u1", "scripted:u9", 1) // so that the engine refuses the file, and does not take it meanwhile
	changed = "# a line more moves all others\n" + changed + "[[people]]\nname = \"late\"\nidentities = [\"scripted:u2\"]\n"
	testkit.Write(t, r.Config, changed)
	out, errs, _ := r.Command("doctor")
	if want := "WARN  engine     it " + ahead + " for these (its log says why, unless you saved the file a moment ago): channels.play.tools_deny, llm.providers.fake.api_key, llm.providers.other.api_key, people[0].identities, people[1]\n"; !strings.Contains(out, want) {
		t.Errorf("it does not say %q:\n%s%s", want, out, errs)
	}
	if strings.Contains(out, "late") || !strings.Contains(out, "u1 (admin: scripted:u1)") {
		t.Errorf("people whom the engine does not know are shown as let in:\n%s", out)
	}
	if strings.Contains(out+errs, "test-key-not-secret") {
		t.Error("the key is shown")
	}
	copied := r.Config + ".copy.toml"
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ = r.Command("--config", copied, "doctor"); !strings.Contains(out, "it runs with the settings of "+r.Config+", and this command has read "+copied) {
		t.Errorf("another file:\n%s%s", out, errs)
	}
	r.Kill()
	testkit.Write(t, r.Config, strings.Replace(changed, "scripted:u9", "scripted:u1", 1))
	if out, errs, _ = r.Command("doctor"); strings.Contains(out, ahead) || !strings.Contains(out, "late (user: scripted:u2)") {
		t.Errorf("beside no engine the file is what there is:\n%s%s", out, errs)
	}
}

// What is wrong with a model is said once, with all roles it concerns.
func TestModelWithoutAKeyIsSaidOnce(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Append("[agent]\nplanner = \"openrouter/some/model\"\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}} {
		out, errs, code := r.Command(args...)
		if all := out + errs; code == 0 || strings.Count(all, "some/model") != 1 || !strings.Contains(all, `planner, reviewer, worker: model "openrouter/some/model"`) {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
		}
	}
}

// What the settings let run without a question is said wherever they are checked.
func TestWhatAsksNobodyIsSaid(t *testing.T) {
	t.Parallel()
	const open = "these run without asking anybody: message.send"
	r := programtest.Bare(t)
	r.Append("[policy]\nask = [\"exec\"]\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}} {
		if out, errs, _ := r.Command(args...); strings.Contains(out+errs, "asking anybody") {
			t.Errorf("%v: all ask, yet:\n%s%s", args, out, errs)
		}
	}
	r.Append("ask_not = [\"message.send\"]\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}, {"config", "check", "--json"}} {
		if out, errs, _ := r.Command(args...); !strings.Contains(out+errs, open) {
			t.Errorf("%v:\n%s%s", args, out, errs)
		}
	}
	if out, errs, code := r.Command("config", "set", "policy.ask_not", "schedule.send"); code != 0 || !strings.Contains(errs, "asking anybody: schedule.send") {
		t.Errorf("set at run time: exit %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{{"doctor"}, {"config", "check"}, {"config", "check", "--json"}} {
		if out, errs, _ := r.Command(args...); !strings.Contains(out+errs, "run without asking anybody: schedule.send") || strings.Contains(out+errs, open) {
			t.Errorf("%v after a run-time change:\n%s%s", args, out, errs)
		}
	}
}
