package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"switchboard/agent"
	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
)

// The program's own heartbeat, and one of a person: where nothing has changed no model is asked and nothing is
// said; a checklist that changed is looked at; what needs nobody is not sent. Maintenance has a history.
func TestHeartbeatsAndMaintenanceOfTheProgram(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	think := func(req llmtest.Request) llmtest.Reply {
		calls.Add(1)
		text := programtest.Said(req)
		switch {
		case strings.Contains(text, "\nIs the tea ready?"):
			return llmtest.Text(llmtest.Plan("look", llmtest.Answer("The tea is ready.")))
		case strings.Contains(text, "This is a heartbeat"):
			return llmtest.Text(llmtest.Plan("look", llmtest.Answer(agent.QuietAnswer)))
		}
		return llmtest.Text(llmtest.Plan("say it", llmtest.Answer("heard: "+text)))
	}
	r := programtest.PlannedBy(t, "[heartbeat]\nenabled = true\n", think, "u1")
	r.Up()
	r.Answers("u1", "hello", "heard: hello")

	// run runs a job and says how that ended, what it cost in calls and what it said.
	runs := 0
	run := func(job int) (reason string, asked int64, heard []string) {
		t.Helper()
		before, shown := calls.Load(), len(r.Shown("u1"))
		if out, errs, code := r.Command("job", "run", fmt.Sprint(job)); code != 0 {
			t.Fatalf("job run %d: %s%s", job, out, errs)
		}
		runs++
		var rows [][]string
		r.Await("the run is over", programtest.Patience, func() bool {
			rows = r.Query("SELECT state, reason FROM runs WHERE job_id = ? ORDER BY id DESC LIMIT 1", job)
			return len(rows) == 1 && rows[0][0] != "due" && rows[0][0] != "running"
		})
		if rows[0][0] != "done" {
			t.Errorf("job %d: %v", job, rows)
		}
		return rows[0][1], calls.Load() - before, r.Shown("u1")[shown:]
	}
	numbered := map[string]int{}
	for _, row := range r.Query("SELECT name, id FROM jobs WHERE owner = ''") {
		id, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		numbered[row[0]] = id
	}
	for _, name := range []string{"retention", "files", "orphans", "audit", "optimize", "health"} {
		if reason, asked, heard := run(numbered[name]); asked != 0 || len(heard) != 0 {
			t.Errorf("%s: %s, %d calls, %q", name, reason, asked, heard)
		}
	}
	beat := numbered["heartbeat"]
	for range 2 {
		if reason, asked, heard := run(beat); reason != "nothing changed" || asked != 0 || len(heard) != 0 {
			t.Errorf("with nothing new: %s, %d calls, %q", reason, asked, heard)
		}
	}
	list := filepath.Join(r.Dir, "data", "heartbeat", "checklist.md")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Is the backup there?")
	if reason, asked, heard := run(beat); asked == 0 || len(heard) != 0 {
		t.Errorf("a checklist, with nothing to say: %s, %d calls, %q", reason, asked, heard)
	}
	write("Is the tea ready?")
	if reason, asked, heard := run(beat); asked == 0 || strings.Join(heard, "|") != "The tea is ready." {
		r.Await("it is said", programtest.Patience, func() bool { heard = r.Shown("u1"); return heard[len(heard)-1] == "The tea is ready." })
		if asked == 0 {
			t.Errorf("another checklist: %s, %d calls", reason, asked)
		}
	}
	if reason, asked, heard := run(beat); reason != "nothing changed" || asked != 0 || len(heard) != 0 {
		t.Errorf("after it: %s, %d calls, %q", reason, asked, heard)
	}

	out, errs, code := r.Command("job", "add", "--person", "u1", "--does", "heartbeat", "--timezone", "UTC", "every 30 minutes between 8:00 and 22:00", "Is anything new?")
	var own int
	_, number, _ := strings.Cut(out, "Its number is ")
	if _, err := fmt.Sscanf(number, "%d.", &own); err != nil {
		t.Fatalf("job add: exit %d, %s%s", code, out, errs)
	}
	if reason, asked, _ := run(own); asked == 0 { // its first
		t.Errorf("a text of its own: %s, %d calls", reason, asked)
	}
	if reason, asked, heard := run(own); reason != "nothing changed" || asked != 0 || len(heard) != 0 {
		t.Errorf("its second: %s, %d calls, %q", reason, asked, heard)
	}
	r.Answers("u1", "again", "heard: again")
	if reason, asked, heard := run(own); asked == 0 || len(heard) != 0 {
		t.Errorf("after a message: %s, %d calls, %q", reason, asked, heard)
	}
	for _, c := range []struct{ want, flag, value string }{
		{`There is no model "gpt"`, "--model", "gpt"},
		{`not "-1"`, "--budget", "-1"},
		{"has no price", "--budget", "0.1"},
		{`a file in the folder heartbeat of the data folder, not "../key"`, "--checklist", "../key"},
	} {
		if _, errs, code := r.Command("job", "add", "--person", "u1", "--does", "heartbeat", "--timezone", "UTC", c.flag+"="+c.value, "every hour", "look"); code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s %s: exit %d, %s", c.flag, c.value, code, errs)
		}
	}
	if n := r.Count("SELECT count(*) FROM runs WHERE state = 'done'"); n < runs { // those that come by themselves beside them
		t.Errorf("%d runs of %d are in the history", n, runs)
	}
}
