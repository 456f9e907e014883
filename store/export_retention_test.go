package store

import (
	"context"
	"fmt"
	"strings"

	"switchboard/store/audit"
	"switchboard/store/database"
	"switchboard/store/people"
	"switchboard/store/sessions"
)

// SweepQueries are the statements of a sweep, by a name.
func SweepQueries() map[string]string {
	all := map[string]string{
		"events": oldSessions, "delete events": deleteEvents, "turns": oldTurns, "messages": oldMessages, "strangers": deleteStrangers,
		"places": oldConversations, "still": areStillOver, "moved": literal(oldMoved, "1", "1", "'a'", "'a'"), "delete moved": literal(deleteMoved, "'a'", "'a'"), "people": oldPeople, "known": literal(people.DeleteKnown, "'a'"), "rejected": deleteRejected, "bodies": oldBodies, "delete bodies": deleteBodies, "keys": deleteKeys, "audit": audit.DropAudit, "turns to audit": unaudited, "strangers to audit": unauditedStrangers, "to seal": audit.Queries()["olderAudit"], "marks": sessions.DropMarks, "wait": waitingParts, "made": oldMade, "runs": deleteRuns, "jobs": deleteJobs, "notifications": deleteNotifications, "told": literal(people.Queries()["deleteTold"], "'a'"),
	}
	for name, list := range map[string][]string{"turn": deleteTurns, "message": deleteMessages, "session": deleteSessions, "place": deleteConversations} {
		for i, query := range list {
			all[fmt.Sprintf("%s %d", name, i)] = query
		}
	}
	return all
}

// Plan is how the database would run a query whose parameters are numbers, one step a
// line. PostgreSQL is told to prefer any index to none.
func (db *DB) Plan(ctx context.Context, query string) (plan []string, err error) {
	query = strings.ReplaceAll(query, "?", "1")
	err = db.Write(ctx, database.Async, "explain", func(t *database.Tx) error {
		plan = nil
		if t.PG {
			if _, err := t.Exec("SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			var rows []struct {
				Line string `db:"QUERY PLAN"`
			}
			err := t.All(&rows, "EXPLAIN "+query)
			for _, r := range rows {
				plan = append(plan, r.Line)
			}
			return err
		}
		var rows []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		err := t.All(&rows, "EXPLAIN QUERY PLAN "+query)
		for _, r := range rows {
			plan = append(plan, r.Detail)
		}
		return err
	})
	return plan, err
}
