package faults_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/store/storetest"
)

// onPostgres is a rig whose store is an empty schema of a real server.
func onPostgres(t *testing.T, people ...string) *programtest.Rig {
	t.Helper()
	return onPostgresAt(t, storetest.MigratedURL(t), people...)
}

func onPostgresAt(t *testing.T, url string, people ...string) *programtest.Rig {
	t.Helper()
	return programtest.NewRig(t, people, fmt.Sprintf("[store]\nurl = %q\n[agent]\nplanner = \"fake/model\"\n", url))
}

func TestThreeLinesOnPostgresHaveThreeAnswers(t *testing.T) {
	t.Parallel()
	r := onPostgres(t)
	r.Model.Handle(programtest.Echo)
	out, errs, code := r.CommandWith("one\ntwo\nthree\n", "chat")
	if want := "heard: one\nheard: two\nheard: three\n"; code != 0 || out != want {
		t.Errorf("exit %d, stdout %q, want %q\n%s", code, out, want, errs)
	}
	if turns := r.Turns(); len(turns) != 3 {
		t.Errorf("%d turns", len(turns))
	}
	files, err := os.ReadDir(r.Dir + "/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "switchboard.db" {
			t.Error("a SQLite file beside PostgreSQL")
		}
	}
}

// An engine that was killed is declared dead when its row expires, 15 s after its
// last renewal, or sooner when its lock is found free; then the next one goes on.
func TestPostgresKilledEngineIsFollowed(t *testing.T) {
	t.Parallel()
	url := storetest.MigratedURL(t)
	r := onPostgresAt(t, url, "u1", "u2")
	mark := programtest.Marker()
	r.Model.Handle(programtest.Doing("echo began >> log.txt; sleep 300; : " + mark))
	r.Up()
	r.Platform.Say("cu1", "u1", "go")
	r.Await("the command runs", 20*time.Second, func() bool { return len(written(r)) == 1 })
	r.Kill()
	began := time.Now()
	r.Model.Handle(programtest.Doing("echo other >> log.txt"))
	r.Platform.Say("cu2", "u2", "a new one")
	r.Up()
	ready := time.Since(began)
	r.Await("the new message is answered", 25*time.Second, func() bool { return slices.Contains(r.Shown("u2"), "It is done.") })
	fresh := time.Since(began)
	r.Await("the broken turn goes on", 25*time.Second, func() bool { return slices.Contains(r.Shown("u1"), "It was cut off.") })
	took := time.Since(began)
	t.Logf("after kill -9: ready in %s, a new message answered after %s, the broken turn after %s", ready, fresh, took)
	if turn := r.TurnOf("go"); turn.State != "done" || turn.Plans[0].Tasks[0].State != "interrupted" {
		t.Errorf("the turn ended %s, its command %s", turn.State, turn.Plans[0].Tasks[0].State)
	}
	programtest.Gone(t, mark)
	r.Stop(20 * time.Second)
	left := programtest.RowsOf(t, "postgres", url, "SELECT 'owner', id, state FROM owners WHERE state = 'alive' AND declared_at IS NULL UNION ALL SELECT kind, owner, name FROM leases WHERE owner IS NOT NULL")
	if len(left) > 0 {
		t.Errorf("an orderly end leaves for others to wait for: %q", left)
	}
	r.Up()
	r.Answers("u2", "once more", "It is done.")
}
