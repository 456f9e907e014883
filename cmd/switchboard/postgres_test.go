package main_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"switchboard/store/storetest"
)

// onPostgres is a rig whose store is an empty schema of a real server.
func onPostgres(t *testing.T, people ...string) *rig {
	t.Helper()
	return onPostgresAt(t, storetest.PostgresURL(t), people...)
}

func onPostgresAt(t *testing.T, url string, people ...string) *rig {
	t.Helper()
	return newRig(t, people, fmt.Sprintf("[store]\nurl = %q\n[agent]\nplanner = \"fake/model\"\n", url))
}

func TestThreeLinesOnPostgresHaveThreeAnswers(t *testing.T) {
	t.Parallel()
	r := onPostgres(t)
	r.model.Handle(echo)
	out, errs, code := r.commandWith("one\ntwo\nthree\n", "chat")
	if want := "heard: one\nheard: two\nheard: three\n"; code != 0 || out != want {
		t.Errorf("exit %d, stdout %q, want %q\n%s", code, out, want, errs)
	}
	if turns := r.turns(); len(turns) != 3 {
		t.Errorf("%d turns", len(turns))
	}
	files, err := os.ReadDir(r.dir + "/data")
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
	url := storetest.PostgresURL(t)
	r := onPostgresAt(t, url, "u1", "u2")
	mark := marker()
	r.model.Handle(doing("echo began >> log.txt; sleep 60; : " + mark))
	r.up()
	r.platform.Say("cu1", "u1", "go")
	r.await("the command runs", 20*time.Second, func() bool { return len(r.written()) == 1 })
	r.kill()
	began := time.Now()
	r.model.Handle(doing("echo other >> log.txt"))
	r.platform.Say("cu2", "u2", "a new one")
	r.up()
	ready := time.Since(began)
	r.await("the new message is answered", 25*time.Second, func() bool { return slices.Contains(r.shown("u2"), "It is done.") })
	fresh := time.Since(began)
	r.await("the broken turn goes on", 25*time.Second, func() bool { return slices.Contains(r.shown("u1"), "It was cut off.") })
	took := time.Since(began)
	t.Logf("after kill -9: ready in %s, a new message answered after %s, the broken turn after %s", ready, fresh, took)
	if turn := r.turnOf("go"); turn.State != "done" || turn.Plans[0].Tasks[0].State != "interrupted" {
		t.Errorf("the turn ended %s, its command %s", turn.State, turn.Plans[0].Tasks[0].State)
	}
	gone(t, mark)
	r.stop(20 * time.Second)
	left := rowsOf(t, "postgres", url, "SELECT 'owner', id, state FROM owners WHERE state = 'alive' AND declared_at IS NULL UNION ALL SELECT kind, owner, name FROM leases WHERE owner IS NOT NULL")
	if len(left) > 0 {
		t.Errorf("an orderly end leaves for others to wait for: %q", left)
	}
	r.up()
	r.answers("u2", "once more", "It is done.")
}
