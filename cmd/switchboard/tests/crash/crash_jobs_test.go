package crash_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

const (
	crashReminders = 8
	crashTasks     = 4
)

// Reminders and tasks that come due while the program is killed again and again: each comes once.
func TestCrashWhileJobsAreDue(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "ada")
	r.Up()
	crashJobs(r, r.Count, func() { r.Kill(); r.Up() })
	r.Stop(20 * time.Second)
}

// The same on two engines, of which one is killed each time.
func TestCrashWhileJobsAreDueOnTwoEngines(t *testing.T) {
	t.Parallel()
	url := storetest.MigratedURL(t)
	r := programtest.PlannedBy(t, "", programtest.Echo, "ada")
	f := programtest.NewFleet(r, url, "one", "two")
	f.Up()
	crashJobs(r, f.Count, func() {
		victim := f.Engines[rand.IntN(2)]
		victim.Kill()
		f.Other(victim).MustLive()
		victim.Up()
	})
	f.Stop()
}

// crashJobs makes jobs that are due in the next seconds, and kills meanwhile.
func crashJobs(r *programtest.Rig, count func(string, ...any) int, kill func()) {
	r.T.Helper()
	r.Ask("ada", "hello")
	for n := range crashTasks {
		out, errs, code := r.Command("job", "add", "--person", "ada", "--does", "task", fmt.Sprintf("in %d seconds", 5+n), fmt.Sprintf("task %d.", n))
		if code != 0 {
			r.T.Fatalf("job add: exit %d\n%s%s", code, out, errs)
		}
	}
	for n := range crashReminders {
		r.Platform.Say("cada", "ada", fmt.Sprintf("/remind in %d seconds reminder %d.", 4+n, n))
	}
	const made = crashReminders + crashTasks
	r.Await("all jobs are made", 30*time.Second, func() bool { return count("SELECT count(*) FROM jobs WHERE owner = 'ada'") == made })
	for range 6 {
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		kill()
	}
	r.Await("all runs are done, and all is said", time.Minute, func() bool {
		return count("SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'ada' AND r.state = 'done'") == made &&
			count("SELECT count(*) FROM deliveries WHERE settled = FALSE AND state <> 'dropped'") == 0
	})
	if n := count("SELECT count(*) FROM runs r JOIN jobs j ON j.id = r.job_id WHERE j.owner = 'ada'"); n != made {
		r.T.Errorf("%d runs", n)
	}
	if n := count("SELECT count(*) FROM turns WHERE terms IS NOT NULL"); n != crashTasks {
		r.T.Errorf("%d turns of tasks", n)
	}
	// What was cut off twice as it was sent is unknown for good, and listed.
	unknown := count("SELECT count(*) FROM deliveries WHERE state = 'unknown'")
	for n := range max(crashReminders, crashTasks) {
		for text, comes := range map[string]bool{fmt.Sprintf("Reminder: reminder %d.", n): n < crashReminders, fmt.Sprintf("heard: task %d.", n): n < crashTasks} {
			if !came(r, text, comes) {
				unknown--
			}
		}
	}
	if unknown < 0 {
		r.T.Errorf("%d were lost that nobody knows of", -unknown)
	}
}

// came wants a text shown once, and perhaps once more with the mark of what may have arrived before; false: it
// should have come, and did not.
func came(r *programtest.Rig, text string, comes bool) bool {
	r.T.Helper()
	plain, marked := 0, 0
	for _, shown := range r.Shown("ada") {
		if rest, again := strings.CutPrefix(shown, "(repeated) "); strings.HasPrefix(rest, text) && again {
			marked++
		} else if strings.HasPrefix(rest, text) {
			plain++
		}
	}
	if !comes && plain+marked > 0 || plain > 1 || marked > 1 {
		r.T.Errorf("%q is shown %d times, and %d times with the mark", text, plain, marked)
	}
	return !comes || plain+marked > 0
}
