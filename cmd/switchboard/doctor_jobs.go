package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/store"
	"switchboard/store/jobs"
)

// checkJobs tells which jobs do not run though somebody wants them to. alive says that an engine answers here.
func checkJobs(ctx context.Context, db *store.DB, settings *configs.Settings, alive bool) []finding {
	facts, err := db.JobFacts(ctx)
	if err != nil {
		return []finding{{Check: "jobs", Text: err.Error(), Mend: "see what the database's log says"}}
	}
	all := finding{Check: "jobs", OK: true, Text: activeJobs(facts)}
	if !settings.Scheduler.Enabled {
		all.Warn, all.Mend = true, "\"switchboard config set scheduler.enabled true\" has them go on"
		all.Text += "; switched off ([scheduler] enabled = false): none runs but maintenance"
		facts.Overdue = nil // it says why
	}
	wait := "start \"switchboard serve\", which begins them"
	if alive {
		wait = "see that the channels they speak in are connected, and what the log says of jobs"
	}
	findings := []finding{all}
	for _, stopped := range []struct {
		jobs      []int64
		why, mend string
	}{
		{facts.Disabled, "disabled, as they failed too often", "\"switchboard job history N\" says why; then \"switchboard job resume N\""},
		{facts.Paused, "paused by the program", "\"switchboard job show N\" says why; then \"switchboard job resume N\" or \"job remove N\""},
		{facts.Overdue, "overdue: due for longer than " + jobs.Late.String() + ", and not begun", wait},
	} {
		if len(stopped.jobs) > 0 {
			findings = append(findings, finding{Check: "jobs", OK: true, Warn: true, Mend: stopped.mend, Text: numbered(stopped.jobs) + " " + stopped.why})
		}
	}
	return findings
}

// activeJobs counts those that wait for their time.
func activeJobs(facts jobs.JobFacts) string {
	if facts.Active == facts.Own {
		return fmt.Sprintf("no jobs of people and %d of the program are active", facts.Own)
	}
	of := words.Count(facts.Active-facts.Own, "job")
	return fmt.Sprintf("%s of people and %d of the program are active", of, facts.Own)
}

// numbered are jobs by number, the first ten of them.
func numbered(jobs []int64) string {
	list := strings.Trim(fmt.Sprint(jobs[:min(len(jobs), 10)]), "[]")
	text := words.Count(len(jobs), "job") + " (" + strings.ReplaceAll(list, " ", ", ")
	if len(jobs) > 10 {
		text += ", …"
	}
	if len(jobs) == 1 {
		return text + ") is"
	}
	return text + ") are"
}

// checkHeartbeat warns of a heartbeat that would speak where nobody knows us.
func checkHeartbeat(ctx context.Context, db *store.DB, settings *configs.Settings) []finding {
	to := settings.Heartbeat.DeliverTo
	if !settings.Heartbeat.Enabled || to == "" {
		return nil
	}
	channel, conversation, _ := strings.Cut(to, ":")
	chat, err := db.Router().Chat(ctx, channels.Conversation{Channel: channel, ID: channels.ConversationID(conversation)})
	switch {
	case err != nil && !errors.Is(err, core.ErrNotFound):
		return []finding{{Check: "heartbeat", Text: err.Error(), Mend: "see what the database's log says"}}
	case err != nil || chat.Kind == "": // the heartbeat itself makes its row, without a kind
		return []finding{{
			Check: "heartbeat", OK: true, Warn: true, Text: "heartbeat.deliver_to names " + to + ", where nobody has written to the bot yet",
			Mend: "write to the bot there once, or name another chat; empty: it speaks to an admin where they wrote last",
		}}
	}
	return []finding{{Check: "heartbeat", OK: true, Text: "every " + settings.Heartbeat.Every.String() + ", to " + to}}
}
