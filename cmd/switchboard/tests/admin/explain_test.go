package admin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/turns"
)

// Why a turn went as it did is told from rows alone: the same with an engine beside it
// and with none.
func TestExplainTurnIsTheSameBesideAnEngineAndWithout(t *testing.T) {
	t.Parallel()
	r := programtest.PlannedBy(t, "", programtest.Doing("echo hi"), "u1")
	r.Up()
	r.Platform.Say("cu9", "u9", "let me in")
	r.Ask("u1", "run it")
	id := fmt.Sprint(r.TurnOf("run it").ID)
	r.Await("the answer is settled", 10*time.Second, func() bool {
		for _, d := range r.Deliveries() {
			if d.State != "sent" {
				return false
			}
		}
		return true
	})
	check := func() string {
		t.Helper()
		out, errs, code := r.Command("explain", "turn", id)
		if code != 0 || errs != "" {
			log, _ := os.ReadFile(filepath.Join(r.Dir, "data", "switchboard.log"))
			t.Fatalf("exit %d: %s\n%s", code, errs, log)
		}
		for _, line := range []string{
			`Turn ` + id + `: done, .+ after it was asked`,
			`  .* u1 \(scripted:u1\) in play:cu1`,
			`    u1: allowed, because the identity scripted:u1 belongs to them \(rule people\)`,
			`  .* engine \d+ \(host .+, process \d+\), .+ after it was asked`,
			`Plan 1: run it`,
			`  planner asked fake/model: .+, \d+ tokens in, \d+ out`,
			`  1\. exec: echo hi`,
			`    done after .+, allowed by rule role\.admin`,
			`    reviewer asked fake/model: .*`,
			`    review: ok.*`,
			`  2\. msg: Say that it is done\.`,
			`    part 1 \(delivery \d+\): sent`,
			`Cost: 3 model calls, \d+ tokens in, \d+ out`,
		} {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out) {
				t.Errorf("no line is like %q:\n%s", line, out)
			}
		}
		return out
	}
	beside := check()
	e := programtest.List[turns.Explanation](r, "explain", "turn", id, "--json")
	if len(e.Attempts) != 1 || e.Attempts[0].Steps[0].Rule != "role.admin" || e.Asked[0].Rule != "people" || len(e.Holders) != 1 {
		t.Errorf("as JSON: %+v", e)
	}
	for line, keys := range map[string]string{
		"turn show":    "plans goal tasks expect output review messages direction event turn calls tokens_in llm_calls",
		"explain turn": "asked message_id written_at holders fence attempts steps calls rule started_at said parts tries audit",
	} {
		out, _, _ := r.Command(append(strings.Fields(line), id, "--json")...)
		for _, key := range strings.Fields(keys) {
			if !strings.Contains(out, `"`+key+`":`) {
				t.Errorf("%s --json lacks %q:\n%s", line, key, out)
			}
		}
	}
	kept := programtest.List[[]turns.Message](r, "person", "refused", "--json")
	if len(kept) != 1 || kept[0].Rule != "people.unknown" || kept[0].Text != "let me in" {
		t.Errorf("who was refused: %+v", kept)
	}
	r.Stop(20 * time.Second)
	if alone := check(); alone != beside {
		t.Errorf("with no engine it says\n%s\nbeside one\n%s", alone, beside)
	}
	r.Refuses("explain turn 999", 1, "turn 999: not found")
	if _, _, code := r.Command("explain", "turn"); code != 2 {
		t.Errorf("with no number: exit %d", code)
	}
}

// Which pattern denied a command, and which allowed the other, is told to the planner, to
// operators and in the chat.
func TestExplainNamesThePatternThatDecided(t *testing.T) {
	t.Parallel()
	allowed := programtest.Doing("echo hi")
	r := programtest.PlannedBy(t, "[policy.exec]\ndeny = [\"git push *\"]\nallow = [\"echo *\"]\n", func(req llmtest.Request) llmtest.Reply {
		if req.Role == "planner" && req.Section("Faults in your last plan") == "" {
			return programtest.Doing("echo hi && sh -c 'git push'")(req)
		}
		return allowed(req)
	}, "u1")
	r.Up()
	r.Ask("u1", "run it")
	out, _, _ := r.Command("explain", "turn", fmt.Sprint(r.TurnOf("run it").ID))
	for where, text := range map[string]string{"explain turn": out, "/why": strings.ReplaceAll(r.Ask("u1", "/why"), `\`, "")} {
		wants := []string{`refused: task 1, field type: exec is not permitted here by the rule policy.exec.deny "git push *": "git push" is denied`, `allowed by rule policy.exec.allow "echo *"`}
		if where == "/why" {
			wants[1] = "allowed by the rules for commands"
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%s lacks %s:\n%s", where, want, text)
			}
		}
	}
}
