package setup_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
)

// Two engines, one of which is killed: the doctor tells of both, and explain of who
// worked on a turn before and after.
func TestDoctorAndExplainNameBothEngines(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "u1")
	mark := programtest.Marker()
	f.Model.Handle(programtest.Doing("sleep 300; : " + mark))
	f.Up()
	f.Platform.Say("cu1", "u1", "go")
	f.Await("the command runs", 30*time.Second, func() bool { return len(programtest.Marked(mark)) > 0 })
	out, errs, code := f.Command("doctor")
	for _, line := range []string{
		`ok    cluster    database and data folder belong together`,
		`ok    clock      the database's clock and ours agree`,
		`ok    notify     engines hear each other`,
		`ok    queue      1 message being worked on or waiting, the oldest was asked`,
		`ok    channel    play has been connected since`,
	} {
		if !programtest.Says(out, line) {
			t.Errorf("no line is like %q (exit %d):\n%s%s", line, code, out, errs)
		}
	}
	alive := regexp.MustCompile(`(?m)^ok    engine     (\d+) on \S+, process (\d+): alive since .* renewed .* ago; holds (\d) sessions?( and play)?$`).FindAllStringSubmatch(out, -1)
	if len(alive) != 2 || alive[0][4] == alive[1][4] {
		t.Fatalf("the engines are not there, or not one holds the channel:\n%s", out)
	}
	var worker, other *programtest.Member
	for _, m := range f.Engines {
		for _, line := range alive {
			if line[2] == fmt.Sprint(m.Cmd.Process.Pid) && line[3] == "1" {
				worker = m
			} else if line[2] == fmt.Sprint(m.Cmd.Process.Pid) {
				other = m
			}
		}
	}
	if worker == nil || other == nil {
		t.Fatalf("nobody holds the session:\n%s", out)
	}
	f.Model.Handle(programtest.Doing("echo other"))
	died := worker.Cmd.Process.Pid
	worker.Kill()
	f.Await("the answer is there", 60*time.Second, func() bool { return len(f.Shown("u1")) > 0 })
	turn := f.TurnOf("go")
	e := programtest.List[turns.Explanation](f.Rig, "explain", "turn", fmt.Sprint(turn.ID), "--json")
	if len(e.Holders) != 2 || e.Holders[0].PID != died || e.Holders[1].PID != other.Cmd.Process.Pid || e.Holders[1].From.Before(e.Holders[0].From) {
		t.Errorf("worked on by %+v; the one that died is %d, the other %d", e.Holders, died, other.Cmd.Process.Pid)
	}
	out, _, _ = f.Command("doctor")
	if !programtest.Says(out, `ok    engine     \d+ on \S+, process `+fmt.Sprint(died)+`: dead`) || !programtest.Says(out, `ok    engine     \d+ on .*: alive .* and play$`) {
		t.Errorf("after one died:\n%s", out)
	}
}

// What died is told of until somebody has looked into it.
func TestDoctorListsDeadPartsUntilTheyAreLookedInto(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(programtest.Echo)
	r.Up()
	r.Platform.Next(channelstest.Fault{Refused: "no"}, channelstest.Fault{})
	r.Platform.Say("cu1", "u1", "hello")
	var id int64
	r.Await("the answer is dead", 20*time.Second, func() bool {
		for _, d := range r.Deliveries() {
			if d.State == "dead" {
				id = d.ID
			}
		}
		return id != 0
	})
	out, errs, _ := r.Command("doctor")
	if !programtest.Says(out, `WARN  queue      1 message part dead, not shown; see "switchboard delivery list --state dead"`) || !programtest.Says(out, `ok    engine     \d+ on .*: alive since`) {
		t.Errorf("%s%s", out, errs)
	}
	if strings.Contains(out, "cluster") || strings.Contains(out, "notify") {
		t.Errorf("of one engine's file there is no more to say:\n%s", out)
	}
	if _, errs, code := r.Command("delivery", "drop", fmt.Sprint(id)); code != 0 {
		t.Error(errs)
	}
	if out, errs, _ = r.Command("doctor"); programtest.Says(out, "WARN  ledger") {
		t.Errorf("%s%s", out, errs)
	}
}

// A command is answered by the first engine that does its work, not by one that hangs.
func TestCommandsPassAHangingEngine(t *testing.T) {
	t.Parallel()
	f := programtest.TwoEngines(t, "", "u1")
	f.Model.Handle(programtest.Echo)
	f.Up()
	for _, m := range f.Engines {
		m.Freeze()
		began := time.Now()
		if turns := f.Turns(); len(turns) != 0 {
			t.Errorf("beside a hanging engine: %d turns after %s", len(turns), time.Since(began))
		}
		f.Refuses("doctor --alive", 1, "hangs")
		tellsOfTheHanging(f, m)
		m.Thaw()
		if _, errs, code := f.Command("doctor", "--alive"); code != 0 {
			t.Errorf("both do their work: exit %d, %q", code, errs)
		}
	}
}

// tellsOfTheHanging wants what the other engine says, with a word that m does not.
func tellsOfTheHanging(f *programtest.Fleet, m *programtest.Member) {
	f.T.Helper()
	var number string
	for id, one := range f.Owners() {
		if one == m {
			number = fmt.Sprint(id)
		}
	}
	out, errs, code := f.Command("channel", "list")
	if code != 0 || !strings.Contains(errs, "engine "+number+" does not answer") || !programtest.Says(out, "^console .*connected") {
		f.T.Errorf("channel list: exit %d\n%s%s", code, out, errs)
	}
	if programtest.Says(out, "^play .*waiting") && !programtest.Says(out, "^play .*; engine "+number+" does not answer") {
		f.T.Errorf("it waits for nobody:\n%s", out)
	}
	out, errs, _ = f.Command("doctor")
	if !strings.Contains(out, "engine "+number+" hangs") || !programtest.Says(out, "^ok    channel    console has been connected") {
		f.T.Errorf("doctor:\n%s%s", out, errs)
	}
}

// Beside the only engine, which hangs, a command says so; it does not hang as well.
func TestCommandsBesideAHangingEngineSaySo(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Echo, "u1")
	r.Up()
	r.Freeze()
	for _, args := range [][]string{{"turn", "list"}, {"turn", "cancel", "1"}, {"delivery", "drop", "1"}, {"person", "list"}} {
		began := time.Now()
		_, errs, code := r.Command(args...)
		if code != 1 || !strings.Contains(errs, "hangs") {
			t.Errorf("%v: exit %d after %s, %q", args, code, time.Since(began), errs)
		}
	}
}
