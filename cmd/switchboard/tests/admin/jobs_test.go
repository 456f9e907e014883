package admin_test

import (
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/scheduler"
)

// Jobs are added, shown, changed and removed beside a running engine as in a chat, and what cannot be is
// said with its reason.
func TestJobsAreManagedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[scheduler]\ntimezone = \"Europe/Rome\"\n")
	r.Up()
	tell := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := r.Command(append([]string{"job"}, args...)...)
		if got != code || !strings.Contains(out+errs, want) || (code == 0) != (errs == "") {
			t.Errorf("job %q: exit %d, %q, %q; want %q", args, got, out, errs, want)
		}
	}
	tell(0, "maintenance", "list", "--all") // the program's own are 1 to 6
	tell(1, "owner has no direct chat with me", "add", "tomorrow at 9", "call Ann")
	if out, errs, _ := r.CommandWith("remind me tomorrow at 9 to call Ann\n", "chat"); !strings.Contains(out, "I'll remind you tomorrow, ") || !strings.Contains(out, ", 09:00 (Europe/Rome): call Ann.\nIts number is 7.") {
		t.Fatalf("in the chat: %s %s", out, errs)
	}
	tell(0, "I'll do this every weekday at 08:00 (Europe/Rome): list files.\nNext: ", "add", "every weekday at 8", "list files", "--does", "task")
	if out, errs, _ := r.CommandWith("/timezone Asia/Tokyo\n", "chat"); !strings.Contains(out, "is Asia/Tokyo") {
		t.Fatalf("in the chat: %s %s", out, errs)
	}
	tell(0, "(Asia/Tokyo)", "add", "every day at 9", "tea") // as in the chat in which it speaks
	tell(0, "(Asia/Kolkata)", "add", "every day at 9", "tea", "--timezone", "Asia/Kolkata", "--to", "console:owner/default", "--times", "3", "--hours", "8:00-10:00", "--grace", "1h")
	tell(1, "is over: it is", "add", "2020-01-01 09:00", "tea")
	tell(1, "which do you mean?\n- ", "add", "tomorrow at 5", "tea")
	tell(1, "I can write to nobody called \"eve\"", "add", "--does", "message", "--to", "eve", "tomorrow at 9", "tea")
	tell(1, "there is no person \"eve\"", "add", "--person", "eve", "tomorrow at 9", "tea")
	tell(0, "I paused task 8: list files", "pause", "8")
	tell(1, "Job 8 is paused already.", "pause", "8")
	tell(0, "- paused", "show", "8")
	tell(0, "Resumed. I'll do this every weekday", "resume", "8")
	tell(0, "every day at 10:00 (Europe/Rome): list all files", "edit", "8", "--when", "every day at 10", "--text", "list all files")
	tell(0, "Options: overlap queue.", "edit", "8", "--overlap", "queue", "--retries", "default")
	tell(1, "overlap takes skip, queue or allow, not \"twice\"", "edit", "8", "--overlap", "twice")
	tell(1, "jitter takes a time such as 30s", "edit", "8", "--jitter", "")
	tell(2, "say what is to change", "edit", "8")
	tell(2, "unknown flag --colour\nRun \"switchboard job edit --help\"", "edit", "8", "--colour", "red")
	tell(0, "every day at 10:00 (Asia/Tokyo): list all files", "edit", "8", "--timezone", "Asia/Tokyo")
	tell(0, "- options: overlap queue", "show", "8")
	tell(0, "I'll skip the next run of task 8. The one after that is on ", "skip", "8")
	tell(0, "10:00:00 JST  skipped", "history", "8")
	if out, _, _ := r.Command("job", "history", "10", "--json"); out != "[]\n" {
		t.Errorf("the history of none is %q", out)
	}
	if out, errs, _ := r.Command("job", "list", "--limit", "2"); strings.Count(out, "\n") != 3 || errs != "switchboard: there are more than these 2; --limit N lists up to N\n" {
		t.Errorf("two of more: %s%s", out, errs)
	}
	tell(0, "tea", "list", "--limit", "4") // these are all
	tell(0, "I removed reminder 9: tea", "remove", "9")
	tell(0, "(Asia/Kolkata), 3 times: tea [redacted]", "edit", "10", "--text", "tea ghp_"+strings.Repeat("a1B2", 9))
	tell(0, "I removed reminder 10: tea", "remove", "10")
	tell(1, "Job 9 is deleted.", "remove", "9")
	for _, verb := range []string{"history", "show", "pause", "run"} {
		tell(1, "there is no job 99; \"switchboard job list --all\" lists them", verb, "99")
	}
	tell(1, "there is no person \"eve\"; \"switchboard person list\" names them", "list", "--person", "eve")
	r.Write("UPDATE jobs SET state = 'disabled', reason = 'x' WHERE id = 7")
	r.Write("UPDATE jobs SET state = 'paused', reason = 'rights: x' WHERE id IN (3, 8)")
	r.Command("config", "set", "heartbeat.deliver_to", "console:nobody/default")
	r.Command("config", "set", "heartbeat.enabled", "true")
	r.Command("config", "set", "scheduler.enabled", "false")
	r.Counts("scheduler.enabled", "false")
	tell(1, "Jobs are switched off", "run", "8")
	tell(0, "I'm running maintenance 2 now.", "run", "2") // maintenance goes on
	if out, _, _ := r.Command("job", "show", "2"); strings.Contains(out, "switched off") {
		t.Errorf("of maintenance that goes on it says:\n%s", out)
	}
	out, _, _ := r.Command("doctor", "--json")
	for _, want := range []string{
		"no jobs of people and 6 of the program are active; switched off ([scheduler] enabled = false): none runs but maintenance\"", "\"1 job (7) is disabled, as they failed too often\"", "\"2 jobs (3, 8) are paused by the program\"",
		"\"heartbeat.deliver_to names console:nobody/default, where nobody has written to the bot yet\"",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the doctor does not say %s:\n%s", want, out)
		}
	}
	jobs := programtest.List[[]scheduler.Job](r, "job", "list", "--json")
	if len(jobs) != 2 || jobs[0].Text != "call Ann" || jobs[1].Payload != scheduler.PayloadAgent || jobs[1].Owner != "owner" {
		t.Errorf("the list has %+v", jobs)
	}
}
