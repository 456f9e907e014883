package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"switchboard/internal/secrets"
	"switchboard/store"
	"switchboard/store/database"
	"switchboard/store/jobs"
	"switchboard/store/storetest"
)

func TestFactsCountWhatNeedsAnEye(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if f, err := h.DB.Facts(h.Ctx); err != nil || f != (jobs.Facts{}) {
			t.Errorf("of nothing: %+v, %v", f, err)
		}
		hold := h.Hold()
		h.Says("1", "a", "b")
		h.SettleNext(hold, storetest.Dead)
		h.Says("2", "c")
		h.SettleNext(hold, storetest.Uncertain)
		h.SettleNext(hold, storetest.Lost)
		h.Says("3", "d")
		h.Begun("c2", "4")
		h.Accept(storetest.Entry("c2", "5", "queued"))
		h.Later(time.Hour)
		f, err := h.DB.Facts(h.Ctx)
		if err != nil || f.Open != 2 || f.Dead != 2 || f.Unknown != 1 || f.Pending != 1 || f.Oldest.Round(time.Minute) != time.Hour {
			t.Errorf("%+v, %v", f, err)
		}
	})
}

func TestFactsNumberJobsThatNeedAnEye(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		if f, err := h.DB.JobFacts(h.Ctx); err != nil || !reflect.DeepEqual(f, jobs.JobFacts{}) {
			t.Errorf("of nothing: %+v, %v", f, err)
		}
		waits, disabled, paused, byHand, overdue := h.Reminder(storetest.Hourly).ID, h.Reminder(storetest.Hourly).ID, h.Reminder(storetest.Hourly).ID, h.Reminder(storetest.Hourly).ID, h.Reminder(storetest.Hourly).ID
		h.Exec(fmt.Sprintf("UPDATE jobs SET state = 'disabled', reason = 'x' WHERE id = %d", disabled))
		h.Exec(fmt.Sprintf("UPDATE jobs SET state = 'paused', reason = 'rights' WHERE id = %d", paused))
		h.Exec(fmt.Sprintf("UPDATE jobs SET state = 'paused' WHERE id = %d", byHand))
		due := time.Now().Add(-30 * time.Second) // not long enough
		h.Exec(fmt.Sprintf("UPDATE jobs SET due_at = %d WHERE id = %d", due.UnixMicro(), waits))
		h.Exec(fmt.Sprintf("UPDATE jobs SET due_at = %d WHERE id = %d", due.Add(-time.Minute).UnixMicro(), overdue))
		want := jobs.JobFacts{Active: 2, Disabled: []int64{disabled}, Paused: []int64{paused}, Overdue: []int64{overdue}}
		if f, err := h.DB.JobFacts(h.Ctx); err != nil || !reflect.DeepEqual(f, want) {
			t.Errorf("%+v, %v; want %+v", f, err, want)
		}
	})
}

// Cluster says whether database and folder belong together, and changes neither.
func TestClusterIsReadWithoutAChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), database.Config{URL: secrets.Secret(storetest.PostgresURL(t))}, dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if name, err := db.Cluster(t.Context()); name != "" || err != nil {
		t.Errorf("before the first start: %q, %v", name, err)
	}
	h := newHouse(t, db)
	name, err := db.Cluster(h.Ctx)
	if name == "" || err != nil {
		t.Errorf("after it: %q, %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Cluster(h.Ctx); !errors.Is(err, database.ErrCluster) {
		t.Errorf("with another folder: %v", err)
	}
}
