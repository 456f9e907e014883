package jobs

import (
	"encoding/json"
	"slices"

	"switchboard/agent/tools"
	"switchboard/scheduler"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

const (
	// usedJobs has a row for each tool that runs of a job began.
	usedJobs = `
		SELECT DISTINCT j.id, j.payload, j.rules, coalesce(c.kind, '') AS kind, CASE k.type WHEN 'exec' THEN 'exec' ELSE coalesce(k.tool, '') END AS tool
		FROM jobs j LEFT JOIN conversations c ON c.id = j.conversation_id LEFT JOIN runs r ON r.job_id = j.id
			LEFT JOIN tasks k ON k.turn_id = r.turn_id AND k.type <> 'msg' AND k.started_at IS NOT NULL
		WHERE j.owner = ? AND j.state = 'active' ORDER BY j.id`
	pauseJob = `UPDATE jobs SET state = 'paused', reason = ?, version = version + 1, updated_at = ? WHERE id = ?`
)

// PauseForRights pauses, and returns, those jobs of somebody who is no admin any more that need an admin's
// rights: that used them before, or have what only an admin may give.
func PauseForRights(t *database.Tx, name string) (paused []int64, err error) {
	p, err := sessions.Person(t, name)
	if err != nil || p == nil {
		return nil, err
	}
	type row struct {
		ID                         int64
		Payload, Rules, Kind, Tool string
	}
	rows, err := database.Select[row](t, usedJobs, name)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		var rules scheduler.Rules
		_ = json.Unmarshal([]byte(row.Rules), &rules) // a job that cannot be read is disabled when it is due
		switch {
		case slices.Contains(paused, row.ID):
			continue
		case row.Payload == string(scheduler.PayloadSend) && row.Kind != "direct",
			rules.FileBy == name, rules.BudgetBy == name,
			row.Tool == tools.ExecName && !slices.Contains(p.Tools, tools.ExecName),
			row.Tool != "" && tools.Named(tools.AdminTools, row.Tool):
		default:
			continue
		}
		if err := t.Run(
			database.Do(pauseJob, "rights: its owner is no admin any more", t.Now, row.ID),
			database.Do(dropDue, scheduler.JobPaused, t.Now, row.ID),
		); err != nil {
			return nil, err
		}
		paused = append(paused, row.ID)
	}
	return paused, nil
}
