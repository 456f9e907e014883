package scheduler

import "time"

// Maintained is what a pass of maintenance came to.
type Maintained struct {
	Did  string // in a few words, the run's Reason; empty: there was nothing to do
	Seen string // what the job remembers for the next pass; empty: as before
}

// The program's own jobs. Each is there once, by its name, however many engines there are.
const (
	MaintainRetention = "retention" // clears away rows that are older than [retention] says
	MaintainFiles     = "files"     // forgets old attachments and removes their bytes
	MaintainOrphans   = "orphans"   // removes bytes that no attachment refers to
	MaintainAudit     = "audit"     // seals the hours of the audit log that are over
	MaintainOptimize  = "optimize"  // has the database renew what it knows of its tables
	MaintainHealth    = "health"    // looks how machine and queue are, and notifies of what is not well
	// SystemHeartbeat is the one of [heartbeat], which is no maintenance: its runs are turns.
	SystemHeartbeat = "heartbeat"
)

// Maintenance are the program's own jobs of payload maintenance. What was missed while the program
// was down is done once at the start, so that a machine which sleeps at night is looked after too.
func Maintenance() []Job {
	var list []Job
	for _, m := range []struct{ name, cron string }{
		{MaintainRetention, "17 * * * *"},
		{MaintainFiles, "27 * * * *"},
		{MaintainOrphans, "37 3 * * *"},
		{MaintainAudit, "1 * * * *"},
		{MaintainOptimize, "47 3 * * *"},
		{MaintainHealth, "*/5 * * * *"},
	} {
		list = append(list, Job{
			Name: m.name, Payload: PayloadMaintenance, Spec: Spec{Cron: m.cron, Zone: "UTC"},
			Rules: Rules{Misfire: MisfireOnce, Grace: 25 * time.Hour}, State: JobActive,
		})
	}
	return list
}
