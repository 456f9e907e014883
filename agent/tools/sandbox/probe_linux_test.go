package sandbox

import "testing"

// The probe has no thread to spare for a moment. Where Go's runtime needs one just then it ends the
// probe, which says nothing about the sandbox.
func TestProbeThatTheRuntimeEndsIsMadeAgain(t *testing.T) {
	for _, c := range []struct{ ended, made, status int }{{0, 1, 0}, {1, 2, 0}, {4, 5, 0}, {9, probeTries, runtimeEnded}} {
		made := 0
		o, text := untilItEnds(func() (Outcome, string) {
			if made++; made <= c.ended {
				return Outcome{Kind: "exit_status", Status: runtimeEnded}, "pthread_create failed"
			}
			return Outcome{Kind: "exit_status"}, "it works"
		})
		if made != c.made || o.Status != c.status || (text == "it works") != (c.status == 0) {
			t.Errorf("ended %d times: made %d times, %+v, %q", c.ended, made, o, text)
		}
	}
}
