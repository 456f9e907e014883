package jobs

import "fmt"

const reach = "(" + ofMaintenance + " OR j.conversation_id IS NULL OR c.channel IN (?))"

// The statements by which the scheduler finds what is due, some within what an engine reaches, and those
// of lists.
var (
	JobsDue, RunsDue, RunsUntold    = fmt.Sprintf(jobsDue, reach), fmt.Sprintf(runsDue, reach), fmt.Sprintf(runsUntold, reach)
	MaintenanceDue                  = fmt.Sprintf(jobsDue, ofMaintenance)
	NextJob, NextOwn, NextRun       = nextJob, nextOwn, nextRun
	JobsAhead, CountRunning, RunsOf = jobsAhead, countRunning, runsOf
	OpenJobs, JobsOf, Notifications = openJobs, jobsOf, listNotifications
)
