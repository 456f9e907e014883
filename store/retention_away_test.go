package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store"
)

// What waits for a channel that is away is bounded: the oldest messages are dropped whole, what may be
// on its way stays, and it is named to the conversation, listed, and not sent again.
func TestWhatWaitsForAChannelThatIsAwayIsBounded(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var told []string
		connected := false
		keep := store.Retention{
			Turns: 300 * day, Strangers: 300 * day, Prompts: 300 * day, Audit: 300 * day, Runs: 300 * day, Sessions: 300 * day, AwayLimit: 4,
			Connected:  func(string) bool { return connected },
			DroppedFor: func(channel string, parts int64) { told = append(told, fmt.Sprint(channel, " ", parts)) },
		}
		hold := h.Hold()
		for i := range 7 {
			h.says(fmt.Sprint(i), "a", "b")
		}
		uncertainHead := h.become(hold, uncertain)
		notice := outbox.Reply{Text: "n", Notice: true, Parts: []channels.Body{{Text: "n"}}}
		if _, err := h.Router.Notify(h.Ctx, []byte("n"), channels.Conversation{Channel: "tg", ID: "c2", Kind: channels.Direct}, notice); err != nil {
			t.Fatal(err)
		}
		is := func(what string, states map[string]int, said ...string) {
			t.Helper()
			got := map[string]int{}
			for _, state := range h.parts() {
				got[state]++
			}
			if fmt.Sprint(got) != fmt.Sprint(states) || !slices.Equal(told, said) {
				t.Errorf("%s: %v, told %q", what, got, told)
			}
		}
		all := map[string]int{"unknown no_answer": 1, "pending ": 14}
		h.sweep(keep)
		is("for a moment", all)
		h.later(2 * time.Hour)
		connected = true
		h.sweep(keep)
		is("connected", all)
		connected = false
		h.sweep(keep)
		h.sweep(keep)
		bounded := map[string]int{"unknown no_answer": 1, "pending ": 3, "dropped away": 11}
		is("away", bounded, "tg 11")
		list, err := h.Router.Unnamed(h.Ctx, hold)
		if err != nil || len(list) != 11 || !list[0].Dropped || list[0].Message != uncertainHead.MessageID || list[0].Conversation.ID != "c1" {
			t.Errorf("unnamed: %+v, %v", list, err)
		}
		undelivered, err := h.Router.Undelivered(h.Ctx, 0, 100)
		if err != nil || len(undelivered) != 12 {
			t.Errorf("%d are listed: %v", len(undelivered), err)
		}
		c := &outbox.Resend{Conversation: list[0].Conversation}
		if err := h.Router.Change(h.Ctx, c, core.Actor{Person: "ada"}); err != nil || c.Messages != 0 || c.Dropped != 6 {
			t.Errorf("%+v, %v", c, err)
		}
		keep.AwayLimit = 0
		h.sweep(keep)
		is("any number", bounded, "tg 11")
		h.later(7*day + time.Hour)
		h.sweep(keep)
		is("too old", map[string]int{"unknown no_answer": 1, "dropped away": 14}, "tg 11", "tg 3")
		if list, err = h.Router.Unnamed(h.Ctx, hold); err != nil || slices.ContainsFunc(list, func(u outbox.Unnamed) bool { return u.Notice }) {
			t.Errorf("a notice is named: %+v, %v", list, err)
		}
	})
}
