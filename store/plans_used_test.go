package store

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/internal/secrets"
	"switchboard/store/database"
	"switchboard/store/files"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

// What every message asks must not become slower with the years of history that
// stand behind it: SQLite finds it by an index of what is open, or by a key.
func TestFrequentQueriesReadNoHistory(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), database.Config{URL: secrets.Secret("sqlite:" + filepath.Join(t.TempDir(), "x.db"))}, "", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := map[string]string{}
	for _, of := range []map[string]string{turns.Queries(), outbox.Queries(), sessions.Queries(), files.Queries()} {
		maps.Copy(q, of)
	}
	for query, want := range map[string]string{
		q["headTurn"]:       "turns USING INDEX turns_open",
		q["countQueued"]:    "turns USING INDEX turns_open",
		openTurn:            "turns USING INDEX turns_open",
		q["lastQueued"]:     "turns USING INDEX turns_open",
		q["runningTurn"]:    "turns USING INDEX turns_open",
		q["absorbable"]:     "q USING INDEX turns_open",
		q["queuedToAbsorb"]: "q USING INDEX turns_open",
		countWaiting:        "t USING INDEX turns_open",
		q["insertUntaken"]:  "messages USING COVERING INDEX messages_platform",
		q["shownMessages"]:  "m USING INDEX messages_platform",
		q["loadMerged"]:     "y USING INDEX turns_merged",
		q["headDelivery"]:   "d USING INDEX deliveries_open",
		q["listDrafts"]:     "d USING INDEX deliveries_drafts",
		q["shownTurns"]:     "t USING INDEX turns_shown",
		q["openChoices"]:    "a USING INDEX actions_open",
		q["uselessOf"]:      "deliveries USING INDEX deliveries_message",
		q["blobUsed"]:       "attachments USING COVERING INDEX attachments_blob",
		fmt.Sprintf(q["claimable"], "?", "''", "queued", "o.state = 'alive'"):  "t USING INDEX turns_oldest",
		fmt.Sprintf(q["claimable"], "?", "''", "running", "o.state = 'alive'"): "t USING INDEX turns_oldest",
		q["heldSessions"]:      "turns USING INDEX turns_oldest (state=?)",
		q["openConversations"]: "deliveries USING COVERING INDEX deliveries_open (channel=?)",
		q["adminChats"]:        "s USING INDEX sessions_person (person=?)",
		q["loadMemories"]:      "memories USING INDEX memories_open (scope=? AND person=? AND session_id=?)",
		q["loadTurn"]:          "memories USING INDEX memories_open",
	} {
		args := make([]any, strings.Count(query, "?"))
		var rows []struct {
			ID, Parent, Notused int
			Detail              string
		}
		var plan strings.Builder
		err := db.Read(t.Context(), "explain", func(t *database.Tx) error { return t.All(&rows, "EXPLAIN QUERY PLAN "+query, args...) })
		for _, r := range rows {
			plan.WriteString(r.Detail + "\n")
		}
		inOrder := strings.Contains(query, "INDEXED BY")
		sorts := inOrder && strings.Contains(plan.String(), "TEMP B-TREE FOR ORDER BY")
		if err != nil || !strings.Contains(plan.String(), want) || sorts {
			t.Errorf("want %s in\n%s%v of %s", want, plan.String(), err, query)
		}
	}
}
