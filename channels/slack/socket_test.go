package slack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/internal/testkit"
)

// A connection that died unnoticed, or that a frozen engine holds, is told some of the
// messages: they come again later, and before those that followed them.
func TestMessagesOfAnotherConnectionComeInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Retry(300 * time.Millisecond)
	dead, err := r.c.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	testkit.Await(t, "the first is open", patience, func() bool { return r.Sockets() == 1 })
	r.run(t)
	testkit.Await(t, "both are open", patience, func() bool { return r.Sockets() == 2 })
	var want []string
	for n := range 12 {
		want = append(want, strconv.Itoa(n))
		r.Say(r.ada.ID, want[n])
		// Or one event wakes both connections; and what is told to the other one while history is read, after the platform answered, comes
		// behind what follows it within the same read.
		time.Sleep(100 * time.Millisecond)
	}
	_ = dead.Close() // or all tries of the last may go there, and nothing comes that reads history
	r.Took(t, len(want))
	if diff := cmp.Diff(want, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func TestSocketIsOpenedAnew(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"refresh_requested", "warning"} {
		r := newRig(t)
		r.run(t)
		r.Say(r.ada.ID, "one")
		r.Took(t, 1)
		r.Disconnect(reason)
		r.Say(r.ada.ID, "two")
		testkit.Await(t, "another socket is open", patience, func() bool { return r.Opened() == 2 && r.Sockets() == 1 })
		r.Say(r.ada.ID, "three")
		r.Took(t, 3)
		if diff := cmp.Diff([]string{"one", "two", "three"}, r.Sink.Texts()); diff != "" {
			t.Error(diff)
		}
		if r.Over() {
			t.Errorf("%s ended Run: %v", reason, r.Ended(t))
		}
	}
}

func TestAnnouncedEndsThatEndRun(t *testing.T) {
	t.Parallel()
	for reason, says := range map[string]string{"link_disabled": "Socket Mode is switched off", "too_many_websockets": "ten connections"} {
		r := newRig(t)
		r.run(t)
		r.Disconnect(reason)
		err := r.Ended(t)
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, channels.ErrElsewhere) != (reason == "too_many_websockets") {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// A platform that ends each connection at once is not asked without end.
func TestShortConnectionsEndRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	for i := range mostShort + 1 {
		testkit.Await(t, "a socket is open", patience, func() bool { return r.Opened() > i && r.Sockets() > 0 })
		r.Disconnect("refresh_requested")
		testkit.Await(t, "it is closed", patience, func() bool { return r.Opened() > i+1 || r.Sockets() == 0 })
	}
	if err := r.Ended(t); err == nil {
		t.Error("Run returned nil")
	}
}

// What is not committed in time is told again, and committed once; a cut in the middle of
// a frame loses nothing.
func TestEventNotCommittedInTimeIsCommittedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Retry(20 * time.Millisecond)
	release := r.Sink.Hold()
	r.run(t)
	r.Say(r.ada.ID, "one")
	testkit.Await(t, "it is asked", patience, func() bool { return r.Sink.Held() > 0 })
	time.Sleep(60 * time.Millisecond) // it is told again meanwhile
	release()
	r.Took(t, 1)
	testkit.Await(t, "all is acknowledged", patience, func() bool { return r.Pending() == 0 })
	r.HalfFrame()
	if err := r.Ended(t); err == nil {
		t.Error("a cut frame ends Run with nil")
	}
	r.Say(r.ada.ID, "two")
	r.run(t)
	r.Took(t, 2)
	if diff := cmp.Diff([]string{"one", "two"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func TestPressThatIsNotCommittedInTimeIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.interaction = 50 * time.Millisecond
	r.run(t)
	out := outbound(r.direct(), "Which?", "n")
	out.Body.Buttons = []channels.Button{{Label: "Left", Code: "l"}}
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	release := r.Sink.Hold()
	defer release()
	r.Say(r.ada.ID, "first") // what is being handed in, and takes long, is not waited for
	testkit.Await(t, "it is asked", patience, func() bool { return r.Sink.Held() == 1 })
	r.Sink.Fail(1) // of the press: its time is over first
	press := r.Press(r.Direct(r.ada.ID), r.ada.ID, string(id), "Left")
	testkit.Await(t, "it is answered", patience, func() bool { return r.Answered(press).Done && r.Answered(press).Text == notConfirmed })
}

// While history is read no more is taken off the socket than is held back. All of it comes then, in
// order; where history cannot be read it waits no longer.
func TestWhatIsHeldBackIsBounded(t *testing.T) {
	t.Parallel()
	const all = 2 * mostHeld
	for want, why := range map[int]error{all: nil, mostHeld: errors.New("it cannot be read")} {
		r := newRig(t)
		s, err := newSession(t.Context(), r.c, r.Sink, &self{Team: "T1", User: "U0BOT"})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.c.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g := &gap{id: channels.ConversationID(r.Direct(r.ada.ID)), err: why}
		l := &connection{session: s, conn: conn, frames: make(chan []byte, mostFrames), lost: make(chan error, 1), filled: make(chan *gap), gaps: map[channels.ConversationID]*gap{g.id: g}}
		r.Start(t, func(ctx context.Context, _ channels.Sink) error {
			defer conn.Close()
			return l.work(ctx)
		})
		told := make(chan []byte, all)
		for n := range all {
			told <- fmt.Appendf(nil, `{"type":"events_api","envelope_id":"e%d","payload":{"event":{"type":"message","channel_type":"im","channel":%q,"user":%q,"text":"%d","ts":"17000%05d.000001"}}}`,
				n, g.id, r.ada.ID, n, n)
		}
		for range mostHeld {
			l.frames <- <-told
		}
		var next []byte
		for taken := true; taken; {
			if len(told) == 0 {
				t.Fatal("all of them were taken")
			}
			next = <-told
			select {
			case l.frames <- next:
			case <-time.After(300 * time.Millisecond):
				taken = false
			}
		}
		l.filled <- g
		for l.frames <- next; len(told) > 0; {
			l.frames <- <-told
		}
		r.Took(t, want)
		for n, text := range r.Sink.Texts() {
			if text != strconv.Itoa(n) {
				t.Fatalf("%s came as number %d", text, n)
			}
		}
	}
}

// More than is taken at once is not said to be taken: the platform tells it again, or says so to
// whoever pressed.
func TestPressesBeyondTheBoundAreNotAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.interaction = patience // none is answered for its time alone
	r.run(t)
	channel := r.AddChannel("in", r.ada).ID
	release := r.Sink.Hold()
	var presses []string
	for range pressesAtOnce + 4 {
		presses = append(presses, r.Command(channel, r.ada.ID, "/switchboard", "help"))
	}
	testkit.Await(t, "all that are taken wait", patience, func() bool { return r.Sink.Held() == pressesAtOnce })
	time.Sleep(50 * time.Millisecond)
	for _, p := range presses {
		if r.Answered(p).Done {
			t.Error("one that is not committed is acknowledged")
		}
	}
	release()
	r.Took(t, pressesAtOnce)
}

// What was missed in a conversation is kept from nobody by another whose history cannot be read,
// and the connection stays; what comes there waits for a while, and moves no mark.
func TestUnreadableHistoryHoldsBackItsConversationAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob")
	r.run(t)
	r.Say(bob.ID, "bob 1")
	r.Took(t, 1)
	r.Say(r.ada.ID, "ada 1") // the newest mark: it is read first
	r.Took(t, 2)
	r.halt(t)
	bad := r.Direct(r.ada.ID)
	r.AddSilent(bad, r.ada.ID, "ada 2")
	r.AddSilent(r.Direct(bob.ID), bob.ID, "bob 2")
	r.Break(slacktest.Fault{
		Method: "conversations.history", Times: -1, Status: 502, Body: "<html>",
		When: func(c platformtest.Call) bool { return c.Values["channel"] == bad },
	})
	r.c.pace.mostWait = 10 * time.Second // bob's history is read by then
	r.run(t)
	r.Say(r.ada.ID, "ada 3")
	r.Took(t, 4)
	if diff := cmp.Diff([]string{"bob 1", "ada 1", "bob 2", "ada 3"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
	r.Mend()
	r.Took(t, 5)
	if got := r.Sink.Texts()[4]; got != "ada 2" || r.Opened() != 2 {
		t.Errorf("%q came; %d connections", got, r.Opened())
	}
}

// A command that cannot be committed in time is confirmed when it is, and is one.
func TestCommandIsConfirmedOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.interaction = 50 * time.Millisecond
	r.run(t)
	channel := r.AddChannel("in", r.ada).ID
	release := r.Sink.Hold()
	defer release()
	r.Sink.Fail(3)
	press := r.Command(channel, r.ada.ID, "/switchboard", "remind me")
	testkit.Await(t, "it is answered", patience, func() bool { return r.Answered(press).Text == notTaken })
	time.Sleep(100 * time.Millisecond)
	if a := r.Answered(press); a.Text != notTaken || len(r.Sink.Events()) > 0 {
		t.Fatalf("%+v", a)
	}
	release()
	testkit.Await(t, "it is confirmed", patience, func() bool { return r.Answered(press).Text == nowConfirmed })
	if events := r.Sink.Events(); len(events) != 1 || events[0].Message.Text != "/remind me" {
		t.Errorf("%+v", events)
	}
}

func TestCommandsAreTakenWhereTheBotIsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	inside, outside := r.AddChannel("in", r.ada).ID, r.AddForeign("out", r.ada).ID
	press := r.Command(outside, r.ada.ID, "/switchboard", "help")
	testkit.Await(t, "it is answered", patience, func() bool { return r.Answered(press).Done })
	if got := r.Answered(press).Text; got != notHere {
		t.Errorf("%q", got)
	}
	press = r.Command(inside, r.ada.ID, "/switchboard", "usage today")
	e := r.Took(t, 1)[0]
	testkit.Await(t, "it is answered", patience, func() bool { return r.Answered(press).Done })
	if e.Message.Text != "/usage today" || !e.Message.Mentioned || e.Conversation.Place != inside || e.Key == "" {
		t.Errorf("%+v", e)
	}
}

// What is said to a slash command in a channel, and to a button under that, is shown to whoever gave it
// alone; in a direct chat it is said as anything else.
func TestSlashCommandInAChannelAnswersOnlyThePerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob Noyce")
	channel := r.AddChannel("general", r.ada, bob).ID
	r.run(t)
	r.Command(channel, r.ada.ID, "/switchboard", "status")
	e := r.Took(t, 1)[0]
	answer := outbound(e.Conversation, "as you asked", "n1")
	answer.ReplyTo, answer.Body.Buttons = e.Message.ID, []channels.Button{{Label: "More", Code: "more"}}
	if _, err := r.c.Draft(t.Context(), "", answer); err == nil {
		t.Error("it is a draft, which everybody sees")
	}
	id, err := r.c.Send(t.Context(), answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.c.RemoveButtons(t.Context(), e.Conversation, id); err == nil {
		t.Error("its buttons are off, which nobody can take off")
	}
	if _, _, err := r.c.Find(t.Context(), answer); err == nil {
		t.Error("it is known whether it was shown")
	}
	shown := r.OnlyFor(channel, r.ada.ID)
	if len(shown) != 1 || shown[0].Seen != "as you asked" || len(shown[0].Buttons) != 1 || len(r.FromBot(channel)) > 0 || len(r.OnlyFor(channel, bob.ID)) > 0 {
		t.Fatalf("%+v; everybody sees %+v", shown, r.FromBot(channel))
	}
	r.Press(channel, r.ada.ID, shown[0].TS, "More")
	pressed := r.Took(t, 2)[1]
	answer.ReplyTo, answer.Body = pressed.Message.ID, channels.Body{Text: "and more"}
	if _, err := r.c.Send(t.Context(), answer); err != nil || pressed.Conversation != e.Conversation || pressed.Action.Code != "more" {
		t.Errorf("%+v, %v", pressed, err)
	}
	if n := len(r.OnlyFor(channel, r.ada.ID)); n != 2 || len(r.FromBot(channel)) > 0 {
		t.Errorf("ada sees %d; everybody sees %+v", n, r.FromBot(channel))
	}
	answer.Body = channels.Body{Files: []channels.File{{Name: "all.txt"}}}
	if refused, ok := errors.AsType[*channels.RefusedError](func() error { _, err := r.c.Send(t.Context(), answer); return err }()); !ok || refused.Temporary {
		t.Error("everybody sees a file that one person asked for")
	}
	r.Command(r.Direct(r.ada.ID), r.ada.ID, "/switchboard", "status")
	answer = outbound(r.direct(), "in the chat", "n2")
	answer.ReplyTo = r.Took(t, 3)[2].Message.ID
	if _, err := r.c.Send(t.Context(), answer); err != nil || len(r.FromBot(r.Direct(r.ada.ID))) != 1 {
		t.Errorf("%v, %+v", err, r.FromBot(r.Direct(r.ada.ID)))
	}
}

// An agent's thread shows that it is at work, or waits for somebody; its stop button
// says /cancel.
func TestAgentsThreadShowsTheTurnsState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Agent()
	r.run(t)
	channel := r.AddChannel("general", r.ada).ID
	root := r.Post(slacktest.Post{Channel: channel, User: r.ada.ID, Text: "@switchboard hello"})
	here := r.Took(t, 1)[0].Conversation
	if err := r.c.ShowTurn(t.Context(), here, channels.MessageID(root.TS), channels.TurnWorking); err != nil || r.Status(channel, root.TS) != "processing" {
		t.Fatalf("%q, %v", r.Status(channel, root.TS), err)
	}
	r.Stop(channel, r.ada.ID, root.TS)
	if e := r.Took(t, 2)[1]; e.Message.Text != "/cancel" || e.Conversation.ID != here.ID {
		t.Errorf("%+v", e)
	}
	for state, want := range map[channels.TurnState]string{channels.TurnWaiting: "suspended", channels.TurnDone: "active"} {
		if err := r.c.ShowTurn(t.Context(), here, channels.MessageID(root.TS), state); err != nil || r.Status(channel, root.TS) != want {
			t.Errorf("%q, %v", r.Status(channel, root.TS), err)
		}
	}
	if n := len(r.Calls("reactions.add")); n > 0 {
		t.Errorf("%d reactions beside the status", n)
	}
}

// A reply in a thread of a direct chat is said in that chat, be the app an agent or not; so is its stop
// button. The bot is at work on the message there.
func TestThreadOfADirectChatIsThatChat(t *testing.T) {
	t.Parallel()
	for _, agent := range []bool{false, true} {
		t.Run(fmt.Sprint("agent ", agent), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if agent {
				r.Agent()
			}
			r.run(t)
			root := r.Say(r.ada.ID, "hello")
			reply := r.Post(slacktest.Post{Channel: r.direct().Place, User: r.ada.ID, Thread: root.TS, Text: "and in the thread"})
			r.Took(t, 2)
			r.Stop(r.direct().Place, r.ada.ID, root.TS)
			for _, e := range r.Took(t, 3) {
				if e.Conversation != r.direct() {
					t.Errorf("%+v", e)
				}
			}
			if err := r.c.ShowTurn(t.Context(), r.direct(), channels.MessageID(reply.TS), channels.TurnWorking); err != nil || len(r.Calls("reactions.add")) != 1 {
				t.Errorf("%v, %d reactions", err, len(r.Calls("reactions.add")))
			}
		})
	}
}
