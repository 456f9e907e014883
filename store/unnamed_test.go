package store_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// What ended unknown is named once, to the conversation that it was said in, by the engine that
// holds the channel then; /resend sends it again once, and what is not lost stays as it is.
func TestLostPartsAreNamedOnceAndSentAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		hold := h.Hold()
		unnamed := func() (ids []int64) {
			t.Helper()
			list, err := h.Router.Unnamed(h.Ctx, hold)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range list {
				if u.Conversation.ID != "c1" || u.Written.IsZero() {
					t.Errorf("%+v", u)
				}
				ids = append(ids, u.Delivery)
			}
			return ids
		}
		h.says("1", "a", "b")
		twice := lost
		twice.Outcome, twice.Unnamed = "unknown_twice", true
		h.become(hold, uncertain)
		fresh := repeat
		fresh.Fresh = true
		h.become(hold, fresh)
		first := h.become(hold, twice)
		if first.FirstTry.Before(first.LastTry) {
			t.Errorf("the time of the repeat is counted from %s, and it began at %s", first.FirstTry, first.LastTry)
		}
		asked := lost
		asked.Unnamed = true
		h.become(hold, uncertain)
		second := h.become(hold, asked)
		if got := unnamed(); !slices.Equal(got, []int64{first.ID, second.ID}) {
			t.Fatalf("unnamed: %v", got)
		}
		list, err := h.Router.Unnamed(h.Ctx, hold)
		if err != nil {
			t.Fatal(err)
		}
		former := hold
		former.Fence--
		notice := outbox.Reply{Text: "they may be lost", Notice: true, Parts: []channels.Body{{Text: "they may be lost"}}}
		if err := h.Router.Name(h.Ctx, former, list, notice); err == nil {
			t.Error("a former holder names them")
		}
		for range 2 { // its answer may be lost
			if err := h.Router.Name(h.Ctx, hold, list, notice); err != nil {
				t.Fatal(err)
			}
		}
		if got := unnamed(); len(got) > 0 {
			t.Errorf("still unnamed: %v", got)
		}
		if got := h.parts(); !slices.Equal(got, []string{"unknown unknown_twice", "unknown cannot_ask", "pending "}) {
			t.Fatalf("%q", got)
		}
		for _, want := range []int{1, 0} {
			c := &outbox.Resend{Conversation: first.Conversation}
			if err := h.Router.Change(h.Ctx, c, core.Actor{Person: "ada"}); err != nil || c.Messages != want || c.Looked != (want == 1) {
				t.Errorf("%+v, %v", c, err)
			}
		}
		if got := h.parts(); !slices.Equal(got, []string{"pending by_hand", "unknown by_hand", "pending "}) {
			t.Fatalf("%q", got)
		}
		if d := h.become(hold, sent); d.ID != first.ID || !d.Repeated {
			t.Errorf("sent first: %+v", d)
		}
		h.become(hold, sent)
		h.become(hold, sent)
		h.says("2", "c")
		h.become(hold, uncertain)
		old := h.become(hold, asked)
		storetest.Exec(t, h.DB, "UPDATE deliveries SET updated_at = updated_at - "+strconv.FormatInt((outbox.ResendWithin+time.Hour).Microseconds(), 10))
		c := &outbox.Resend{Conversation: old.Conversation}
		if err := h.Router.Change(h.Ctx, c, core.Actor{Person: "ada"}); err != nil || c.Messages != 0 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}
