package turns_test

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/turns"
)

// What lay at the platform is told with both times, and what was cut off with none that
// nobody knows.
func TestExplanationShowsTheTimes(t *testing.T) {
	t.Parallel()
	taken := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	began, ended := taken.Add(time.Second), taken.Add(15*time.Second)
	for _, c := range []struct {
		name    string
		written time.Time // zero: the platform told nothing
		want    []string
	}{
		{"at once", taken.Add(-900 * time.Millisecond), []string{"\n  2026-05-04 12:10:00 UTC  Ada (tg:1)", ", 15s after it was asked", ", 1s after it was asked"}},
		{"a clock that is ahead", taken.Add(time.Minute), []string{"\n  2026-05-04 12:10:00 UTC  Ada (tg:1)", ", 15s after it was asked"}},
		{"untold", time.Time{}, []string{"\n  2026-05-04 12:10:00 UTC  Ada (tg:1)", ", 15s after it was asked"}},
		{"late", taken.Add(-10 * time.Minute), []string{
			"\n  2026-05-04 12:00:00 UTC, taken at 2026-05-04 12:10:00 UTC, 10m0s later  Ada (tg:1)", ", 10m15s after it was asked", ", 10m1s after it was asked",
		}},
	} {
		e := turns.Explanation{Asked: []turns.Message{{SessionMessage: channels.SessionMessage{Author: "Ada"}, Identity: "tg:1", At: taken}}}
		e.Holders, e.CreatedAt, e.FinishedAt = []turns.Holder{{From: began}}, taken, &ended
		if !c.written.IsZero() {
			e.Asked[0].WrittenAt = &c.written
		}
		for state, became := range map[string]string{"interrupted": "interrupted, cut off, allowed by rule r\n", "done": "done after 14s, allowed by rule r\n"} {
			step := turns.Step{Task: turns.Task{State: state, Rule: "r", StartedAt: &began, FinishedAt: &ended}}
			e.Attempts = []turns.Attempt{{Goal: "g", Steps: []turns.Step{step}}}
			text := e.Show("EUR", time.UTC)
			for _, want := range append(c.want, "    "+became) {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %q is not in\n%s", c.name, want, text)
				}
			}
		}
	}
}

// What the model answered and was not used is told with what was wrong with it.
func TestExplanationShowsWhatWasRefused(t *testing.T) {
	t.Parallel()
	e := turns.Explanation{Attempts: []turns.Attempt{{Calls: []turns.Call{
		{Role: "planner", Provider: "p", Model: "m", Duration: "2s", Refused: "task 1: no such tool"}, {Role: "planner", Provider: "p", Model: "m", Duration: "1s"},
	}}}}
	text := e.Show("EUR", time.UTC)
	for _, want := range []string{"p/m: 2s, 0 tokens in, 0 out; the answer was refused: task 1: no such tool\n", "p/m: 1s, 0 tokens in, 0 out\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
