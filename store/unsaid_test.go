package store_test

import (
	"errors"
	"testing"

	"switchboard/router/ledger"
)

// What an entry does not bring a reply for undoes its whole batch; with the reply it is
// all as it would have been at once.
func TestAcceptWithoutTheReplyUndoesTheBatch(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		h.Begun("c", "1")
		h.Accept(entry("c", "2", "waits"))
		full := func() ledger.Entry {
			e := limited(entry("c", "3", "one too many"), 1)
			e.Replies = nil
			return e
		}
		for name, missing := range map[string]struct {
			entry     ledger.Entry
			situation ledger.Situation
		}{
			"a full queue":       {full(), ledger.SituationBusy},
			"nothing to cancel":  {control(entry("d", "4", "/cancel"), ledger.EffectCancel, ""), ledger.SituationIdle},
			"nothing to retry":   {retry("d", "5", ""), ledger.RetryNone},
			"an answered choice": {retry("c", "6", "elsewhere"), ledger.RetryUnclear},
		} {
			missing.entry.Replies = nil
			batch := []ledger.Entry{entry("x", "first", "first"), missing.entry, entry("x", "last", "last")}
			out, err := h.Router.Accept(h.Ctx, h.owner(), batch)
			if !errors.Is(err, ledger.ErrUnsaid) || len(out) != 3 || out[0].Situation != "" || out[1].Situation != missing.situation || out[2].Situation != "" {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			if alone, err := h.Router.Accept(h.Ctx, h.owner(), batch[1:2]); !errors.Is(err, ledger.ErrUnsaid) || alone[0].Situation != missing.situation {
				t.Errorf("%s, alone: %+v, %v", name, alone, err)
			}
		}
		if turns, err := h.Router.Turns(h.Ctx, "", 9); err != nil || len(turns) != 2 {
			t.Errorf("something of it is there: %+v, %v", turns, err)
		}
		e := full()
		e.Replies = map[ledger.Situation]*ledger.Reply{ledger.SituationBusy: text("full")}
		out := h.Accept(entry("x", "first", "first"), e, entry("x", "last", "last"))
		if out[0].TurnID == 0 || out[1].Situation != ledger.SituationBusy || out[1].TurnID != 0 || out[2].TurnID <= out[0].TurnID {
			t.Errorf("%+v", out)
		}
		if answers := h.answers("c"); len(answers) != 1 || answers[0] != "full" {
			t.Errorf("said %q", answers)
		}
	})
}
