package database_test

import (
	"database/sql"
	"fmt"
	"maps"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/internal/testkit"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// What a message that is answered at once writes on PostgreSQL, row by row and table by table, and that none of it is
// found by reading a whole table. More than this wants a reason.
func TestRowsOfAMessage(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	db := storetest.Opened(t, url, t.TempDir(), quiet)
	h := storetest.NewHouse(t, db)
	hold := h.Hold()
	n := 0
	message := func() {
		n++
		ref := h.Begun("c", fmt.Sprint(n))
		step, reply := opening(hold, "c")
		reply.Parts = reply.Parts[:1]
		answer := "there"
		step.Calls = []agent.Call{{Step: "plan.0.1", Role: "planner", Answer: "{}", Exchange: llm.Exchange{Request: []byte("q")}}}
		step.Plan = &agent.PlanRow{Goal: "g", Tasks: []agent.TaskRow{{Task: agent.Task{Type: agent.TaskMsg, Answer: &answer}}}}
		step.Tasks = []agent.TaskChange{{Type: agent.TaskMsg, State: agent.TaskDone}}
		h.Commit(ref, step, reply)
		h.Settle(hold, reply.Open.Begun, outbox.Settlement{State: outbox.DeliverySent, PlatformID: "p"})
	}
	look, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	type writes struct{ inserted, updated, moved, deleted, read int }
	// A connection's figures are there for sure when it has ended.
	figures := func() map[string]writes {
		t.Helper()
		testkit.Await(t, "the connections have ended", time.Minute, func() bool {
			var left int
			err := look.QueryRow(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'switchboard'`).Scan(&left)
			return err == nil && left == 0
		})
		rows, err := look.Query(`SELECT relname, n_tup_ins, n_tup_upd, n_tup_upd - n_tup_hot_upd, n_tup_del, seq_scan FROM pg_stat_user_tables`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		all := map[string]writes{}
		for rows.Next() {
			var table string
			var w writes
			if err := rows.Scan(&table, &w.inserted, &w.updated, &w.moved, &w.deleted, &w.read); err != nil {
				t.Fatal(err)
			}
			all[table] = w
		}
		return all
	}
	message() // makes conversation and session
	before := figures()
	const times = 20
	for range times {
		message()
	}
	got := map[string]writes{}
	for table, a := range figures() {
		b := before[table]
		w := writes{a.inserted - b.inserted, a.updated - b.updated, a.moved - b.moved, a.deleted - b.deleted, a.read - b.read}
		if w != (writes{}) {
			got[table] = w
		}
	}
	want := map[string]writes{ // updated by HOT: no index is written, unless moved says so
		"conversations": {updated: times},
		"deliveries":    {inserted: times, updated: times, moved: times},
		"event_keys":    {inserted: times},
		"events":        {inserted: 7 * times},
		"leases":        {updated: 2 * times},
		"llm_bodies":    {inserted: times},
		"llm_calls":     {inserted: times},
		"messages":      {inserted: 2 * times},
		"plans":         {inserted: times},
		"sessions":      {updated: 2 * times},
		"tasks":         {inserted: times},
		"turns":         {inserted: times, updated: times, moved: times},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
