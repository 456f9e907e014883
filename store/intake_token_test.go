package store_test

import (
	"fmt"
	"sync"
	"testing"

	"switchboard/router/intake"
	"switchboard/store/storetest"
)

// A session in which programs write belongs to who wrote first, also of two who do so at once. Nothing is kept of the other's
// message, which may come again elsewhere; in a chat of a platform whoever writes last has it.
func TestSessionOfProgramsBelongsToWhoWroteFirst(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		write := func(conv, key, person, token string) intake.Entry {
			e := storetest.By(storetest.Entry(conv, key, "hello"), person)
			e.Event.Sender.Token = token
			return e
		}
		for n := range 10 {
			conv := fmt.Sprint("new", n)
			var both [2]intake.Accepted
			var writers sync.WaitGroup
			for i, person := range []string{"marco", "anna"} {
				writers.Go(func() {
					got, err := h.Router.Accept(h.Ctx, h.Engine.ID(), []intake.Entry{write(conv, conv+person, person, "t")})
					if err != nil {
						t.Error(err)
						return
					}
					both[i] = got[0]
				})
			}
			writers.Wait()
			first := 0
			if both[0].Outcome == intake.OutcomeTaken {
				first = 1
			}
			if got, other := both[first], both[1-first]; got.TurnID == 0 || other.Outcome != intake.OutcomeTaken || other.MessageID != 0 || other.TurnID != 0 {
				t.Errorf("%+v and %+v", got, other)
			}
			person, another := "marco", "anna"
			if first == 1 {
				person, another = another, person
			}
			info, err := h.Router.SessionInfo(h.Ctx, "tg:"+conv)
			if err != nil || info.Person != person {
				t.Errorf("it is %q's, %v; want %s", info.Person, err, person)
			}
			again := h.Accept(write("of"+another+conv, conv+another, another, "t"))[0]
			if again.Duplicate || again.TurnID == 0 {
				t.Errorf("the refused message elsewhere: %+v", again)
			}
		}
		h.Accept(write("chat", "1", "marco", ""))
		if a := h.Accept(write("chat", "2", "anna", ""))[0]; a.TurnID == 0 {
			t.Errorf("another person in a chat: %+v", a)
		}
		if info, err := h.Router.SessionInfo(h.Ctx, "tg:chat"); err != nil || info.Person != "anna" {
			t.Errorf("the chat is %q's, %v", info.Person, err)
		}
	})
}
