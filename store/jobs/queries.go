package jobs

// Queries are statements that run again and again, by name, for those who look how a database runs them.
func Queries() map[string]string {
	return map[string]string{
		"jobsDue":           jobsDue,
		"ofMaintenance":     ofMaintenance,
		"runsDue":           runsDue,
		"nextJob":           nextJob,
		"jobsAhead":         jobsAhead,
		"nextOwn":           nextOwn,
		"nextRun":           nextRun,
		"countRunning":      countRunning,
		"runsUntold":        runsUntold,
		"runsOf":            runsOf,
		"openJobs":          openJobs,
		"jobsOf":            jobsOf,
		"listNotifications": listNotifications,
	}
}
