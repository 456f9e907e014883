package store

import (
	"fmt"
	"strings"

	"switchboard/store/audit"
	"switchboard/store/memory"
	"switchboard/store/sessions"
)

// OnSealStep has each step of the sealer ask whether it dies there; nil: none does.
func (db *DB) OnSealStep(die func(step string) error) { db.sealStep = die }

// FrequentQueries are statements that every message or every poll runs, with the index that
// SQLite finds their rows by.
func FrequentQueries() map[string]string {
	return map[string]string{openTurn: "turns USING INDEX turns_open", countWaiting: "t USING INDEX turns_open"}
}

// SweepQueries are the statements of a sweep, by a name.
func SweepQueries() map[string]string {
	all := map[string]string{
		"events": oldSessions, "delete events": deleteEvents, "turns": oldTurns, "messages": oldMessages, "strangers": deleteStrangers,
		"places": oldConversations, "still": areStillOver, "moved": literal(oldMoved, "1", "1", "'a'", "'a'"), "delete moved": literal(deleteMoved, "'a'", "'a'"), "people": oldPeople, "known": literal(memory.DropSaid, "'a'"), "known own": literal(memory.DropOwn, "'person:a'"), "over": memory.DropOver, "records": memory.OldRecords, "rejected": deleteRejected, "bodies": oldBodies, "delete bodies": deleteBodies, "keys": deleteKeys, "audit": audit.DropAudit, "turns to audit": unaudited, "strangers to audit": unauditedStrangers, "marks": sessions.DropMarks, "wait": waitingParts, "made": oldMade, "runs": deleteRuns, "jobs": deleteJobs, "notifications": deleteNotifications,
	}
	for name, list := range map[string][]string{"turn": deleteTurns, "message": deleteMessages, "session": deleteSessions, "place": deleteConversations} {
		for i, query := range list {
			all[fmt.Sprintf("%s %d", name, i)] = query
		}
	}
	return all
}

func literal(query string, args ...string) string {
	for _, arg := range args {
		query = strings.Replace(query, "?", arg, 1)
	}
	return query
}
