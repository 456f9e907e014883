package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/core"
)

func TestMessageIsAnsweredInItsConversation(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.platform.Say("c1", "ada", "hello")
		sent := r.await(1)
		if sent[0].Text != "re: hello" || sent[0].Conversation != "c1" {
			t.Errorf("sent %+v", sent[0].Post)
		}
		r.until("the turn is done", func() bool { t := r.turns(); return len(t) == 1 && t[0].State == "done" })
		r.until("the event is confirmed", func() bool { return r.platform.Pending() == 0 })
		r.until("the delivery is sent", func() bool { return len(r.deliveries("sent")) == 1 })
	})
}

func TestRedeliveredEventIsOneTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.platform.Repeat(5)
		for i := range 5 {
			r.platform.Say("c1", "ada", fmt.Sprintf("hello %d", i))
		}
		r.await(5)
		e := event(1, "c2", "ada", "again")
		for i := range 5 {
			receipts := r.accept(e, e)
			if receipts[0].Duplicate != (i > 0) || !receipts[1].Duplicate {
				t.Errorf("redelivery %d: %+v", i, receipts)
			}
		}
		r.await(6)
		time.Sleep(50 * time.Millisecond)
		r.hasTurns(6)
		if sent := r.platform.Sent(); len(sent) != 6 {
			t.Errorf("sent %q", texts(sent))
		}
	})
}

func TestAnswersKeepTheOrderOfTheirSession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 20
		for i := range n {
			for _, c := range []string{"c1", "c2", "c3"} {
				r.platform.Say(c, "ada", fmt.Sprint(i))
			}
		}
		r.start()
		r.await(3 * n)
		for _, c := range []string{"c1", "c2", "c3"} {
			for i, s := range r.platform.SentIn(c) {
				if s.Text != fmt.Sprintf("re: %d", i) {
					t.Fatalf("%s: %q", c, texts(r.platform.SentIn(c)))
				}
			}
		}
	})
}

func TestSlowSessionDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.brain.held("slow")
		r.start()
		r.begins("c1", "ada", "slow")
		r.platform.Say("c2", "ada", "quick")
		r.shows(1, "re: quick")
		release()
		r.await(2)
	})
}

// A rate-limited conversation delays only itself.
func TestSlowConversationDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var first sync.Once
		r.platform.OnSend(func(p scripted.Post) (f channelstest.Fault) {
			if p.Conversation == "c1" {
				first.Do(func() { f = channelstest.Fault{RateLimited: true, RetryAfter: time.Second} })
			}
			return f
		})
		r.start()
		r.platform.Say("c1", "ada", "limited")
		r.until("the first try is refused", func() bool { return len(r.platform.Tries()) == 1 })
		r.platform.Say("c2", "ada", "free")
		r.shows(1, "re: free")
		r.await(2)
	})
}

func TestFullQueueSaysSo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.QueuePerSession = 2
		release := r.brain.held()
		r.start()
		r.begins("c1", "ada", "0")
		for i := 1; i <= 4; i++ {
			r.platform.Say("c1", "ada", fmt.Sprint(i))
		}
		sent := r.await(2)
		for _, s := range sent {
			if !strings.Contains(s.Text, "busy with 2 earlier messages") {
				t.Errorf("sent %q", s.Text)
			}
		}
		// Commands need neither queue nor worker.
		r.platform.Say("c1", "ada", "/status")
		r.mentions(3, "running", "Messages waiting: 2")
		release()
		r.await(6)
	})
}

func TestCommandsNeedNoWorker(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.Workers = 1
		release := r.brain.held()
		r.start()
		r.begins("c1", "ada", "busy")
		r.platform.Say("c2", "bob", "waits")
		for i, c := range []struct{ command, want string }{
			{"/help", "/cancel"},
			{"/start", "Hello bob"},
			{"/whoami", "role user"},
			{"/status", "queued"},
			{"/plan", "no plan"},
			{"/nonsense", "/help lists"},
			{"/cancel@bot", ""},
		} {
			if c.want == "" {
				continue
			}
			r.platform.Say("c2", "bob", c.command)
			r.mentions(i+1, c.want)
		}
		release()
		r.await(8)
	})
}

func TestCancelEndsTheRunningTurnAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if strings.HasPrefix(turn.Message.Text, "long") {
				<-ctx.Done()
			}
			return "re: " + turn.Message.Text, nil
		}
		r.start()
		r.platform.Say("c1", "ada", "/cancel")
		r.mentions(1, "nothing of yours to cancel")
		r.platform.Say("c1", "ada", "long")
		r.platform.Say("c1", "ada", "next")
		r.until("it runs", func() bool { return r.brain.ran("long") == 1 })
		r.platform.Say("c1", "ada", "/cancel")
		sent := r.await(3)
		if sent[1].Text != "Cancelled." || sent[2].Text != "re: next" {
			t.Errorf("sent %q", texts(sent))
		}
		states := map[string]string{}
		for _, turn := range r.turns() {
			states[turn.Text] = turn.State
		}
		if states["long"] != "cancelled" {
			t.Errorf("states %v", states)
		}
	})
}

func TestStopWordEndsTheRunningTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "long" {
				<-ctx.Done()
			}
			return "re: " + turn.Message.Text, nil
		}
		r.start()
		r.platform.Say("c1", "ada", "stop")
		r.shows(1, "re: stop")
		r.begins("c1", "ada", "long")
		r.platform.Say("c1", "ada", " STOP! ")
		r.shows(2, "Cancelled.")
	})
}

// Somebody else's turn is only an admin's to cancel.
func TestTurnOfAnotherPersonIsCancelledByAdminsOnly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.brain.think = func(ctx context.Context, turn agent.Turn) (string, error) {
			<-ctx.Done()
			return "", nil
		}
		r.start()
		r.begins("c1", "ada", "hers")
		r.platform.Say("c1", "bob", "/cancel")
		r.mentions(1, "nothing of yours")
		r.platform.Say("c1", "ada", "/cancel")
		r.shows(2, "Cancelled.")
		r.begins("c1", "bob", "his")
		r.platform.Say("c1", "ada", "/cancel")
		r.shows(3, "Cancelled.")
	})
}

func TestStrangerIsNotAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.platform.Say("c9", "eve", "let me in")
		r.platform.Say("c9", "eve", "/help")
		r.platform.Say("c1", "ada", "hello")
		r.shows(1, "re: hello")
		r.until("the events are confirmed", func() bool { return r.platform.Pending() == 0 })
		time.Sleep(50 * time.Millisecond)
		r.hasTurns(1)
		if sent := r.platform.Sent(); len(sent) != 1 {
			t.Errorf("sent %q", texts(sent))
		}
		if receipts := r.accept(event(9, "c9", "eve", "/help"), event(10, "c1", "ada", "/help")); !receipts[0].Silent || receipts[1].Silent {
			t.Errorf("the platform may show that it was taken: %+v", receipts)
		}
	})
}

func TestNewPersonIsReadAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.channel.DM = "open"
		r.wakes = func(int64) core.Wakes { return nil } // beside which all are read now and then
		r.start()
		r.platform.Say("c1", "ada", "first")
		r.await(1)
		before := r.lists.Load()
		for i := range 5 {
			r.platform.Say(fmt.Sprint("n", i), fmt.Sprint("new", i), "let me in")
		}
		r.await(6)
		if n := r.lists.Load() - before; n != 0 {
			t.Errorf("all people were read %d times for 5 new ones", n)
		}
		for i := range 5 {
			name := fmt.Sprint("scripted:new", i)
			if p := r.roster.Named(name); p == nil || p.Seen.IsZero() || r.roster.Identified(name) != p {
				t.Errorf("%s: %+v", name, p)
			}
		}
	})
}

func TestOpenPolicyMakesPeople(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.channel.DM = "open"
		r.start()
		r.platform.Say("c9", "eve", "let me in")
		r.await(1)
		// Nobody gave them a name but the platform; ada has one of ours.
		r.platform.Write(scripted.Message{Conversation: "c9", User: "eve", Label: "Eve Ex", Text: "/start"})
		r.platform.Write(scripted.Message{Conversation: "c9", User: "eve", Label: "Eve Ex", Text: "/whoami"})
		r.platform.Write(scripted.Message{Conversation: "c1", User: "ada", Label: "Lady Lovelace", Text: "/start"})
		sent := r.await(4)
		all := strings.Join(texts(sent), "\n")
		for _, want := range []string{"re: let me in", "Hello Eve Ex.", "You are Eve Ex, role user", "Your account there is scripted:eve", "Hello ada."} {
			if !strings.Contains(all, want) {
				t.Errorf("nobody says %q: %q", want, texts(sent))
			}
		}
	})
}

func TestBadInputIsRejectedAndKept(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		r.platform.Garble([]byte("{\"id\": tr\x00ue"))
		nul := event(1, "c1", "ada", "a\x00b")
		broken := event(2, "c1", "ada", "a\xffb")
		noKey := event(3, "c1", "ada", "no key")
		noKey.Key = ""
		longID := event(4, strings.Repeat("x", 5000), "ada", "long ID")
		oddKind := event(5, "c1", "ada", "odd kind")
		oddKind.Conversation.Kind = "odd\x00\xff"
		receipts := r.accept(nul, broken, noKey, longID, oddKind)
		for i, want := range []string{"NUL", "UTF-8", "no key", "readable ID", "kind of conversation"} {
			if !strings.Contains(receipts[i].Rejected, want) {
				t.Errorf("receipt %d: %+v, want %s", i, receipts[i], want)
			}
		}
		r.until("the garbled event is confirmed", func() bool { return r.platform.Pending() == 0 })
		list, err := r.db.Router().Rejected(t.Context(), 10)
		if err != nil || len(list) != 6 {
			t.Errorf("rejected: %+v, %v", list, err)
		}
		r.platform.Say("c1", "ada", "   \n\t ")
		r.platform.Say("c1", "ada", strings.Repeat("ä", 33<<10))
		sent := r.await(2)
		if !strings.Contains(sent[0].Text, "empty") || !strings.Contains(sent[1].Text, "66 KB long; I take up to 64 KB") {
			t.Errorf("sent %q", texts(sent))
		}
		for i, text := range []string{"שלום עולם", "𝒳 😀 👩‍👩‍👧‍👦", strings.Repeat("x", 64<<10)} {
			r.platform.Say("c1", "ada", text)
			r.shows(i+3, "re: "+text)
		}
	})
}

func TestTooManyMessagesAreRefusedWithANotice(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.RatePerson = "2/m"
		r.start()
		for i := range 3 {
			r.platform.Say("c1", "ada", fmt.Sprint(i))
			r.await(i + 1)
		}
		if last := r.platform.Sent()[2].Text; !strings.Contains(last, "too fast: I read ") {
			t.Errorf("sent %q", last)
		}
		for range 3 { // kept, and not told of each
			r.platform.Say("c1", "ada", "more")
		}
		r.until("all is taken", func() bool { return r.platform.Pending() == 0 })
		r.platform.Say("c2", "bob", "hello") // behind them
		r.shows(4, "re: hello")
	})
}

// A turn that breaks the program is tried again, then given up, and said so; it
// takes nobody else down.
func TestTurnThatPanicsIsGivenUpAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.brain.think = func(_ context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "panic" {
				panic("on purpose")
			}
			return "re: " + turn.Message.Text, nil
		}
		r.start()
		r.platform.Say("c1", "ada", "panic")
		r.platform.Say("c2", "bob", "fine")
		r.await(1)
		sent := r.await(2)
		if sent[0].Text != "re: fine" || !strings.Contains(sent[1].Text, "broke") {
			t.Errorf("sent %q", texts(sent))
		}
		if strings.Contains(sent[1].Text, "on purpose") {
			t.Error("internal text reached a conversation")
		}
		if n := r.brain.ran("panic"); n != 3 {
			t.Errorf("tried %d times", n)
		}
	})
}

func TestStopHandsBackAndResumes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.brain.held()
		r.start()
		r.platform.Say("c1", "ada", "long")
		r.platform.Say("c1", "ada", "next")
		r.until("it runs", func() bool { return r.brain.ran("long") == 1 })
		first := r.router
		r.end()
		if _, err := first.Accept(t.Context(), []channels.Event{event(1, "c2", "ada", "late")}); err == nil {
			t.Error("taken in after the end")
		}
		r.platform.Say("c1", "ada", "written while down")
		release()
		r.start()
		r.reads("re: long", "re: next", "re: written while down")
	})
}

// A sink that cannot commit takes nothing, and the platform tells it again.
func TestAcceptFailsWhole(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.ledger = func(l router.Ledger) router.Ledger { return picky{l} }
		r.start()
		if _, err := r.router.Accept(t.Context(), []channels.Event{event(2, "c1", "ada", "y"), event(1, "c1", "ada", "away")}); err == nil {
			t.Fatal("a batch was taken while the database is away")
		}
		r.hasTurns(0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.router.Accept(ctx, []channels.Event{event(3, "c1", "ada", "z")})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller: %v", err)
		}
	})
}
