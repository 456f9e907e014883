package store_test

import (
	"errors"
	"testing"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// What may be shown of a turn is listed until its end is shown, whoever holds the channel then.
func TestShownTurnIsListedUntilItIsHidden(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		states := func(want ...channels.TurnState) (list []outbox.ShownTurn) {
			t.Helper()
			list, err := h.Router.ShownTurns(h.Ctx, "tg")
			if err != nil || len(list) != len(want) {
				t.Fatalf("%+v, %v; want %v", list, err, want)
			}
			for i, s := range list {
				if s.State != want[i] {
					t.Errorf("%+v; want %v", list, want)
				}
			}
			return list
		}
		quick, asks, works := h.Begun("a", "1"), h.Begun("b", "2"), h.Begun("c", "3")
		end := func(ref core.TurnRef, outcome string) {
			t.Helper()
			h.Commit(ref, agent.Step{End: &agent.End{State: "done", Outcome: outcome}})
		}
		end(quick, "answered")
		if err := h.Router.ShowTurn(h.Ctx, quick); err == nil {
			states()
		}
		for _, ref := range []core.TurnRef{asks, works} {
			if err := h.Router.ShowTurn(h.Ctx, ref); err != nil {
				t.Fatal(err)
			}
		}
		if s := states(channels.TurnWorking, channels.TurnWorking)[1]; s.Turn != works.TurnID || s.Conversation.ID != "c" || s.Message == "" {
			t.Errorf("%+v", s)
		}
		end(asks, "asked")
		end(works, "answered")
		states(channels.TurnWaiting, channels.TurnDone)
		former := h.Hold()
		hold := h.Hold()
		if err := h.Router.HideTurn(h.Ctx, former, works.TurnID); !errors.Is(err, core.ErrFenced) {
			t.Errorf("hidden without the lease: %v", err)
		}
		for _, ref := range []core.TurnRef{asks, works} {
			if err := h.Router.HideTurn(h.Ctx, hold, ref.TurnID); err != nil {
				t.Error(err)
			}
		}
		states()
	})
}
