package store_test

import (
	"errors"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

func TestShownComesWithItsTaint(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		passed := entry("c", "1", "passed on")
		passed.Taint, passed.Event.Message.Forwarded = "forwarded", true
		stranger := stranger("c", "2")
		h.Accept(passed, stranger)
		ref := h.Claim(1)[0].TurnRef
		step := end("done", "answered")
		step.Say = []agent.Say{{Text: "clean", Position: -1}, {Text: "read", Position: -1, Taint: "web"}}
		h.Commit(ref, step, outbox.Reply{Text: "clean", Person: "marco", Parts: []channels.Body{{Text: "clean"}}},
			outbox.Reply{Text: "read", Taint: "web", Person: "marco", Parts: []channels.Body{{Text: "read"}}})
		hold := h.Hold()
		for _, id := range []channels.MessageID{"p1", "p2"} {
			h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent, PlatformID: id})
		}
		conv := channels.Conversation{Channel: "tg", ID: "c"}
		for id, want := range map[channels.MessageID]struct {
			text  string
			taint tools.Taint
		}{"m1": {"passed on", "forwarded"}, "p1": {"clean", ""}, "p2": {"read", "web"}} {
			if text, taint, err := h.Router.Shown(h.Ctx, conv, id, "marco"); err != nil || text != want.text || taint != want.taint {
				t.Errorf("%s: %q, %q, %v", id, text, taint, err)
			}
		}
		if _, taint, err := h.Router.Shown(h.Ctx, conv, "p1", "bob"); err != nil || taint != tools.Others {
			t.Errorf("what marco was answered is %q to bob, %v", taint, err)
		}
		if text, _, err := h.Router.Shown(h.Ctx, conv, "m2", "marco"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a stranger's: %q, %v", text, err)
		}
	})
}
