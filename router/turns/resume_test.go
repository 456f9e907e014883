package turns_test

import (
	"context"
	"strings"
	"testing"

	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/intake"
)

// deadly is a database whose turns were taken over from so many dead engines.
type deadly struct {
	router.Store
	resumed int
}

func (d deadly) Load(ctx context.Context, ref core.TurnRef) (*core.TurnData, error) {
	data, err := d.Store.Load(ctx, ref)
	if err == nil {
		data.Resumed = d.resumed
	}
	return data, err
}

// Accept leaves it to Load to say so.
func (d deadly) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	list, err := d.Store.Accept(ctx, owner, entries)
	for _, a := range list {
		if a.Claimed != nil {
			a.Claimed.Data = nil
		}
	}
	return list, err
}

// Claim leaves it to Load as well.
func (d deadly) Claim(ctx context.Context, owner int64, names, except []string, limit int) ([]core.Claimed, error) {
	list, err := d.Store.Claim(ctx, owner, names, except, limit)
	for i := range list {
		list[i].Data = nil
	}
	return list, err
}

// A turn that takes the whole program down each time is not tried for ever.
func TestTurnThatKillsEnginesIsGivenUp(t *testing.T) {
	t.Parallel()
	for resumed, want := range map[int]string{20: "done answered", 21: "failed crash"} {
		t.Run(want, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Store = func(l router.Store) router.Store { return deadly{l, resumed} }
				r.Start()
				r.Platform.Say("c1", "ada", "boom")
				said := r.Await(1)[0].Text
				r.Until("it ended", func() bool { return r.Turns()[0].FinishedAt != nil })
				if turn := r.Turns()[0]; turn.State+" "+turn.Outcome != want {
					t.Errorf("the turn ended %s (%s), want %s", turn.State, turn.Outcome, want)
				}
				if gaveUp := resumed > 20; gaveUp != strings.Contains(said, "gave it up") || gaveUp == (r.Brain.Ran("boom") == 1) {
					t.Errorf("it ran %d times and says %q", r.Brain.Ran("boom"), said)
				}
			})
		})
	}
}
