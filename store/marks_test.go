package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// marked is an entry that says how far a history was read.
func marked(e intake.Entry, conversation, value string) intake.Entry {
	e.Event.Mark = channels.Mark{Conversation: channels.ConversationID(conversation), Value: value}
	return e
}

func TestMarksMoveWithWhatWasTaken(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		marks := func(channel string) (got []channels.Mark) {
			list, err := h.Router.Marks(h.Ctx, channel)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				if m.At.IsZero() {
					t.Errorf("%+v does not say when", m)
				}
				m.At = list[0].At
				got = append(got, channels.Mark{Conversation: m.Conversation, Value: m.Value})
			}
			return got
		}
		want := func(want ...channels.Mark) {
			t.Helper()
			if diff := cmp.Diff(want, marks("tg")); diff != "" {
				t.Error(diff)
			}
		}
		h.Accept(marked(entry("c", "1", "one"), "hall", "1"), marked(entry("c", "2", "two"), "hall", "2"), entry("c", "3", "three"))
		want(channels.Mark{Conversation: "hall", Value: "2"})
		// Also by what is known, and where several round trips are needed.
		press := marked(entry("d", "4", ""), "yard", "7")
		press.Intent = &intake.ActionIntent{Code: outbox.HashCode("x")}
		h.Accept(marked(entry("c", "1", "one"), "hall", "3"))
		h.Accept(press)
		want(channels.Mark{Conversation: "yard", Value: "7"}, channels.Mark{Conversation: "hall", Value: "3"})
		if other := marks("other"); other != nil {
			t.Errorf("of another channel: %v", other)
		}
	})
}
