package main_test

import (
	"os"
	"strings"
	"testing"

	"switchboard/internal/testkit"
)

// Beside an engine the doctor tells of the engine, and says that the file is ahead.
func TestDoctorComparesWithTheEngine(t *testing.T) {
	t.Parallel()
	r := plannedBy(t, "[llm.providers.other]\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"env:NOT_SET\"\n", echo, "u1")
	r.up()
	const ahead = "does not use the file's values"
	if out, errs, _ := r.command("doctor"); strings.Contains(out, ahead) || !strings.Contains(out, "u1 (admin: scripted:u1)") {
		t.Errorf("nothing changed:\n%s%s", out, errs)
	}
	if out, errs, _ := r.command("--log-level", "warn", "doctor"); strings.Contains(out, ahead) {
		t.Errorf("what counts for one command is no change:\n%s%s", out, errs)
	}
	text, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "tools_deny = []", "tools_deny = [\"exec\"]", 1)
	changed = strings.Replace(changed, "\"test-key-not-secret\"", "\"env:SOME_KEY\"", 1)
	changed = strings.Replace(changed, "env:NOT_SET", "env:NOT_SET_EITHER", 1)
	changed = strings.Replace(changed, "scripted:u1", "scripted:u9", 1) // so that the engine refuses the file, and does not take it meanwhile
	changed = "# a line more moves all others\n" + changed + "[[people]]\nname = \"late\"\nidentities = [\"scripted:u2\"]\n"
	testkit.Write(t, r.config, changed)
	out, errs, _ := r.command("doctor")
	if want := "WARN  engine     it " + ahead + " for these (its log says why, unless you saved the file a moment ago): channels.play.tools_deny, llm.providers.fake.api_key, llm.providers.other.api_key, people[0].identities, people[1]\n"; !strings.Contains(out, want) {
		t.Errorf("it does not say %q:\n%s%s", want, out, errs)
	}
	if strings.Contains(out, "late") || !strings.Contains(out, "u1 (admin: scripted:u1)") {
		t.Errorf("people whom the engine does not know are shown as let in:\n%s", out)
	}
	if strings.Contains(out+errs, "test-key-not-secret") {
		t.Error("the key is shown")
	}
	copied := r.config + ".copy.toml"
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ = r.command("--config", copied, "doctor"); !strings.Contains(out, "it runs with the settings of "+r.config+", and this command has read "+copied) {
		t.Errorf("another file:\n%s%s", out, errs)
	}
	r.kill()
	testkit.Write(t, r.config, strings.Replace(changed, "scripted:u9", "scripted:u1", 1))
	if out, errs, _ = r.command("doctor"); strings.Contains(out, ahead) || !strings.Contains(out, "late (user: scripted:u2)") {
		t.Errorf("beside no engine the file is what there is:\n%s%s", out, errs)
	}
}

// What is wrong with a model is said once, with all roles it concerns.
func TestModelWithoutAKeyIsSaidOnce(t *testing.T) {
	t.Parallel()
	r := bare(t)
	r.append("[agent]\nplanner = \"openrouter/some/model\"\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}} {
		out, errs, code := r.command(args...)
		if all := out + errs; code == 0 || strings.Count(all, "some/model") != 1 || !strings.Contains(all, `planner, reviewer, worker: model "openrouter/some/model"`) {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
		}
	}
}

// What the settings let run without a question is said wherever they are checked.
func TestWhatAsksNobodyIsSaid(t *testing.T) {
	t.Parallel()
	const open = "these run without asking anybody: message.send"
	r := bare(t)
	r.append("[policy]\nask = [\"exec\"]\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}} {
		if out, errs, _ := r.command(args...); strings.Contains(out+errs, "asking anybody") {
			t.Errorf("%v: all ask, yet:\n%s%s", args, out, errs)
		}
	}
	r.append("ask_not = [\"message.send\"]\n")
	for _, args := range [][]string{{"doctor"}, {"config", "check"}, {"config", "check", "--json"}} {
		if out, errs, _ := r.command(args...); !strings.Contains(out+errs, open) {
			t.Errorf("%v:\n%s%s", args, out, errs)
		}
	}
	if out, errs, code := r.command("config", "set", "policy.ask_not", "schedule.send"); code != 0 || !strings.Contains(errs, "asking anybody: schedule.send") {
		t.Errorf("set at run time: exit %d\n%s%s", code, out, errs)
	}
	for _, args := range [][]string{{"doctor"}, {"config", "check"}, {"config", "check", "--json"}} {
		if out, errs, _ := r.command(args...); !strings.Contains(out+errs, "run without asking anybody: schedule.send") || strings.Contains(out+errs, open) {
			t.Errorf("%v after a run-time change:\n%s%s", args, out, errs)
		}
	}
}
