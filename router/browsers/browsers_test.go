package browsers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/router/browsers"
	"switchboard/router/core"
)

// takes is a store that keeps every code.
type takes struct{ browsers.Store }

func (takes) ProposeSignIn(context.Context, string, []byte, time.Time) error { return nil }

// Anybody can ask for a code for somebody, who is sent one a minute and three an hour at most.
func TestCodesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := map[string]int{}
		s := &browsers.Service{Store: takes{}, Tell: func(_ context.Context, person, _, _ string) (bool, error) {
			sent[person]++
			return true, nil
		}}
		asks := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			if s.Ask(t.Context(), &core.Person{Name: "ann"}); sent["ann"] != want {
				t.Errorf("after %v: %d codes, want %d", after, sent["ann"], want)
			}
		}
		asks(0, 1)
		asks(time.Minute-1, 1)
		asks(1, 2)
		asks(time.Minute, 3)
		asks(time.Minute, 3)
		asks(57*time.Minute-1, 3)
		asks(1, 4) // the first is an hour ago
		asks(0, 4)
		if s.Ask(t.Context(), &core.Person{Name: "bob"}); sent["bob"] != 1 {
			t.Error("what is asked for one person holds up another")
		}
	})
}
