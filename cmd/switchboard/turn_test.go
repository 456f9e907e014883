package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A message that another turn answers is found from both sides.
func TestTurnShowTellsOfMergedTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1"}, "[router]\nrate_person = \"off\"\nbusy = \"collect\"\ncollect_window = \"1s\"\n[agent]\nplanner = \"fake/model\"\n")
	r.model.Handle(echo)
	r.up()
	r.platform.Say("cu1", "u1", "first half")
	r.platform.Say("cu1", "u1", "second half")
	r.await("an answer", 20*time.Second, func() bool { return len(r.shown("u1")) > 0 })
	first, second := r.turnOf("first half"), r.turnOf("second half")
	if second.State != "merged" || second.MergedInto != first.ID || first.MergedInto != 0 {
		t.Errorf("%+v\n%+v", first, second)
	}
	out, errs, _ := r.command("turn", "show", fmt.Sprint(first.ID))
	if _, added, _ := strings.Cut(out, "\nadded "); !strings.HasPrefix(added[min(len(added), len("2006-01-02 15:04:05")):], fmt.Sprintf(", as turn %d\n  second half\n", second.ID)) {
		t.Errorf("the turn that answers both: %s%s", out, errs)
	}
	if out, errs, _ = r.command("turn", "show", fmt.Sprint(second.ID)); !strings.Contains(out, fmt.Sprintf("merged   into turn %d", first.ID)) {
		t.Errorf("the merged one: %s%s", out, errs)
	}
	if out, errs, _ = r.command("turn", "list", "--json"); strings.Count(out, `"merged_into"`) != 1 || !strings.Contains(out, fmt.Sprintf(`"merged_into": "%d"`, first.ID)) {
		t.Errorf("turn list --json: %s%s", out, errs)
	}
}
