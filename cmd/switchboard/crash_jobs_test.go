package main_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"switchboard/store/storetest"
)

const (
	crashReminders = 8
	crashTasks     = 4
)

// Reminders and tasks that come due while the program is killed again and again: each comes once.
func TestCrashWhileJobsAreDue(t *testing.T) {
	t.Parallel()
	r := plannedBy(t, "", echo, "ada")
	r.up()
	crashJobs(r, r.count, func() { r.kill(); r.up() })
	r.stop(20 * time.Second)
}

// The same on two engines, of which one is killed each time.
func TestCrashWhileJobsAreDueOnTwoEngines(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	r := plannedBy(t, "", echo, "ada")
	f := newFleet(r, url, "one", "two")
	f.up()
	crashJobs(r, f.count, func() {
		victim := f.engines[rand.IntN(2)]
		victim.kill()
		f.other(victim).mustLive()
		victim.up()
	})
	f.stop()
}

// crashJobs makes jobs that are due in the next seconds, and kills meanwhile.
func crashJobs(r *rig, count func(string, ...any) int, kill func()) {
	r.t.Helper()
	r.ask("ada", "hello")
	for n := range crashTasks {
		out, errs, code := r.command("job", "add", "--person", "ada", "--does", "task", fmt.Sprintf("in %d seconds", 5+n), fmt.Sprintf("task %d.", n))
		if code != 0 {
			r.t.Fatalf("job add: exit %d\n%s%s", code, out, errs)
		}
	}
	for n := range crashReminders {
		r.platform.Say("cada", "ada", fmt.Sprintf("/remind in %d seconds reminder %d.", 4+n, n))
	}
	const made = crashReminders + crashTasks
	r.await("all jobs are made", 30*time.Second, func() bool { return count("SELECT count(*) FROM jobs WHERE owner = 'ada'") == made })
	for range 6 {
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		kill()
	}
	r.await("all runs are done, and all is said", time.Minute, func() bool {
		return count("SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'ada' AND r.state = 'done'") == made &&
			count("SELECT count(*) FROM deliveries WHERE settled = FALSE AND state <> 'dropped'") == 0
	})
	if n := count("SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'ada'"); n != made {
		r.t.Errorf("%d runs", n)
	}
	if n := count("SELECT count(*) FROM turns WHERE terms IS NOT NULL"); n != crashTasks {
		r.t.Errorf("%d turns of tasks", n)
	}
	// What was cut off twice as it was sent is unknown for good, and listed.
	unknown := count("SELECT count(*) FROM deliveries WHERE state = 'unknown'")
	for n := range max(crashReminders, crashTasks) {
		for text, comes := range map[string]bool{fmt.Sprintf("Reminder: reminder %d.", n): n < crashReminders, fmt.Sprintf("heard: task %d.", n): n < crashTasks} {
			if !r.came(text, comes) {
				unknown--
			}
		}
	}
	if unknown < 0 {
		r.t.Errorf("%d were lost that nobody knows of", -unknown)
	}
}

// came wants a text shown once, and perhaps once more with the mark of what may have arrived before; false: it
// should have come, and did not.
func (r *rig) came(text string, comes bool) bool {
	r.t.Helper()
	plain, marked := 0, 0
	for _, shown := range r.shown("ada") {
		if rest, again := strings.CutPrefix(shown, "(repeated) "); strings.HasPrefix(rest, text) && again {
			marked++
		} else if strings.HasPrefix(rest, text) {
			plain++
		}
	}
	if !comes && plain+marked > 0 || plain > 1 || marked > 1 {
		r.t.Errorf("%q is shown %d times, and %d times with the mark", text, plain, marked)
	}
	return !comes || plain+marked > 0
}
