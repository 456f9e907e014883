package admin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// A message that another turn answers is found from both sides.
func TestTurnShowNamesMergedTurns(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[router]\nrate_person = \"off\"\nbusy = \"collect\"\ncollect_window = \"5s\"\n[agent]\nplanner = \"fake/model\"\n")
	r.Model.Handle(programtest.Echo)
	r.Up()
	r.Platform.Say("cu1", "u1", "first half")
	r.Platform.Say("cu1", "u1", "second half")
	r.Await("an answer", 20*time.Second, func() bool { return len(r.Shown("u1")) > 0 })
	first, second := r.TurnOf("first half"), r.TurnOf("second half")
	if second.State != "merged" || second.MergedInto != first.ID || first.MergedInto != 0 {
		t.Errorf("%+v\n%+v", first, second)
	}
	out, errs, _ := r.Command("turn", "show", fmt.Sprint(first.ID))
	if !regexp.MustCompile(fmt.Sprintf(`, added as turn %d .*\n    second half\n`, second.ID)).MatchString(out) {
		t.Errorf("the turn that answers both: %s%s", out, errs)
	}
	if out, errs, _ = r.Command("turn", "show", fmt.Sprint(second.ID)); !strings.Contains(out, fmt.Sprintf("turn %d answers it", first.ID)) {
		t.Errorf("the merged one: %s%s", out, errs)
	}
	if out, errs, _ = r.Command("turn", "list", "--json"); strings.Count(out, `"merged_into"`) != 1 || !strings.Contains(out, fmt.Sprintf(`"merged_into": "%d"`, first.ID)) {
		t.Errorf("turn list --json: %s%s", out, errs)
	}
}

// What costs nothing names no price, and what does names its currency; a command has
// no turn.
func TestCostsAreShownWithTheirCurrency(t *testing.T) {
	t.Parallel()
	const priced = "[budget]\ncurrency = \"EUR\"\n[llm.models.dear]\nmodel = \"fake/model\"\nprice_in = 1000.0\nprice_out = 1000.0\n"
	for name, c := range map[string]struct {
		planner, want string
	}{"free": {"fake/model", `out\n`}, "priced": {"dear", `out, \d+\.\d{6} EUR\n`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := programtest.NewRig(t, []string{"u1"}, fmt.Sprintf("%s[agent]\nplanner = %q\n", priced, c.planner))
			r.Model.Handle(programtest.Echo)
			r.Up()
			r.Ask("u1", "/help")
			r.Ask("u1", "hello")
			out, errs, _ := r.Command("turn", "show", fmt.Sprint(r.TurnOf("hello").ID), "--prompts")
			for _, line := range []string{`Cost: \d+ model calls?, \d+ tokens in, \d+ `, ` +planner asked .*, \d+ tokens in, \d+ `} {
				if !regexp.MustCompile(`(?m)^` + line + c.want).MatchString(out) {
					t.Errorf("no line is like %s%s\n%s%s", line, c.want, out, errs)
				}
			}
			out, errs, _ = r.Command("delivery", "list")
			if !regexp.MustCompile(`(?m)^\d+ +sent .* - +play .* I plan what you ask`).MatchString(out) || regexp.MustCompile(` 0 +play `).MatchString(out) {
				t.Errorf("delivery list:\n%s%s", out, errs)
			}
		})
	}
}
