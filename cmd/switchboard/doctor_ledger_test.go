package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/router/view"
)

// says finds a line of the doctor's report.
func says(out, line string) bool { return regexp.MustCompile(`(?m)^` + line).MatchString(out) }

// Two engines, one of which is killed: the doctor tells of both, and explain of who
// worked on a turn before and after.
func TestDoctorAndExplainNameBothEngines(t *testing.T) {
	t.Parallel()
	f := twoEngines(t, "", "u1")
	mark := marker()
	f.model.Handle(doing("sleep 60; : " + mark))
	f.up()
	f.platform.Say("cu1", "u1", "go")
	f.await("the command runs", 30*time.Second, func() bool { return len(marked(mark)) > 0 })
	out, errs, code := f.command("doctor")
	for _, line := range []string{
		`ok    cluster    database and data folder belong together`,
		`ok    clock      the database's clock and ours agree`,
		`ok    notify     engines hear each other`,
		`ok    queue      1 message being worked on or waiting, the oldest was asked`,
		`ok    channel    play has been connected since`,
	} {
		if !says(out, line) {
			t.Errorf("no line is like %q (exit %d):\n%s%s", line, code, out, errs)
		}
	}
	alive := regexp.MustCompile(`(?m)^ok    engine     (\d+) on \S+, process (\d+): alive since .* renewed .* ago; holds (\d) sessions?( and play)?$`).FindAllStringSubmatch(out, -1)
	if len(alive) != 2 || alive[0][4] == alive[1][4] {
		t.Fatalf("the engines are not there, or not one holds the channel:\n%s", out)
	}
	var worker, other *member
	for _, m := range f.engines {
		for _, line := range alive {
			if line[2] == fmt.Sprint(m.cmd.Process.Pid) && line[3] == "1" {
				worker = m
			} else if line[2] == fmt.Sprint(m.cmd.Process.Pid) {
				other = m
			}
		}
	}
	if worker == nil || other == nil {
		t.Fatalf("nobody holds the session:\n%s", out)
	}
	f.model.Handle(doing("echo other"))
	died := worker.cmd.Process.Pid
	worker.kill()
	f.await("the answer is there", 60*time.Second, func() bool { return len(f.shown("u1")) > 0 })
	turn := f.turnOf("go")
	e := list[view.Explanation](f.rig, "explain", "turn", fmt.Sprint(turn.ID), "--json")
	if len(e.Holders) != 2 || e.Holders[0].PID != died || e.Holders[1].PID != other.cmd.Process.Pid || e.Holders[1].From.Before(e.Holders[0].From) {
		t.Errorf("worked on by %+v; the one that died is %d, the other %d", e.Holders, died, other.cmd.Process.Pid)
	}
	out, _, _ = f.command("doctor")
	if !says(out, `ok    engine     \d+ on \S+, process `+fmt.Sprint(died)+`: dead`) || !says(out, `ok    engine     \d+ on .*: alive .* and play$`) {
		t.Errorf("after one died:\n%s", out)
	}
}

// What died is told of until somebody has looked into it.
func TestDoctorListsDeadPartsUntilTheyAreLookedInto(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1"}, "[agent]\nplanner = \"fake/model\"\n")
	r.model.Handle(echo)
	r.up()
	r.platform.Next(channelstest.Fault{Refused: "no"}, channelstest.Fault{})
	r.platform.Say("cu1", "u1", "hello")
	var id int64
	r.await("the answer is dead", 20*time.Second, func() bool {
		for _, d := range r.deliveries() {
			if d.State == "dead" {
				id = d.ID
			}
		}
		return id != 0
	})
	out, errs, _ := r.command("doctor")
	if !says(out, `WARN  queue      1 message part dead, not shown; see "switchboard delivery list --state dead"`) || !says(out, `ok    engine     \d+ on .*: alive since`) {
		t.Errorf("%s%s", out, errs)
	}
	if strings.Contains(out, "cluster") || strings.Contains(out, "notify") {
		t.Errorf("of one engine's file there is no more to say:\n%s", out)
	}
	if _, errs, code := r.command("delivery", "drop", fmt.Sprint(id)); code != 0 {
		t.Error(errs)
	}
	if out, errs, _ = r.command("doctor"); says(out, "WARN  ledger") {
		t.Errorf("%s%s", out, errs)
	}
}

// A command is answered by the first engine that does its work, not by one that hangs.
func TestCommandsPassAHangingEngine(t *testing.T) {
	t.Parallel()
	f := twoEngines(t, "", "u1")
	f.model.Handle(echo)
	f.up()
	for _, m := range f.engines {
		m.freeze()
		began := time.Now()
		if turns := f.turns(); len(turns) != 0 {
			t.Errorf("beside a hanging engine: %d turns after %s", len(turns), time.Since(began))
		}
		f.refuses("doctor --alive", 1, "hangs")
		f.tellsOfTheHanging(m)
		m.thaw()
		if _, errs, code := f.command("doctor", "--alive"); code != 0 {
			t.Errorf("both do their work: exit %d, %q", code, errs)
		}
	}
}

// tellsOfTheHanging wants what the other engine says, with a word that m does not.
func (f *fleet) tellsOfTheHanging(m *member) {
	f.t.Helper()
	var number string
	for id, one := range f.owners() {
		if one == m {
			number = fmt.Sprint(id)
		}
	}
	out, errs, code := f.command("channel", "list")
	if code != 0 || !strings.Contains(errs, "engine "+number+" does not answer") || !says(out, "^console .*connected") {
		f.t.Errorf("channel list: exit %d\n%s%s", code, out, errs)
	}
	if says(out, "^play .*waiting") && !says(out, "^play .*; engine "+number+" does not answer") {
		f.t.Errorf("it waits for nobody:\n%s", out)
	}
	out, errs, _ = f.command("doctor")
	if !strings.Contains(out, "engine "+number+" hangs") || !says(out, "^ok    channel    console has been connected") {
		f.t.Errorf("doctor:\n%s%s", out, errs)
	}
}

// Beside the only engine, which hangs, a command says so; it does not hang as well.
func TestCommandsBesideAHangingEngineSaySo(t *testing.T) {
	t.Parallel()
	r := plannedBy(t, "", echo, "u1")
	r.up()
	r.freeze()
	for _, args := range [][]string{{"turn", "list"}, {"turn", "cancel", "1"}, {"delivery", "drop", "1"}, {"person", "list"}} {
		began := time.Now()
		_, errs, code := r.command(args...)
		if code != 1 || !strings.Contains(errs, "hangs") {
			t.Errorf("%v: exit %d after %s, %q", args, code, time.Since(began), errs)
		}
	}
}
