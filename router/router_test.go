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
	"switchboard/router/routertest"
)

func TestMessageIsAnsweredInItsConversation(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		sent := r.Await(1)
		if sent[0].Text != "re: hello" || sent[0].Conversation != "c1" {
			t.Errorf("sent %+v", sent[0].Post)
		}
		r.Until("the turn is done", func() bool { t := r.Turns(); return len(t) == 1 && t[0].State == "done" })
		r.Until("the event is confirmed", func() bool { return r.Platform.Pending() == 0 })
		r.Until("the delivery is sent", func() bool { return len(r.Deliveries("sent")) == 1 })
	})
}

func TestRedeliveredEventIsOneTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Repeat(5)
		for i := range 5 {
			r.Platform.Say("c1", "ada", fmt.Sprintf("hello %d", i))
		}
		r.Await(5)
		e := routertest.Event(1, "c2", "ada", "again")
		for i := range 5 {
			receipts := r.Accept(e, e)
			if receipts[0].Duplicate != (i > 0) || !receipts[1].Duplicate {
				t.Errorf("redelivery %d: %+v", i, receipts)
			}
		}
		r.Await(6)
		time.Sleep(50 * time.Millisecond)
		r.HasTurns(6)
		if sent := r.Platform.Sent(); len(sent) != 6 {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
	})
}

func TestAnswersKeepTheOrderOfTheirSession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 20
		for i := range n {
			for _, c := range []string{"c1", "c2", "c3"} {
				r.Platform.Say(c, "ada", fmt.Sprint(i))
			}
		}
		r.Start()
		r.Await(3 * n)
		for _, c := range []string{"c1", "c2", "c3"} {
			for i, s := range r.Platform.SentIn(c) {
				if s.Text != fmt.Sprintf("re: %d", i) {
					t.Fatalf("%s: %q", c, routertest.Texts(r.Platform.SentIn(c)))
				}
			}
		}
	})
}

func TestSlowSessionDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held("slow")
		r.Start()
		r.Begins("c1", "ada", "slow")
		r.Platform.Say("c2", "ada", "quick")
		r.Shows(1, "re: quick")
		release()
		r.Await(2)
	})
}

// A rate-limited conversation delays only itself.
func TestSlowConversationDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var first sync.Once
		r.Platform.OnSend(func(p scripted.Post) (f channelstest.Fault) {
			if p.Conversation == "c1" {
				first.Do(func() { f = channelstest.Fault{RateLimited: true, RetryAfter: time.Second} })
			}
			return f
		})
		r.Start()
		r.Platform.Say("c1", "ada", "limited")
		r.Until("the first try is refused", func() bool { return len(r.Platform.Tries()) == 1 })
		r.Platform.Say("c2", "ada", "free")
		r.Shows(1, "re: free")
		r.Await(2)
	})
}

func TestFullQueueSaysSo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.QueuePerSession = 2
		release := r.Brain.Held()
		r.Start()
		r.Begins("c1", "ada", "0")
		for i := 1; i <= 4; i++ {
			r.Platform.Say("c1", "ada", fmt.Sprint(i))
		}
		sent := r.Await(2)
		for _, s := range sent {
			if !strings.Contains(s.Text, "busy with 2 earlier messages") {
				t.Errorf("sent %q", s.Text)
			}
		}
		// Commands need neither queue nor worker.
		r.Platform.Say("c1", "ada", "/status")
		r.Mentions(3, "running", "Messages waiting: 2")
		release()
		r.Await(6)
	})
}

func TestCommandsNeedNoWorker(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 1
		release := r.Brain.Held()
		r.Start()
		r.Begins("c1", "ada", "busy")
		r.Platform.Say("c2", "bob", "waits")
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
			r.Platform.Say("c2", "bob", c.command)
			r.Mentions(i+1, c.want)
		}
		release()
		r.Await(8)
	})
}

func TestCancelEndsTheRunningTurnAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if strings.HasPrefix(turn.Message.Text, "long") {
				<-ctx.Done()
			}
			return "re: " + turn.Message.Text, nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "/cancel")
		r.Mentions(1, "nothing of yours to cancel")
		r.Platform.Say("c1", "ada", "long")
		r.Platform.Say("c1", "ada", "next")
		r.Until("it runs", func() bool { return r.Brain.Ran("long") == 1 })
		r.Platform.Say("c1", "ada", "/cancel")
		sent := r.Await(3)
		if sent[1].Text != "Cancelled." || sent[2].Text != "re: next" {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		states := map[string]string{}
		for _, turn := range r.Turns() {
			states[turn.Text] = turn.State
		}
		if states["long"] != "cancelled" {
			t.Errorf("states %v", states)
		}
	})
}

func TestStopWordEndsTheRunningTurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "long" {
				<-ctx.Done()
			}
			return "re: " + turn.Message.Text, nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "stop")
		r.Shows(1, "re: stop")
		r.Begins("c1", "ada", "long")
		r.Platform.Say("c1", "ada", " STOP! ")
		r.Shows(2, "Cancelled.")
	})
}

// Somebody else's turn is only an admin's to cancel.
func TestTurnOfAnotherPersonIsCancelledByAdminsOnly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			<-ctx.Done()
			return "", nil
		}
		r.Start()
		r.Begins("c1", "ada", "hers")
		r.Platform.Say("c1", "bob", "/cancel")
		r.Mentions(1, "nothing of yours")
		r.Platform.Say("c1", "ada", "/cancel")
		r.Shows(2, "Cancelled.")
		r.Begins("c1", "bob", "his")
		r.Platform.Say("c1", "ada", "/cancel")
		r.Shows(3, "Cancelled.")
	})
}

func TestStrangerIsNotAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c9", "eve", "let me in")
		r.Platform.Say("c9", "eve", "/help")
		r.Platform.Say("c1", "ada", "hello")
		r.Shows(1, "re: hello")
		r.Until("the events are confirmed", func() bool { return r.Platform.Pending() == 0 })
		time.Sleep(50 * time.Millisecond)
		r.HasTurns(1)
		if sent := r.Platform.Sent(); len(sent) != 1 {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		if receipts := r.Accept(routertest.Event(9, "c9", "eve", "/help"), routertest.Event(10, "c1", "ada", "/help")); !receipts[0].Silent || receipts[1].Silent {
			t.Errorf("the platform may show that it was taken: %+v", receipts)
		}
	})
}

func TestNewPersonIsReadAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.DM = "open"
		r.Wakes = func(int64) core.Wakes { return nil } // beside which all are read now and then
		r.Start()
		r.Platform.Say("c1", "ada", "first")
		r.Await(1)
		before := r.Lists.Load()
		for i := range 5 {
			r.Platform.Say(fmt.Sprint("n", i), fmt.Sprint("new", i), "let me in")
		}
		r.Await(6)
		if n := r.Lists.Load() - before; n != 0 {
			t.Errorf("all people were read %d times for 5 new ones", n)
		}
		for i := range 5 {
			name := fmt.Sprint("scripted:new", i)
			if p := r.Roster.Named(name); p == nil || p.Seen.IsZero() || r.Roster.Identified(name) != p {
				t.Errorf("%s: %+v", name, p)
			}
		}
	})
}

func TestOpenPolicyMakesPeople(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.DM = "open"
		r.Start()
		r.Platform.Say("c9", "eve", "let me in")
		r.Await(1)
		// Nobody gave them a name but the platform; ada has one of ours.
		r.Platform.Write(scripted.Message{Conversation: "c9", User: "eve", Label: "Eve Ex", Text: "/start"})
		r.Platform.Write(scripted.Message{Conversation: "c9", User: "eve", Label: "Eve Ex", Text: "/whoami"})
		r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Label: "Lady Lovelace", Text: "/start"})
		sent := r.Await(4)
		all := strings.Join(routertest.Texts(sent), "\n")
		for _, want := range []string{"re: let me in", "Hello Eve Ex.", "You are Eve Ex, role user", "Your account there is scripted:eve", "Hello ada."} {
			if !strings.Contains(all, want) {
				t.Errorf("nobody says %q: %q", want, routertest.Texts(sent))
			}
		}
	})
}

func TestBadInputIsRejectedAndKept(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Garble([]byte("{\"id\": tr\x00ue"))
		nul := routertest.Event(1, "c1", "ada", "a\x00b")
		broken := routertest.Event(2, "c1", "ada", "a\xffb")
		noKey := routertest.Event(3, "c1", "ada", "no key")
		noKey.Key = ""
		longID := routertest.Event(4, strings.Repeat("x", 5000), "ada", "long ID")
		oddKind := routertest.Event(5, "c1", "ada", "odd kind")
		oddKind.Conversation.Kind = "odd\x00\xff"
		receipts := r.Accept(nul, broken, noKey, longID, oddKind)
		for i, want := range []string{"NUL", "UTF-8", "no key", "readable ID", "kind of conversation"} {
			if !strings.Contains(receipts[i].Rejected, want) {
				t.Errorf("receipt %d: %+v, want %s", i, receipts[i], want)
			}
		}
		r.Until("the garbled event is confirmed", func() bool { return r.Platform.Pending() == 0 })
		list, err := r.DB.Router().Rejected(t.Context(), 10)
		if err != nil || len(list) != 6 {
			t.Errorf("rejected: %+v, %v", list, err)
		}
		r.Platform.Say("c1", "ada", "   \n\t ")
		r.Platform.Say("c1", "ada", strings.Repeat("ä", 33<<10))
		sent := r.Await(2)
		if !strings.Contains(sent[0].Text, "empty") || !strings.Contains(sent[1].Text, "66 KB long; I take up to 64 KB") {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		for i, text := range []string{"שלום עולם", "𝒳 😀 👩‍👩‍👧‍👦", strings.Repeat("x", 64<<10)} {
			r.Platform.Say("c1", "ada", text)
			r.Shows(i+3, "re: "+text)
		}
	})
}

func TestTooManyMessagesAreRefusedWithANotice(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.RatePerson = "2/m"
		r.Start()
		for i := range 3 {
			r.Platform.Say("c1", "ada", fmt.Sprint(i))
			r.Await(i + 1)
		}
		if last := r.Platform.Sent()[2].Text; !strings.Contains(last, "too fast: I read ") {
			t.Errorf("sent %q", last)
		}
		for range 3 { // kept, and not told of each
			r.Platform.Say("c1", "ada", "more")
		}
		r.Until("all is taken", func() bool { return r.Platform.Pending() == 0 })
		r.Platform.Say("c2", "bob", "hello") // behind them
		r.Shows(4, "re: hello")
	})
}

// A turn that breaks the program is tried again, then given up, and said so; it
// takes nobody else down.
func TestTurnThatPanicsIsGivenUpAlone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Brain.Think = func(_ context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text == "panic" {
				panic("on purpose")
			}
			return "re: " + turn.Message.Text, nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "panic")
		r.Platform.Say("c2", "bob", "fine")
		r.Await(1)
		sent := r.Await(2)
		if sent[0].Text != "re: fine" || !strings.Contains(sent[1].Text, "broke") {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		if strings.Contains(sent[1].Text, "on purpose") {
			t.Error("internal text reached a conversation")
		}
		if n := r.Brain.Ran("panic"); n != 3 {
			t.Errorf("tried %d times", n)
		}
	})
}

func TestStopHandsBackAndResumes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held()
		r.Start()
		r.Platform.Say("c1", "ada", "long")
		r.Platform.Say("c1", "ada", "next")
		r.Until("it runs", func() bool { return r.Brain.Ran("long") == 1 })
		first := r.Router
		r.End()
		if _, err := first.Accept(t.Context(), []channels.Event{routertest.Event(1, "c2", "ada", "late")}); err == nil {
			t.Error("taken in after the end")
		}
		r.Platform.Say("c1", "ada", "written while down")
		release()
		r.Start()
		r.Reads("re: long", "re: next", "re: written while down")
	})
}

// A sink that cannot commit takes nothing, and the platform tells it again.
func TestAcceptFailsWhole(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Store = func(l router.Store) router.Store { return picky{l} }
		r.Start()
		if _, err := r.Router.Accept(t.Context(), []channels.Event{routertest.Event(2, "c1", "ada", "y"), routertest.Event(1, "c1", "ada", "away")}); err == nil {
			t.Fatal("a batch was taken while the database is away")
		}
		r.HasTurns(0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.Router.Accept(ctx, []channels.Event{routertest.Event(3, "c1", "ada", "z")})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller: %v", err)
		}
	})
}
