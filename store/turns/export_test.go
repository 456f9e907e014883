package turns

import "fmt"

// FrequentQueries are statements that every message or every poll runs, with the index that SQLite finds
// their rows by.
var FrequentQueries = map[string]string{
	headTurn:       "turns USING INDEX turns_open",
	CountQueued:    "turns USING INDEX turns_open",
	lastQueued:     "turns USING INDEX turns_open",
	runningTurn:    "turns USING INDEX turns_open",
	absorbable:     "q USING INDEX turns_open",
	queuedToAbsorb: "q USING INDEX turns_open",
	shownMessages:  "m USING INDEX messages_platform",
	loadMerged:     "y USING INDEX turns_merged",
	fmt.Sprintf(claimable, "?", "''", "queued", "o.state = 'alive'"):  "t USING INDEX turns_oldest",
	fmt.Sprintf(claimable, "?", "''", "running", "o.state = 'alive'"): "t USING INDEX turns_oldest",
	heldSessions: "turns USING INDEX turns_oldest (state=?)",
	loadTurn:     "x USING COVERING INDEX recalled_mark (scope=?)",
}

// HeldSessions is what engines poll.
const HeldSessions = heldSessions

// Blots are all the statements that take credentials out of a turn.
var Blots = append([]string{updateBody}, blots...)
