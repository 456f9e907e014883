package scheduler

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"
)

// Defaults are the settings' rules.
type Defaults struct {
	Misfire Misfire
	Grace   time.Duration
	// Since is from when on an engine has run; zero: it is not known, and what is a minute old fell due before.
	Since time.Time
}

// mostCounted is how many slots of one job are counted one by one, and then half as many before now. Where there were
// more between, the row of those that were missed says so.
const mostCounted = 5000

// Arm sets the job's Slot and Due to its next slot after an instant, strictly; zero where none is left.
func (j *Job) Arm(after time.Time) {
	j.Slot, j.Due = time.Time{}, time.Time{}
	if j.Spec.Most > 0 && j.Runs >= j.Spec.Most {
		return
	}
	if slot, ok := j.Spec.Next(after); ok {
		j.Slot, j.Due = slot, j.due(slot)
	}
}

// due is when a slot runs: its own, fixed part of the jitter later, the same at whichever engine
// asks.
func (j *Job) due(slot time.Time) time.Time {
	if j.Spec.Jitter <= 0 {
		return slot
	}
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatInt(j.ID, 10) + ":" + strconv.FormatInt(slot.UnixMicro(), 10)))
	return slot.Add(time.Duration(h.Sum64() % uint64(j.Spec.Jitter)).Truncate(time.Microsecond))
}

// Decide says what becomes of a job's slots that are due by now: which run, which are skipped because a
// former run is open (open of them), and one missed row for the stretch of those that nobody looked
// at in time. A slot that is found within LateAfter is on time, but with Misfire skip one that fell due while no
// engine ran is not, and one that a running engine claims late is. A job whose spec cannot be read any more is disabled.
func Decide(job Job, now time.Time, open int, settings Defaults) Claim {
	claim := Claim{Job: job, Slot: job.Slot, Due: job.Due}
	if job.Slot.IsZero() || job.Due.After(now) {
		return claim
	}
	p, err := job.Spec.read()
	if err != nil { // it was checked when it was saved, but a system may lose a time zone
		claim.Disable = "spec: " + err.Error()
		return claim
	}
	passed, missed, next := job.passed(p, now, settings)
	left := len(passed)
	if job.Spec.Most > 0 {
		left = min(left, max(job.Spec.Most-job.Runs, 0))
	}
	if missed.Count > 0 {
		claim.Runs = append(claim.Runs, missed)
	}
	overlaps := open > 0 && job.Rules.Overlap != OverlapQueue && job.Rules.Overlap != OverlapAllow
	for _, slot := range passed[:left] {
		run := Run{JobID: job.ID, Slot: slot, Last: slot, Count: 1, Try: 1, State: RunDue, StartAt: now, Claimed: now}
		switch {
		case overlaps:
			run.State, run.Reason, run.StartAt = RunSkipped, "overlap: the run before it had not ended", time.Time{}
		case open >= MostOpen:
			run.State, run.Reason, run.StartAt = RunSkipped, fmt.Sprintf("overlap: %d runs before it had not ended", open), time.Time{}
		default:
			job.Runs++
			open++
		}
		claim.Runs = append(claim.Runs, run)
	}
	claim.Slot, claim.Due = next, time.Time{}
	if job.Spec.Most > 0 && job.Runs >= job.Spec.Most {
		claim.Slot = time.Time{}
	}
	if !claim.Slot.IsZero() {
		claim.Due = job.due(claim.Slot)
	}
	return claim
}

// passed sorts the job's slots up to now: the ones to run, oldest first, and the stretch before them
// that is missed. Next is the slot after them; zero: none is left.
func (j *Job) passed(p *plan, now time.Time, settings Defaults) (run []time.Time, missed Run, next time.Time) {
	misfire, grace := cmp.Or(j.Rules.Misfire, settings.Misfire), cmp.Or(j.Rules.Grace, settings.Grace)
	if misfire == MisfireSkip {
		grace = 0
	}
	keep := 1
	if misfire == MisfireAll {
		keep = MostMissed
	}
	late := func(slot time.Time) bool {
		if misfire == MisfireSkip && !settings.Since.IsZero() && j.Spec.At == "" {
			return j.due(slot).Before(settings.Since)
		}
		return j.Spec.At == "" && now.Sub(j.due(slot)) > max(grace, LateAfter)
	}
	miss := func(slot time.Time) {
		if missed.Count == 0 {
			missed = Run{JobID: j.ID, Slot: slot, Try: 1, State: RunMissed, Claimed: now}
		}
		missed.Last = slot
		missed.Count++
	}
	slot, more := j.Slot, false
	for n := 1; !slot.IsZero() && !j.due(slot).After(now); n++ {
		if late(slot) {
			miss(slot)
		} else if run = append(run, slot); len(run) > keep {
			miss(run[0])
			run = run[1:]
		}
		// Half of as many are looked at again before now, of which the newest run.
		if near := now.Add(-max(time.Hour, slot.Sub(j.Slot)/2) - j.Spec.Jitter); n == mostCounted && near.After(slot) {
			slot, more = near, true
		}
		slot = p.slot(slot)
	}
	if more && missed.Count > 0 {
		missed.Reason = "and more, which were not counted"
	}
	return run, missed, slot
}
