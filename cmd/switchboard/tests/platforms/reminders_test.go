package platforms_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// overdue has the reminders of that text be due since two hours, as after a night in which nothing
// ran. The program is down.
func overdue(r *programtest.Rig, text string) {
	r.T.Helper()
	due := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	r.Write("UPDATE jobs SET spec = json_set(spec, '$.at', ?), slot = ?, due_at = ? WHERE text = ? AND state = 'active'",
		due.UTC().Format(time.RFC3339), due.UnixMicro(), due.UnixMicro(), text)
}

// At every platform, over its wire: a reminder comes when it is due and is snoozed by its button, once
// however often that is pressed; one that was due while the program was down comes at the next
// start, once, and says when it was due.
func TestRemindersOverEachPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "[scheduler]\ntimezone = \"Europe/Rome\"\n")
	o.opens()
	o.claims()
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + "remind in 2 seconds to stretch")
		d.ada.Writes(d.slash + "remind in 3 hours to water")
		return func() {
			d.ada.Found("I'll remind you ", "(Europe/Rome): stretch.")
			d.ada.Found("I'll remind you ", "(Europe/Rome): water.")
			came := d.ada.Found("Reminder: stretch")
			if got, want := programtest.Labels(came), []string{"10 min", "1 h", "Tomorrow"}; !slices.Equal(got, want) {
				t.Errorf("on %s the buttons are %q", d.kind, got)
			}
			d.ada.Presses(came, "1 h")
			d.ada.Pressed(came, "1 h") // the first press may have taken it away already
			d.ada.Found("I'll remind you again on ", " (Europe/Rome): ")
		}
	})
	o.Noted()
	o.Kill()
	overdue(o.Rig, "water")
	for range 2 { // the second start finds nothing to say
		o.opens()
		o.each(func(d *desk) func() {
			return func() { d.ada.Found("Reminder: water", "(was due on ", ", Europe/Rome)") }
		})
		o.Noted()
		o.Kill()
	}
	o.opens()
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + "notifications all")
		return func() {
			d.ada.Found("stretch", "water", "new") // they are kept, unread, and listed once
			for text, want := range map[string]int{"Reminder: stretch": 2, "Reminder: water": 2, "I'll remind you again": 1} {
				if n := d.ada.Bots(text); n != want {
					t.Errorf("on %s %q is read %d times, want %d", d.kind, text, n, want)
				}
			}
		}
	})
	for _, row := range o.Query("SELECT text, count(*) FROM jobs WHERE owner <> '' GROUP BY text ORDER BY text") {
		if want := map[string]string{"stretch": "6", "water": "3"}[row[0]]; row[1] != want {
			t.Errorf("%s jobs are to %s, want %s", row[1], row[0], want)
		}
	}
}

// In the terminal, with no model: a reminder is answered with its time and comes while the pipe is
// listened to; one that was due while nothing ran comes at the next start, once, and says so. Both are kept until they are read.
func TestRemindersInATerminal(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[scheduler]\ntimezone = \"Europe/Rome\"\n")
	chat := func(line string, args ...string) string {
		t.Helper()
		out, errs, code := r.CommandWith(line+"\n", append([]string{"chat"}, args...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, errs)
		}
		return out
	}
	out := chat("remind me in 1 second to stretch", "--linger", "9s")
	if !regexp.MustCompile(`(?s)^I'll remind you at \d\d:\d\d:\d\d \(Europe/Rome\): stretch\.\n.*\bReminder: stretch\n`).MatchString(out) {
		t.Errorf("it is answered:\n%s", out)
	}
	if out := chat("remind me tomorrow at 9 to call Ann"); !strings.Contains(out, ", 09:00 (Europe/Rome): call Ann.\n") {
		t.Errorf("it is answered:\n%s", out)
	}
	overdue(r, "call Ann")
	if out := chat("run sleep 2"); strings.Contains(out, "call Ann") { // it listens for nothing else, so it waits
		t.Errorf("where nobody listens for it is said:\n%s", out)
	}
	if got := r.Query("SELECT state, runs FROM jobs WHERE text = 'call Ann'"); fmt.Sprint(got) != "[[active 0]]" {
		t.Errorf("where nobody listens the job is %s", got)
	}
	if out, _, _ := r.Command("doctor"); !programtest.Says(out, `WARN  jobs       1 job \(\d+\) is overdue: due for longer than 1m0s, and not begun$`) || !programtest.Says(out, ` +fix: start "switchboard serve"`) {
		t.Errorf("the doctor says:\n%s", out)
	}
	if out := chat("what time is it?", "--linger", "9s"); strings.Count(out, "Reminder: call Ann\n") != 1 || !strings.Contains(out, "(was due on ") {
		t.Errorf("at the next start it is said:\n%s", out)
	}
	if out := chat("/notifications\n/notifications", "--linger", "2s"); strings.Count(out, "call Ann") != 1 || strings.Count(out, "stretch") != 1 || !strings.Contains(out, "There is nothing that you have not read.") {
		t.Errorf("afterwards the notifications are:\n%s", out)
	}
	if got := fmt.Sprint(r.Query("SELECT text, runs.state FROM runs JOIN jobs ON jobs.id = job_id WHERE owner = 'owner' ORDER BY runs.id")); got != "[[stretch done] [call Ann done]]" {
		t.Errorf("the runs are %s", got)
	}
}
