package store

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/internal/secrets"
	"switchboard/store/database"
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
	for query, want := range map[string]string{
		headTurn:       "turns USING INDEX turns_open",
		countQueued:    "turns USING INDEX turns_open",
		openTurn:       "turns USING INDEX turns_open",
		lastQueued:     "turns USING INDEX turns_open",
		runningTurn:    "turns USING INDEX turns_open",
		absorbable:     "q USING INDEX turns_open",
		queuedToAbsorb: "q USING INDEX turns_open",
		countWaiting:   "t USING INDEX turns_open",
		insertUntaken:  "messages USING COVERING INDEX messages_platform",
		shownMessages:  "m USING INDEX messages_platform",
		loadMerged:     "y USING INDEX turns_merged",
		headDelivery:   "d USING INDEX deliveries_open",
		listDrafts:     "d USING INDEX deliveries_drafts",
		shownTurns:     "t USING INDEX turns_shown",
		openChoices:    "a USING INDEX actions_open",
		uselessOf:      "deliveries USING INDEX deliveries_message",
		blobUsed:       "attachments USING COVERING INDEX attachments_blob",
		fmt.Sprintf(claimable, "?", "''", "queued", "o.state = 'alive'"):  "t USING INDEX turns_oldest",
		fmt.Sprintf(claimable, "?", "''", "running", "o.state = 'alive'"): "t USING INDEX turns_oldest",
		heldSessions:      "turns USING INDEX turns_oldest (state=?)",
		openConversations: "deliveries USING COVERING INDEX deliveries_open (channel=?)",
		adminChats:        "s USING INDEX sessions_person (person=?)",
		loadMemories:      "memories USING INDEX memories_open (scope=? AND person=? AND session_id=?)",
		loadTurn:          "memories USING INDEX memories_open",
	} {
		args := make([]any, strings.Count(query, "?"))
		var rows []struct {
			ID, Parent, Notused int
			Detail              string
		}
		var plan strings.Builder
		err := db.read(t.Context(), "explain", func(t *tx) error { return t.All(&rows, "EXPLAIN QUERY PLAN "+query, args...) })
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
