package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// A platform takes nothing in one conversation for an hour. The others flow, and after
// the hour it gets what it was to get.
func TestConversationLimitedForAnHourDelaysNoOther(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		began := time.Now()
		r.Channel.Rate = "default"
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			if left := time.Hour - time.Since(began); p.Conversation == "slow" && left > 0 {
				return channelstest.Fault{RateLimited: true, RetryAfter: left}
			}
			return channelstest.Fault{}
		})
		r.Start()
		r.Platform.Say("slow", "ada", "hello")
		time.Sleep(time.Second)
		for i := range 30 {
			r.Platform.Say(fmt.Sprint("c", i%10), "bob", fmt.Sprint(i))
			time.Sleep(time.Minute)
			if n := len(r.Deliveries("sent")); n != i+1 {
				t.Fatalf("%d of %d others are sent", n, i+1)
			}
		}
		if n := len(r.Platform.Tries()); n != 31 {
			t.Errorf("%d sends", n)
		}
		time.Sleep(31 * time.Minute)
		if sent := r.Platform.SentIn("slow"); len(sent) != 1 || !strings.HasSuffix(sent[0].Text, "re: hello") {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
	})
}

// One answer has many parts; what comes for others meanwhile goes between them.
func TestLongAnswerLetsOthersIn(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Channel.Rate, r.Script.MaxText = "2/s", 100
		var long atomic.Bool
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "long" {
				long.Store(true)
				return strings.Repeat("many words ", 300), nil
			}
			return "re: " + turn.Message.Text, nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "long")
		time.Sleep(3 * time.Second)
		for i := range 4 {
			r.Platform.Say(fmt.Sprint("other ", i), "bob", "short")
		}
		time.Sleep(3500 * time.Millisecond)
		if n := len(r.Platform.SentIn("c1")); n > 15 || !long.Load() {
			t.Fatalf("the long answer has %d parts shown", n)
		}
		for i := range 4 {
			if n := len(r.Platform.SentIn(fmt.Sprint("other ", i))); n != 1 {
				t.Errorf("other %d reads %d parts", i, n)
			}
		}
	})
}

// A platform counts by the minute in groups alone: the 21st part of an answer waits there,
// and not in a direct conversation, whichever way the sender came to know of it.
func TestLimitsAreThoseOfThePlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  channels.ConversationKind
		parts int // of 30 within 35 seconds
	}{{channels.Direct, 30}, {channels.Group, 20}} {
		for _, restarted := range []bool{false, true} {
			if restarted && c.kind != channels.Direct {
				continue // what was sent before is counted no more
			}
			t.Run(fmt.Sprintf("%s, restarted %v", c.kind, restarted), func(t *testing.T) {
				inTime(t, func(t *testing.T, r *rig) {
					r.Channel.Rate, r.Channel.Groups = "default", "open"
					r.Script.MaxText, r.Script.PerSecond, r.Script.PerConversationSecond, r.Script.PerGroupMinute = 100, 30, 1, 20
					r.Brain.Think = func(context.Context, agent.Turn) (string, error) {
						return strings.Repeat(strings.Repeat("ten chars ", 9)+"\n\n", 30), nil
					}
					r.Start()
					r.Platform.Write(scripted.Message{Conversation: "c1", Kind: string(c.kind), User: "ada", Text: "long", Mentioned: true})
					time.Sleep(2 * time.Second)
					if restarted {
						r.End()
						r.Start()
					}
					time.Sleep(33 * time.Second) // the end sent some, so that more than 20 have to be left
					if n := len(r.Platform.SentIn("c1")); n != c.parts {
						t.Errorf("%d parts are sent after 35 seconds, want %d", n, c.parts)
					}
				})
			})
		}
	}
}
