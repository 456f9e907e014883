package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"switchboard/internal/testkit"
)

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

// A probe for which the machine had no time says nothing: nobody is confined in a weaker way for it.
func TestProbeWithoutAnAnswerIsNotTakenForOne(t *testing.T) {
	t.Parallel()
	works := Outcome{Kind: "exit_status"}
	for name, c := range map[string]struct {
		first    Outcome
		id       int
		noAnswer bool
	}{
		"works":              {works, 7, false},
		"is not counted":     {Outcome{Kind: "sandbox", Detail: "the kernel does not count"}, 8, false},
		"cannot hand over":   {Outcome{Kind: "helper_failed", Detail: "hand the workspace over"}, 8, false},
		"fails":              {Outcome{Kind: "exit_status", Status: 1}, 8, false},
		"takes too long":     {Outcome{Kind: "timeout"}, 0, true},
		"its helper is gone": {Outcome{Kind: "helper_failed"}, 0, true},
	} {
		id, _, err := firstThatWorks([]int{7, 8}, func(id int) (Outcome, string) {
			if id == 7 {
				return c.first, ""
			}
			return works, ""
		})
		if id != c.id || errors.Is(err, ErrNoAnswer) != c.noAnswer {
			t.Errorf("%s: user %d, %v", name, id, err)
		}
	}
}

// A turn waits for the probe of another no longer than it lasts itself.
func TestProbeOfAnotherIsNotWaitedForAfterTheTurn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	helper, begun, release := filepath.Join(folder, "helper"), filepath.Join(folder, "begun"), filepath.Join(folder, "release")
	testkit.Program(t, helper, "#!/bin/sh\ntouch "+begun+"\nuntil [ -e "+release+" ]; do sleep 0.05; done\n")
	s, first := New(Config{HelperPath: helper}), make(chan error, 1)
	go func() {
		_, err := s.probe(t.Context(), folder)
		first <- err
	}()
	testkit.Await(t, "the probe runs", time.Minute, func() bool {
		_, err := os.Stat(begun)
		return err == nil
	})
	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if _, err := s.probe(ctx, folder); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	testkit.Write(t, release, "")
	if err := <-first; !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the probe that was made: %v", err)
	}
}
