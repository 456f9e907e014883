package store_test

import (
	"testing"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/store/storetest"
)

// What several calls cost together is shown without the dust of adding it up.
func TestCostsAreShownWithoutDust(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.Accept(storetest.Claiming(storetest.Entry("c", "1", "do it")))[0].Claimed.TurnRef
		for i, cost := range []float64{0.0001, 0.0002, 0.0003} { // 0.0006000000000000001
			h.Commit(ref, agent.Step{Calls: []agent.Call{{Step: string(rune('a' + i)), Role: "planner", Usage: llm.Usage{Cost: cost}}}})
		}
		turn, err := h.Router.Turn(h.Ctx, ref.TurnID, false)
		if err != nil || turn.Cost != 0.0006 {
			t.Errorf("%v, %v", turn.Cost, err)
		}
		list, err := h.Router.Turns(h.Ctx, storetest.All, "", 10)
		if err != nil || len(list) != 1 || list[0].Cost != 0.0006 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
