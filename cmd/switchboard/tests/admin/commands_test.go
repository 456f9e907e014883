package admin_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/router/core"
	"switchboard/router/turns"
)

func TestLaterCommandsSaySo(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	for _, line := range []string{
		"skill list", "skill add x", "skill remove x",
	} {
		out, errs, code := r.Command(strings.Fields(line)...)
		if code != 1 || out != "" || !strings.Contains(errs, "not available in this build") || strings.Contains(errs, "<args>") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", line, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "data")); err == nil {
		t.Error("a command that this build lacks made the data folder")
	}
}

// People are changed beside an engine as with none, and the file decides about its own.
func TestPeopleAreChangedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Append("[[people]]\nname = \"marco\"\nidentities = [\"telegram:1\"]\n")
	r.Refuses("person remove ann", 1, "there is nothing in")
	r.Prints("person add ann telegram:5 --role admin", 0, "ann (admin) can write now: telegram:5")
	r.Refuses("person add ann", 1, "ann is there already")
	r.Refuses("person add eve telegram:@eve", 1, "a name can change hands")
	r.Refuses("person add eve telegram:9 --tools time,web.*", 1, `"web.*" names no tool`)
	r.Refuses("person role marco admin", 1, "named in [[people]] of "+r.Config)
	r.Refuses("person role nobody admin", 1, "person role nobody: not found")
	r.Refuses("person remove owner", 1, "the person who runs switchboard on this machine")
	r.Up()
	r.Prints("person link ann slack:U012ABCDEF", 0, "ann (admin) is changed: slack:U012ABCDEF, telegram:5")
	r.Prints("person list", 0, "slack:U012ABCDEF, telegram:5")
	r.Prints("person tools ANN time web", 0, "ann (admin) is changed")
	r.Refuses("person remove Owner", 1, "the person who runs switchboard on this machine")
	r.Prints("person list", 0, "time, web")
	r.Refuses("person tools ann web.*", 1, `"web.*" names no tool`)
	r.Refuses("person tools owner web", 1, "the person who runs switchboard on this machine")
	later := filepath.Join(r.Dir, "later.toml") // the engine would follow its own file
	testkit.Write(t, later, testkit.Read(t, r.Config)+"[[people]]\nname = \"ann\"\nidentities = [\"telegram:5\"]\n")
	if out, _, _ := r.Command("--config", later, "doctor"); !programtest.Says(out, `WARN  people     .*without all their identities: ann slack:U012ABCDEF;`) {
		t.Errorf("who is about to lose an identity is not named:\n%s", out)
	}
	r.Prints("person remove ann", 0, "ann (admin) can no longer write")
	if out, _, _ := r.Command("person", "list"); strings.Contains(out, "ann") || !strings.Contains(out, "marco") {
		t.Errorf("%s", out)
	}
}

// What is no record, or comes where things are remembered already, is refused with what to do.
func TestRecordsOfMemoryAreRefused(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Up()
	defer r.Stop(20 * time.Second)
	takes := func(records string, code int, want string) {
		t.Helper()
		out, errs, got := r.CommandWith(records, "memory", "import", "--records", "-")
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%q: exit %d, want %d with %q\n%s%s", records, got, code, want, out, errs)
		}
	}
	record := func(n int, op string) string {
		return fmt.Sprintf(`{"type":"memory.wal","version":1,"log":"a","n":%d,"op":%q}`+"\n", n, op)
	}
	takes("", 0, "no record came")
	takes("\nnonsense\n", 1, "memory import: line 2: it is no record of")
	takes(strings.Replace(record(1, "end"), `"version":1`, `"version":2`, 1), 1, "line 1: it has version 2, and this build knows version 1")
	takes(record(7, "end"), 1, "A copy begins with all memories there are: follow with --from 0.")
	takes(record(7, "snapshot")+record(7, "end"), 0, "copied up to record 7")
	takes(record(7, "snapshot")+record(7, "end")+"{", 1, "line 3: it is no record of")
	takes(record(9, "erase"), 1, "it names nobody")
	takes(strings.Replace(record(9, "erase"), "}", `,"person":"ann"}`, 1), 1, "Record 9 came, and 8 is next: follow with --from 8.")
	r.Refuses("memory add tea", 1, "is a copy of another bot's memory")
	r.Prints("memory own", 0, "its own now")
	r.Refuses("memory own", 1, "is no copy")
	r.Prints("memory add tea", 0, "I'll remember: tea")
	r.Prints("memory list --person OWNER", 0, "tea") // as memory erase has it
	takes(record(8, "snapshot"), 1, "Begin with one that remembers nothing.")
}

func TestWrongUsageNamesTheFault(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	for line, want := range map[string]string{
		"nonsense":                                     "nonsense",
		"turn show one":                                "one",
		"turn list --state bored":                      "bored",
		"turn list --nope":                             "--nope",
		"chat too many":                                "too",
		"--server http://127.0.0.1:1 turn list":        "SWITCHBOARD_TOKEN",
		"--log-level loud turn list":                   "loud",
		"--config /nowhere/at/all.toml doctor --alive": "switchboard init",
	} {
		r.Refuses(line, 2, want)
	}
	r.Refuses("turn list", 1, "there is nothing in")
	if out, errs, code := r.CommandWith("hello\n", "chat"); code != 0 {
		t.Fatalf("chat: exit %d, %q, %q", code, out, errs)
	}
	for line, want := range map[string]string{
		"turn show 99":        "turn 99: not found",
		"turn cancel 99":      "turn 99: not found",
		"doctor --alive":      "no engine is running",
		"chat --as stranger":  `"stranger" is not among the people`,
		"chat --session a/b":  "letters, digits",
		"--data /proc/x chat": "set data_dir or --data",
	} {
		out, errs, code := r.CommandWith("hello\n", strings.Fields(line)...)
		if code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", line, code, out, errs)
		}
	}
	if _, errs, _ := r.Command("doctor", "--alive"); errs != "switchboard: no engine is running\n" {
		t.Errorf("doctor --alive says more than there is: %q", errs)
	}
}

func TestFaultySettingsStopEveryCommand(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	text := "data_dir = \"x\"\ntypo = 1\n[agent]\nplanner = \"nowhere/model\"\nexec_timeout = \"soon\"\n[router]\nworkers = 0\nrate_person = \"fast\"\n[channels.x]\nkind = \"carrier-pigeon\"\n"
	testkit.Write(t, r.Config, text)
	for _, line := range []string{"config check", "serve", "chat", "turn list", "config show"} {
		out, errs, code := r.Command(strings.Fields(line)...)
		if code != 2 || out != "" {
			t.Errorf("%s: exit %d, stdout %q", line, code, out)
		}
		for _, at := range []string{":2", ":5", ":7", ":8"} {
			if !strings.Contains(errs, "switchboard.toml"+at) {
				t.Errorf("%s does not name line %s:\n%s", line, at, errs)
			}
		}
	}
}

func TestConfigShowMasksSecrets(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[store]\nurl = \"postgres://me:pg-password-9@127.0.0.1:1/x\"\n[agent]\nplanner = \"fake/model\"\n")
	for _, args := range [][]string{{"config", "show"}, {"config", "show", "--json"}, {"doctor"}, {"doctor", "--json"}, {"turn", "list"}} {
		out, errs, _ := r.Command(args...)
		if args[0] == "config" && !strings.Contains(out, "fake") {
			t.Errorf("%v shows nothing:\n%s%s", args, out, errs)
		}
		for _, secret := range []string{"test-key-not-secret", "pg-password-9"} {
			if strings.Contains(out+errs, secret) {
				t.Errorf("%v shows %s", args, secret)
			}
		}
	}
}

func TestDoctorReportsWhetherAnEngineRuns(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	type line struct {
		Check, Text, Mend string
		OK                bool
	}
	report := func() string {
		out, _, code := r.Command("doctor", "--json")
		failed := strings.Contains(out, `"ok": false`)
		if failed != (code == 1) || code > 1 {
			t.Errorf("exit %d with\n%s", code, out)
		}
		return out
	}
	if out := report(); !strings.Contains(out, "not running") {
		t.Errorf("beside no engine:\n%s", out)
	}
	if _, _, code := r.Command("doctor", "--alive"); code != 1 {
		t.Errorf("--alive beside no engine: exit %d", code)
	}
	r.Up()
	if out, _, code := r.Command("doctor", "--alive"); code != 0 || out != "" {
		t.Errorf("--alive beside an engine: exit %d, %q", code, out)
	}
	var checks []string
	for _, l := range programtest.List[[]line](r, "doctor", "--json") {
		if l.Text == "" || !l.OK && l.Mend == "" {
			t.Errorf("a line that does not help: %+v", l)
		}
		if l.Check == "engine" && l.Text != "running" && !strings.Contains(l.Text, ": alive since ") {
			t.Errorf("engine: %+v", l)
		}
		checks = append(checks, l.Check)
	}
	for _, want := range []string{"settings", "data", "database", "engine", "model", "sandbox", "people", "channel"} {
		if !slices.Contains(checks, want) {
			t.Errorf("doctor says nothing of %s", want)
		}
	}
	r.Kill() // a socket stays behind, and nobody answers it
	if _, _, code := r.Command("doctor", "--alive"); code != 1 {
		t.Errorf("--alive after kill -9: exit %d", code)
	}
}

func TestLedgerCommandsCancelAndList(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Doing("echo fine; sleep 300"), "u1")
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("it runs", 10*time.Second, func() bool {
		turns := r.Turns()
		planned, _, _ := r.Command("turn", "show", "1")
		return len(turns) == 1 && turns[0].State == "running" && strings.Contains(planned, "echo fine")
	})
	r.Prints("turn cancel 1", 0, "asked to stop")
	r.Await("it is cancelled", 10*time.Second, func() bool { return r.Turns()[0].State == "cancelled" })
	if _, errs, code := r.Command("turn", "cancel", "1"); code != 1 || !regexp.MustCompile(`^switchboard: turn 1 is not open any more: it ended at 20[-0-9]+ [:0-9]+ [A-Z0-9+-]+ as cancelled\n$`).MatchString(errs) {
		t.Errorf("cancelling twice: exit %d, %q", code, errs)
	}
	r.Await("the person is told", 10*time.Second, func() bool { return len(r.Shown("u1")) == 1 })
	r.Noted()
	for line, want := range map[string]string{
		"turn list":                  "cancelled",
		"turn list --state queued":   "ID ",
		"turn show 1":                "echo fine",
		"delivery list":              "Cancelled.",
		"delivery list --state sent": "Cancelled.",
		"person list":                "scripted:u1",
		"migrate status":             "first",
		"migrate up":                 "up to date",
		"version":                    "switchboard ",
		"--version":                  "switchboard ",
		"config check":               "are fine",
		"--help":                     "chat",
	} {
		r.Prints(line, 0, want)
	}
	if people := programtest.List[[]core.Person](r, "person", "list", "--json"); len(people) != 2 {
		t.Errorf("people: %+v", people)
	}
	if states := programtest.List[[]struct{ Version int64 }](r, "migrate", "status", "--json"); len(states) == 0 {
		t.Error("no migrations")
	}
}

func TestInitWritesSettingsOnce(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Config = filepath.Join(r.Dir, "new", "my.toml")
	if out, _, code := r.Command("init", "slack"); code != 0 || !strings.Contains(out, `"slash_commands": [`) || strings.Contains(out, "agent_view") {
		t.Errorf("init slack: exit %d, %s", code, out)
	}
	r.Prints("init slack --agent", 0, `"agent_view": {`)
	r.Refuses("init discord", 2, "init discord asks on a terminal")
	r.Refuses("init discord --agent", 2, "it has no agents of its own")
	r.Refuses("init --agent", 2, "name the platform")
	r.Prints("init", 0, r.Config)
	written := testkit.Read(t, r.Config)
	if info, _ := os.Stat(r.Config); info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v", info.Mode())
	}
	r.Refuses("init", 1, "already")
	if testkit.Read(t, r.Config) != written {
		t.Error("a second init changed the file")
	}
	if out, errs, code := r.Command("config", "check"); code != 0 || !strings.Contains(out, "fine") || errs != "" {
		t.Errorf("config check of the new file: exit %d, %q, %s", code, out, errs)
	}
}

func TestSecondEngineSaysThatOneRuns(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Up()
	began := time.Now()
	out, errs, code := r.Command("serve")
	if code != 1 || out != "" || !strings.Contains(errs, "running") || !strings.Contains(errs, "switchboard chat") {
		t.Errorf("a second serve: exit %d, %q, %s", code, out, errs)
	}
	t.Logf("after %s: %s", time.Since(began), errs)
	out, errs, code = r.CommandWith("hello\n", "chat") // beside it, through it
	if code != 0 || out != "heard: hello\n" {
		t.Errorf("chat beside an engine: exit %d, %q, %s", code, out, errs)
	}
	r.Answers("u1", "still yours?", "heard: still yours?")
	r.Kill()
	out, errs, code = r.CommandWith("alone\n", "chat") // becomes the engine
	if code != 0 || out != "heard: alone\n" {
		t.Errorf("chat beside none: exit %d, %q, %s", code, out, errs)
	}
}

func TestVeryLongDataFolderIsServed(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	long := filepath.Join(r.Dir, strings.Repeat("a-long-name/", 15), "data")
	testkit.Write(t, r.Config, fmt.Sprintf("data_dir = %q\n", long))
	r.Start()
	r.Await("the engine is up", 20*time.Second, func() bool { _, _, code := r.Command("doctor", "--alive"); return code == 0 })
	if out, errs, code := r.CommandWith("/whoami\n", "chat"); code != 0 || !strings.Contains(out, "owner") {
		t.Errorf("beside: exit %d, %q, %s", code, out, errs)
	}
	r.Stop(15 * time.Second)
	if out, errs, code := r.CommandWith("/whoami\n", "chat"); code != 0 || !strings.Contains(out, "owner") {
		t.Errorf("alone: exit %d, %q, %s", code, out, errs)
	}
}

func TestUserRunsNoCommand(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Append("[[people]]\nname = \"ann\"\nrole = \"user\"\n")
	out, errs, code := r.CommandWith("run touch proof.txt\n/whoami\n", "chat", "--as", "ann")
	if code != 0 || !strings.Contains(out, "You are ann, role user.") {
		t.Errorf("exit %d, %q, %s", code, out, errs)
	}
	if proof, _ := filepath.Glob(filepath.Join(r.Dir, "data", "workspaces", "*", "proof.txt")); len(proof) > 0 {
		t.Error("a user's command ran")
	}
	for _, turn := range r.Turns() {
		whole := programtest.List[turns.Turn](r, "turn", "show", fmt.Sprint(turn.ID), "--json")
		for _, plan := range whole.Plans {
			for _, task := range plan.Tasks {
				if task.Type == "exec" && !strings.Contains(task.Outcome, "refused") {
					t.Errorf("an exec task ended %s", task.Outcome)
				}
			}
		}
	}
}

// Whoever reads the answers may leave early, as head does.
func TestClosedOutputDoesNotHang(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	cmd := exec.Command(programtest.Build(t), "--config", r.Config, "chat")
	cmd.Dir, cmd.Env = r.Dir, programtest.Environ()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := time.AfterFunc(time.Minute, func() { cmd.Process.Kill(); t.Error("it hangs after its output was closed") })
	defer ended.Stop()
	for range 5 {
		io.WriteString(stdin, "/whoami\n")
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.Contains(line, "owner") {
		t.Errorf("first line %q: %v", line, err)
	}
	stdout.Close()
	io.WriteString(stdin, "/whoami\n") // the input stays open: the output alone has to end it
	if err := cmd.Wait(); err == nil {
		t.Error("exit 0 although nobody read the answers")
	}
	stdin.Close()
}
