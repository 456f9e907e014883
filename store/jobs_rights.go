package store

import (
	"encoding/json"
	"slices"

	"switchboard/agent/tools"
	"switchboard/scheduler"
)

const (
	activeJobs = `SELECT id FROM jobs WHERE owner = ? AND owner <> '' AND state = 'active' ORDER BY id`
	// usedJobs has a row for each tool that runs of a job began.
	usedJobs = `
		SELECT DISTINCT j.id, j.payload, j.rules, coalesce(c.kind, '') AS kind, CASE k.type WHEN 'exec' THEN 'exec' ELSE coalesce(k.tool, '') END AS tool
		FROM jobs j LEFT JOIN conversations c ON c.id = j.conversation_id LEFT JOIN runs r ON r.job_id = j.id
			LEFT JOIN tasks k ON k.turn_id = r.turn_id AND k.type <> 'msg' AND k.started_at IS NOT NULL
		WHERE j.owner = ? AND j.state = 'active' ORDER BY j.id`
	pauseJob = `UPDATE jobs SET state = 'paused', reason = ?, version = version + 1, updated_at = ? WHERE id = ?`
)

// pauseForRights pauses, and returns, those jobs of somebody who is no admin any more that need an admin's
// rights: that used them before, or have what only an admin may give.
func (t *tx) pauseForRights(name string) (paused []int64, err error) {
	p, err := t.person(name)
	if err != nil || p == nil {
		return nil, err
	}
	var rows []struct {
		ID                         int64
		Payload, Rules, Kind, Tool string
	}
	if err := t.All(&rows, usedJobs, name); err != nil {
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
		if err := t.run(
			statement{pauseJob, []any{"rights: its owner is no admin any more", t.now, row.ID}},
			statement{dropDue, []any{string(scheduler.JobPaused), t.now, row.ID}},
		); err != nil {
			return nil, err
		}
		paused = append(paused, row.ID)
	}
	return paused, nil
}
