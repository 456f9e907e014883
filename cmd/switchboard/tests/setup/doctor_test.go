package setup_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// The doctor really asks each model, and says where commands are not confined.
func TestDoctorAsksTheModels(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\nadmin_unconfined = true\n")
	out, errs, code := r.Command("doctor")
	if code != 0 || !strings.Contains(out, "fake/model (planner, reviewer, worker): answered in") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if !strings.Contains(out, "WARN  sandbox") || !strings.Contains(out, "NOT confined: agent.admin_unconfined = true") {
		t.Errorf("no warning of commands without a sandbox:\n%s", out)
	}
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		reply := llmtest.Agreeable(req)
		reply.Usage = &llmtest.Usage{In: 1e18, Out: 3}
		return reply
	})
	out, errs, code = r.Command("doctor")
	if code != 0 || !strings.Contains(out, "WARN  model") || !strings.Contains(out, "says that it used 1000000000000000000 tokens, more than it can have") {
		t.Errorf("a model that claims too much: exit %d, %s%s", code, out, errs)
	}
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Fail(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
	})
	out, errs, code = r.Command("doctor")
	if code != 1 || !strings.Contains(out, "FAIL  model") || !strings.Contains(out, "rejected the key") || !strings.Contains(out, "fix: set llm.providers.fake.api_key to a valid key\n") || strings.Contains(out+errs, "test-key-not-secret") {
		t.Errorf("a rejected key: exit %d, %s%s", code, out, errs)
	}
	r.Model.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Fail(400, "invalid_request_error", "", "It is \x1b]0;title\x07\x1b[31mred\u009b2J.")
	})
	out, _, _ = r.Command("doctor")
	if !strings.Contains(out, "It is red.") || strings.ContainsAny(out, "\x1b\u009b\x07") {
		t.Errorf("what a server says commands the terminal: %q", out)
	}
}

// Each cause that the database cannot be asked has a way to mend it of its own.
func TestDoctorMendsTheDatabase(t *testing.T) {
	t.Parallel()
	gone := testkit.FreeAddress(t)
	missing := regexp.MustCompile(`/\w+\?`).ReplaceAllString(storetest.PostgresURL(t), "/nowhere?")
	junk := filepath.Join(t.TempDir(), "junk.db")
	testkit.Write(t, junk, strings.Repeat("no database ", 1000))
	for url, mend := range map[string]string{
		missing:                       "create it on the server (createdb nowhere), or correct",
		"postgres://u@" + gone + "/x": "see whether the server runs",
		"sqlite:" + junk:              "put a backup of the file in its place",
	} {
		r := programtest.Bare(t)
		r.Append("[store]\nurl = '" + url + "'\n")
		out, errs, code := r.Command("doctor")
		if code != 1 || !programtest.Says(out, "FAIL  database ") || !strings.Contains(out, "fix: "+mend) {
			t.Errorf("%s: exit %d\n%s%s", url, code, out, errs)
		}
		if mended := strings.Contains(out, "backup"); mended != strings.HasPrefix(url, "sqlite:") {
			t.Errorf("%s: a backup is no way to mend it:\n%s", url, out)
		}
	}
}

// The doctor makes nothing of what it looks at.
func TestDoctorMakesNoFolder(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	dir := filepath.Join(r.Dir, "new", "folder")
	out, errs, code := r.Command("--data", dir, "doctor")
	if code != 0 || !programtest.Says(out, "ok    data       "+regexp.QuoteMeta(dir)+`, \d+ MB free; the first start makes it$`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil {
		t.Error("the folder is there")
	}
}

// On a file engines come one after the other.
func TestDoctorOnAFileNamesNoOtherEngineForADeadOne(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Up()
	r.Kill()
	r.Up()
	out, errs, _ := r.Command("doctor")
	if !programtest.Says(out, "ok    engine     .*: dead; the one that runs now goes on with what it did$") || strings.Contains(out, "others go on") {
		t.Errorf("%s%s", out, errs)
	}
}

// Durations in the log are text everywhere, that of a migration among them.
func TestLoggedDurationsAreText(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Empty()
	r.Up()
	r.Await("the migration is told", 5*time.Second, func() bool { return r.Log.Has(`"msg":"migrated"`) })
	for line := range strings.Lines(r.Log.String()) {
		if strings.Contains(line, `"duration":`) && !regexp.MustCompile(`"duration":"[0-9.]+[µm]?s"`).MatchString(line) {
			t.Error(line)
		}
	}
}
