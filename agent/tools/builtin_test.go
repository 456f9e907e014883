package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/agent/tools/workspace"
)

// builtin returns a registry of the built-in tools and a way to call them in a
// workspace of its own.
func builtin(t *testing.T, cfg BuiltinConfig) (workspace string, call func(name, args string, taint ...Taint) Result) {
	t.Helper()
	r := registry(t, Builtin(cfg)...)
	workspace = newWorkspace(t)
	return workspace, func(name, args string, taint ...Taint) Result {
		c := Call{Args: json.RawMessage(args), Workspace: workspace, Session: Session{
			ID: "console:1", Person: "Ann", Role: "admin", Channel: "console", Mode: "act", TimeZone: "Europe/Berlin",
		}}
		if len(taint) > 0 {
			c.Taint = taint[0]
		}
		return r.Run(t.Context(), name, c)
	}
}

func TestBuiltinPagesExplainUseExamplesAndErrors(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range Builtin(BuiltinConfig{Messenger: nobody, Host: machine}) {
		names = append(names, tool.Name)
		for _, part := range []string{tool.Name + ":", "Use it", "Examples", "Errors"} {
			if !strings.Contains(tool.Page, part) {
				t.Errorf("the page of %s has no %q", tool.Name, part)
			}
		}
		// What a page shows as an example must be accepted.
		r := registry(t, tool)
		for line := range strings.Lines(tool.Page) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "{") {
				example := line[:strings.LastIndex(line, "}")+1]
				if err := r.Check(tool.Name, json.RawMessage(example)); err != nil {
					t.Errorf("%s: example %s: %v", tool.Name, example, err)
				}
			}
		}
	}
	want := []string{"time", "workspace.list", "workspace.read", "workspace.write", "workspace.remove", "http.get", "session.info", "host.info", "message.send"}
	if !slices.Equal(names, want) {
		t.Errorf("tools: %v", names)
	}
}

// machine is how a machine is whose disk cannot be asked.
func machine(context.Context) (host.Reading, error) {
	return host.Reading{
		Host: "atlas", System: "debian 13 (linux/amd64)", Up: 26*time.Hour + 3*time.Minute + 20*time.Second, CPUs: 4, CPU: 12.4, Load: [3]float64{0.5, 1, 1.25},
		Memory: 8e9, Used: 6e9, Program: 71_500_000,
	}, errors.New("disk: no such file")
}

func TestHostInfoSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	_, call := builtin(t, BuiltinConfig{Host: machine})
	want := "host: atlas, debian 13 (linux/amd64), up 26h3m0s\nprocessors: 4, 12 % busy, load 0.50 1.00 1.25\nmemory: 75 % of 8.0 GB used\n" +
		"this program: 71 MB of memory\nnot known: disk: no such file\n"
	if got := call("host.info", "{}"); got != (Result{End: EndOK, Output: want}) {
		t.Errorf("%+v", got)
	}
}

func TestTimeToolAnswersInTheAskedZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 5, 5, 59, 0, time.UTC)
	_, call := builtin(t, BuiltinConfig{Now: func() time.Time { return at }})
	for _, test := range []struct{ args, want string }{
		{`{"zone":"Asia/Tokyo"}`, "zone: Asia/Tokyo\nlocal: 2026-11-21 14:05\nweekday: Saturday\nutc_offset: +09:00\ninstant: 2026-11-21T05:05:59Z\n"},
		{`{"zone":null}`, "zone: Europe/Berlin\nlocal: 2026-11-21 06:05\nweekday: Saturday\nutc_offset: +01:00\ninstant: 2026-11-21T05:05:59Z\n"},
		{`{"zone":""}`, "zone: UTC\nlocal: 2026-11-21 05:05\nweekday: Saturday\nutc_offset: +00:00\ninstant: 2026-11-21T05:05:59Z\n"},
	} {
		if got := call("time", test.args); got != (Result{End: EndOK, Output: test.want}) {
			t.Errorf("%s: got %+v", test.args, got)
		}
	}
	kept := Call{Session: Session{TimeZone: "EST"}} // which nobody may say any more
	if got := clock(func() time.Time { return at }).run(t.Context(), kept, struct{ Zone *string }{}); got.End != EndOK {
		t.Errorf("%+v", got)
	}
	for _, zone := range []string{"EST", "Tokyoo", "Local", "../etc/passwd", "Mars/Base"} {
		if got := call("time", fmt.Sprintf(`{"zone":%q}`, zone)); got.Code != "unknown_zone" || got.Hint == "" {
			t.Errorf("%s: got %+v", zone, got)
		}
	}
}

func TestSessionInfoNamesPersonAndPlace(t *testing.T) {
	t.Parallel()
	_, call := builtin(t, BuiltinConfig{})
	want := "session: console:1\nperson: Ann\nrole: admin\nchannel: console\nmode: act\ntime_zone: Europe/Berlin\nlanguage: (not set)\nmodel: (not set)\n"
	if got := call("session.info", "{}"); got != (Result{End: EndOK, Output: want}) {
		t.Errorf("got %+v", got)
	}
}

func write(path, content, mode string) string {
	return fmt.Sprintf(`{"path":%q,"content":%q,"mode":%q}`, path, content, mode)
}

func read(path string) string {
	return fmt.Sprintf(`{"path":%q,"first_line":null,"last_line":null}`, path)
}

func TestWorkspaceFilesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	dir, call := builtin(t, BuiltinConfig{FileLimit: 100, Space: &workspace.Space{Bytes: 250}})
	for _, step := range []struct{ tool, args, code, output string }{
		{"workspace.list", `{"path":null,"depth":null}`, "", "(empty)\n"},
		{"workspace.write", write("a/b.txt", "one\ntwo\n", "create"), "", "wrote a/b.txt: 8 bytes\n"},
		{"workspace.write", write("a/b.txt", "x", "create"), "exists", "a/b.txt exists already"},
		{"workspace.write", write("./a//b.txt", "three", "append"), "", "wrote a/b.txt: 13 bytes\n"},
		{"workspace.read", read("a/b.txt"), "", "one\ntwo\nthree"},
		{"workspace.read", `{"path":"a/b.txt","first_line":2,"last_line":2}`, "", "two\n"},
		{"workspace.read", `{"path":"a/b.txt","first_line":9,"last_line":null}`, "", "[the file ends before line 9]"},
		{"workspace.read", `{"path":"a/b.txt","first_line":3,"last_line":2}`, "bad_range", ""},
		{"workspace.write", write("new", "n", "append"), "", "wrote new: 1 bytes\n"},
		{"workspace.write", write("new", "", "replace"), "", "wrote new: 0 bytes\n"},
		{"workspace.read", read("new"), "", ""},
		{"workspace.write", write("a", "x", "replace"), "not_a_file", ""},
		{"workspace.write", write("a/b.txt/c", "x", "replace"), "not_found", ""},
		{"workspace.write", write("big", strings.Repeat("x", 101), "create"), "file_limit", ""},
		{"workspace.write", write("f1", strings.Repeat("x", 100), "create"), "", ""},
		{"workspace.write", write("f2", strings.Repeat("x", 100), "create"), "", ""},
		{"workspace.write", write("f3", strings.Repeat("x", 100), "create"), "workspace_full", ""},
		{"workspace.read", read("none"), "not_found", ""},
		{"workspace.read", read("a"), "not_a_file", ""},
		{"workspace.list", `{"path":"a/b.txt","depth":null}`, "not_a_folder", ""},
		{"workspace.list", `{"path":"none","depth":null}`, "not_found", ""},
	} {
		got := call(step.tool, step.args)
		if got.Code != step.code || (got.End == EndOK) != (step.code == "") || step.output != "" && got.Output != step.output || got.Taint != Clean {
			t.Errorf("%s %.60s: got %+v", step.tool, step.args, got)
		}
	}
	left, err := filepath.Glob(dir + "/.switchboard/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	got := call("workspace.list", `{"path":null,"depth":1}`)
	if !strings.HasPrefix(got.Output, "a/\nf1  100 bytes  ") || strings.Contains(got.Output, "b.txt") {
		t.Errorf("list: %s", got.Output)
	}
}

func TestPathsOutOfTheWorkspaceAreRefused(t *testing.T) {
	t.Parallel()
	dir, call := builtin(t, BuiltinConfig{})
	beside := filepath.Join(filepath.Dir(dir), "beside")
	if err := os.WriteFile(beside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": beside, "up": "..", "root": "/", "inner": ".switchboard"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, code := range map[string]string{
		"../beside": "outside_workspace", "a/../../beside": "outside_workspace", beside: "outside_workspace", "..": "outside_workspace",
		"link": "symlink", "up/beside": "symlink", "root/etc/passwd": "symlink", "inner/taint.json": "symlink",
		".switchboard/taint.json": "bad_path", ".SwitchBoard/x": "bad_path", "a\x00b": "bad_path", `a\b`: "bad_path", "": "bad_path",
	} {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		for tool, args := range map[string]string{
			"workspace.read":  fmt.Sprintf(`{"path":%s,"first_line":null,"last_line":null}`, quoted),
			"workspace.write": fmt.Sprintf(`{"path":%s,"content":"x","mode":"replace"}`, quoted),
			"workspace.list":  fmt.Sprintf(`{"path":%s,"depth":null}`, quoted),
		} {
			if tool == "workspace.list" && path == "" {
				continue // the workspace itself
			}
			if got := call(tool, args); got.End != EndRefused || got.Code != code || strings.Contains(got.Output, "secret\n") {
				t.Errorf("%s %q: got %+v", tool, path, got)
			}
		}
	}
	if text, err := os.ReadFile(beside); err != nil || string(text) != "secret" {
		t.Errorf("beside: %q %v", text, err)
	}
	if got := call("workspace.list", `{"path":null,"depth":null}`); strings.Contains(got.Output, workspace.Hidden+"/") || !strings.Contains(got.Output, "symbolic link") {
		t.Errorf("list: %s", got.Output)
	}
}

func TestWorkspaceReadRefusesWhatIsNoText(t *testing.T) {
	t.Parallel()
	workspace, call := builtin(t, BuiltinConfig{})
	umlaut := strings.Repeat("x", binaryLookHead-1) + "ü" + strings.Repeat("y\n", 100)
	for name, data := range map[string]string{"nul": "a\x00b", "latin1": "a\xe4b and more", "umlaut": umlaut, "short": "ü"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(workspace, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{"nul": "binary_file", "latin1": "binary_file", "umlaut": "", "short": "", "pipe": "not_a_file"} {
		if got := call("workspace.read", read(name)); got.Code != code {
			t.Errorf("%s: got code %q, output %.50q", name, got.Code, got.Output)
		}
	}
	long := strings.Repeat(strings.Repeat("z", 99)+"\n", 2000)
	if err := os.WriteFile(filepath.Join(workspace, "long"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	got := call("workspace.read", read("long"))
	if !strings.Contains(got.Output, "bytes more]\n[go on with first_line 656") || len(got.Output) > maxReadBytes+200 {
		t.Errorf("long: %d bytes, ending %q", len(got.Output), got.Output[len(got.Output)-150:])
	}
}

func TestWorkspaceFilesInheritTaint(t *testing.T) {
	t.Parallel()
	_, call := builtin(t, BuiltinConfig{})
	taints := func(path string) Taint {
		t.Helper()
		got := call("workspace.read", read(path))
		if got.End != EndOK {
			t.Fatalf("%s: %+v", path, got)
		}
		return got.Taint
	}
	for _, step := range []struct {
		args  string
		taint Taint
		want  Taint
	}{
		{write("f", "mine\n", "create"), Clean, Clean},
		{write("f", "theirs\n", "append"), "web", "web"},
		{write("f", "mine again\n", "append"), Clean, "web"},
		{write("f", "all mine\n", "replace"), Clean, Clean},
		{write("f", "theirs\n", "replace"), "quote", "quote"},
	} {
		if got := call("workspace.write", step.args, step.taint); got.End != EndOK {
			t.Fatalf("%s: %+v", step.args, got)
		}
		if got := taints("f"); got != step.want {
			t.Errorf("after %s under %q: %q, want %q", step.args, step.taint, got, step.want)
		}
	}
	got := call("workspace.list", `{"path":null,"depth":null}`)
	if got.Taint != "quote" || !strings.Contains(got.Output, "from outside: quote") {
		t.Errorf("list: %+v", got)
	}
}

func TestNewFoldersInheritTaint(t *testing.T) {
	t.Parallel()
	workspace, call := builtin(t, BuiltinConfig{})
	for _, taint := range []Taint{"web", Clean} {
		if got := call("workspace.write", write("d/e/f", "x", "replace"), taint); got.End != EndOK {
			t.Fatal(got)
		}
	}
	if got := readLedger(workspace); !maps.Equal(got, ledger{"d": "web", "d/e": "web"}) {
		t.Errorf("the ledger is %q", got)
	}
	if got := call("workspace.list", `{"path":"d/e","depth":null}`); got.Taint != "web" {
		t.Errorf("list: %+v", got)
	}
}

func TestLostLedgerTaintsAll(t *testing.T) {
	t.Parallel()
	workspace, call := builtin(t, BuiltinConfig{})
	if got := call("workspace.write", write("f", "x", "create"), "web"); got.End != EndOK {
		t.Fatal(got)
	}
	if err := os.WriteFile(workspace+ledgerSuffix, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call("workspace.read", read("f")); got.Taint != taintLost {
		t.Errorf("got %+v", got)
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"a/b", "../x", "/etc", ".switchboard/x", "a/./../.switchboard", "a//b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name, fault := cleanPath(given)
		if fault == nil && (!filepath.IsLocal(name) || strings.HasPrefix(strings.ToLower(name), workspace.Hidden+"/") || strings.EqualFold(name, workspace.Hidden)) {
			t.Errorf("%q gave %q", given, name)
		}
	})
}

// What a page declares in its first lines is read, and does not stand in the text that planners read.
func TestPagesDeclareTheirTools(t *testing.T) {
	t.Parallel()
	for _, tool := range Builtin(BuiltinConfig{Files: noFiles{}, Messenger: nobody, Commander: noCommand, Schedule: noJobs{}, Memory: noMemory{}}) {
		files := strings.HasPrefix(tool.Name, "attachment.") || tool.Name == "workspace.publish"
		if (tool.Timeout == 3*time.Minute) != files || !files && tool.Timeout != 0 {
			t.Errorf("%s may take %s", tool.Name, tool.Timeout)
		}
		for line := range strings.Lines(tool.Page) {
			switch key, _, _ := strings.Cut(line, ": "); key {
			case "summary", "effect", "taints", "sends", "timeout", "argument", "words", "note":
				t.Errorf("%s: its text has the line %q", tool.Name, line)
			}
		}
	}
}
