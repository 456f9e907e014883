package main_test

import (
	"strings"
	"testing"

	"switchboard/scheduler"
)

// Jobs are added, shown, changed and removed beside a running engine as in a chat, and what cannot be is
// said with its reason.
func TestJobsAreManagedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, "[scheduler]\ntimezone = \"Europe/Rome\"\n")
	r.up()
	tell := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := r.command(append([]string{"job"}, args...)...)
		if got != code || !strings.Contains(out+errs, want) || (code == 0) != (errs == "") {
			t.Errorf("job %q: exit %d, %q, %q; want %q", args, got, out, errs, want)
		}
	}
	tell(1, "owner has no direct chat with me", "add", "tomorrow at 9", "call Ann")
	if out, errs, _ := r.commandWith("remind me tomorrow at 9 to call Ann\n", "chat"); !strings.Contains(out, "Job 1, a reminder, once, ") || !strings.Contains(out, " at 09:00 (Europe/Rome): call Ann") {
		t.Fatalf("in the chat: %s %s", out, errs)
	}
	tell(0, "Job 2, a task, every weekday at 08:00 (Europe/Rome): list files\nNext: ", "add", "every weekday at 8", "list files", "--does", "task")
	tell(0, "(Asia/Tokyo)", "add", "every day at 9", "tea", "--timezone", "Asia/Tokyo", "--to", "console:owner/default")
	tell(1, "is over: it is", "add", "2020-01-01 09:00", "tea")
	tell(1, "which do you mean?\n- ", "add", "at 9", "tea")
	tell(1, "nobody whom I can write to is called \"eve\"", "add", "--does", "send", "--to", "eve", "tomorrow at 9", "tea")
	tell(1, "there is no person \"eve\"", "add", "--person", "eve", "tomorrow at 9", "tea")
	tell(0, "Job 2 is paused: list files", "pause", "2")
	tell(1, "Job 2 is paused already.", "pause", "2")
	tell(0, "- paused", "show", "2")
	tell(0, "It goes on. Job 2, a task", "resume", "2")
	tell(0, "every day at 10:00 (Europe/Rome): list all files", "edit", "2", "--when", "every day at 10", "--text", "list all files")
	tell(2, "give --when, --text, or both", "edit", "2")
	tell(0, "The next time of job 2 is left out; then it is ", "skip", "2")
	tell(0, "skipped", "history", "2")
	tell(0, "Job 3 is deleted: tea", "remove", "3")
	tell(1, "not found", "remove", "3")
	tell(1, "not found", "history", "99")
	jobs := list[[]scheduler.Job](r, "job", "list", "--json")
	if len(jobs) != 2 || jobs[0].Text != "call Ann" || jobs[1].Payload != scheduler.PayloadAgent || jobs[1].Owner != "owner" {
		t.Errorf("the list has %+v", jobs)
	}
}
