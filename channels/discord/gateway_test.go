package discord

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
)

// again runs the channel whenever it loses its connection, as the router does, until the test
// ends.
func (r *rig) again(t *testing.T) {
	t.Helper()
	done, ctx := make(chan struct{}), t.Context()
	go func() {
		defer close(done)
		for {
			_ = r.c.Run(ctx, r.Sink)
			if ctx.Err() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { <-done })
	r.until(t, r.Connected)
}

// What breaks a connection costs no event, brings none twice, and needs no new session where the
// platform does not ask for one.
func TestConnectionsThatBreakAreResumed(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		how    func(*discordtest.Server)
		begins int // sessions in all
	}{
		"cut":                       {(*discordtest.Server).DropGateway, 1},
		"half a frame":              {(*discordtest.Server).HalfFrame, 1},
		"asked to connect again":    {(*discordtest.Server).Reconnect, 1},
		"not valid, but resumable":  {func(s *discordtest.Server) { s.Invalidate(true) }, 1},
		"not valid":                 {func(s *discordtest.Server) { s.Invalidate(false) }, 2},
		"closed for an unknown one": {func(s *discordtest.Server) { s.CloseGateway(discordtest.CloseUnknown) }, 1},
		"session timed out":         {func(s *discordtest.Server) { s.CloseGateway(discordtest.CloseTimeout) }, 2},
		"session forgotten": {func(s *discordtest.Server) {
			s.Forget()
			s.DropGateway()
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.again(t)
			r.Say(r.ada.ID, "one")
			r.Took(t, 1)
			broken.how(r.Server)
			r.Say(r.ada.ID, "two")
			r.Say(r.ada.ID, "three")
			r.Took(t, 3)
			if diff := cmp.Diff([]string{"one", "two", "three"}, r.Sink.Texts()); diff != "" {
				t.Error(diff)
			}
			r.until(t, func() bool { return r.Identifies()+r.Resumes() == 2 })
			if n := r.Identifies(); n != broken.begins {
				t.Errorf("%d sessions were begun, want %d; %d resumed", n, broken.begins, r.Resumes())
			}
			if n := r.MostConnections(); n != 1 {
				t.Errorf("%d connections at once", n)
			}
		})
	}
}

// A session is resumed where READY says, not where sessions begin.
func TestSessionsAreResumedAtTheirAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.again(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	asked := len(r.Calls(discordtest.GetGateway))
	r.DropGateway()
	r.until(t, func() bool { return r.Resumes() == 1 })
	if r.c.session.url == "" || !strings.HasSuffix(r.c.session.url, "/gateway-resume") {
		t.Errorf("resumed at %q", r.c.session.url)
	}
	if n := len(r.Calls(discordtest.GetGateway)); n != asked {
		t.Error("the gateway was asked for to resume a session")
	}
}

func TestDeafGatewayIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.ack = 2 * time.Second
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.Freeze(true)
	if err := r.Ended(t); !errors.Is(err, errDeaf) {
		t.Errorf("Run returned %v", err)
	}
	r.Freeze(false)
	r.Say(r.ada.ID, "two")
	r.run(t)
	r.Took(t, 2)
	if r.Identifies() != 1 || r.MostConnections() != 1 {
		t.Errorf("%d sessions, %d connections at once", r.Identifies(), r.MostConnections())
	}
}

// A connection on which nothing comes any more ends by the same clock.
func TestMuteGatewayIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.ack = 2 * time.Second
	r.again(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.Mute()
	r.Say(r.ada.ID, "two")
	r.Took(t, 2)
}

// A heartbeat that the platform asks for is sent at once.
func TestHeartbeatIsSentWhenAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.heartbeat = time.Minute
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.until(t, func() bool {
		r.AskHeartbeat()
		return r.Unacknowledged() == 0
	})
}

func TestRejectedTokenIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.Revoke()
	r.CloseGateway(discordtest.CloseUnauthorized)
	if err := r.Ended(t); !errors.Is(err, channels.ErrUnauthorized) {
		t.Errorf("Run returned %v", err)
	}
	calls := len(r.Calls())
	for range 3 {
		if err := r.c.Run(t.Context(), r.Sink); !errors.Is(err, channels.ErrUnauthorized) {
			t.Errorf("Run returned %v", err)
		}
	}
	if n := len(r.Calls()); n != calls {
		t.Error("the platform was asked again with the same token")
	}
}

// Without the message content the bot is told direct chats and what names it.
func TestWithoutContentTheBotSeesDirectChatsAndItsName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ForbidContent(true)
	r.run(t)
	r.Say(r.ada.ID, "direct")
	r.SayIn(r.general, r.ada.ID, "not for us")
	r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> for us")
	r.Took(t, 2)
	texts := r.Sink.Texts()
	slices.Sort(texts) // of two places
	if diff := cmp.Diff([]string{"direct", "for us"}, texts); diff != "" {
		t.Error(diff)
	}
	findings := r.c.Examine(t.Context())
	if f := findings[1]; !f.Warn || !strings.Contains(f.Fix, "Message Content Intent") {
		t.Errorf("%+v", findings)
	}
}

func TestSessionsAreNotBegunBeyondTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Starts(0)
	r.start(t)
	if err := r.Ended(t); err == nil || !strings.Contains(err.Error(), "session starts") {
		t.Errorf("Run returned %v", err)
	}
	if r.Identifies() != 0 {
		t.Error("a session was begun")
	}
}

func TestShardsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Shards(2)
	r.start(t)
	if err := r.Ended(t); !errors.Is(err, errSharded) {
		t.Errorf("Run returned %v", err)
	}
}

// While nothing is taken, heartbeats go on; more than is kept ends the connection, and all of it
// is told again.
func TestHandoverIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := r.Sink.Hold()
	defer release()
	r.run(t)
	const n = queued + 200
	for i := range n {
		r.SayIn(r.general, r.ada.ID, fmt.Sprint(i))
	}
	if err := r.Ended(t); !errors.Is(err, errBehind) {
		t.Fatalf("Run returned %v", err)
	}
	release()
	r.again(t)
	events := r.Took(t, n)
	for i, e := range events {
		if e.Message.Text != fmt.Sprint(i) {
			t.Fatalf("event %d is %q", i, e.Message.Text)
		}
	}
}

func TestHeartbeatsGoOnWhileTheSinkWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.pace.heartbeat, r.c.pace.ack = 50*time.Millisecond, 5*time.Second
	release := r.Sink.Hold()
	defer release()
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.until(t, func() bool { return r.Sink.Held() > 0 || !wait() })
	time.Sleep(r.c.pace.ack + time.Second)
	if r.Over() {
		t.Fatalf("Run returned %v", r.Ended(t))
	}
	release()
	r.Took(t, 1)
}

// wait gives others a moment; it is always true.
func wait() bool {
	time.Sleep(time.Millisecond)
	return true
}

// After a restart the history since the marks is read: of guilds' channels only where there is
// something newer, of direct chats where somebody was lately. What is told live waits for it.
func TestMissedWhileAwayIsReadFromHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	quiet := r.AddChannel(r.guild, "quiet").ID
	r.run(t)
	r.Say(r.ada.ID, "direct 0")
	r.SayIn(r.general, r.ada.ID, "general 0")
	r.SayIn(quiet, r.ada.ID, "quiet 0")
	r.Took(t, 3)
	r.halt(t)
	want := []string{"direct 0", "general 0", "quiet 0"}
	for i := range 250 {
		want = append(want, fmt.Sprintf("general %d", i+1))
		r.SayIn(r.general, r.ada.ID, want[len(want)-1])
	}
	r.Say(r.ada.ID, "direct 1")
	r.Forget()
	r.c = client(t, r.APIURL(), r.Token())
	r.Break(discordtest.Fault{Method: discordtest.GetMessages, Times: 3, Rejected: discordtest.TooMany(20*time.Millisecond, false)})
	r.run(t)
	r.SayIn(r.general, r.ada.ID, "general live")
	r.Say(r.ada.ID, "direct live")
	events := r.Took(t, len(want)+3)
	var general, direct []string
	for _, e := range events {
		switch {
		case e.Conversation.Kind == channels.Direct:
			direct = append(direct, e.Message.Text)
		case string(e.Conversation.ID) == r.general:
			general = append(general, e.Message.Text)
		}
	}
	if diff := cmp.Diff(append(want[3:len(want):len(want)], "general live"), general[1:]); diff != "" || general[0] != "general 0" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"direct 0", "direct 1", "direct live"}, direct); diff != "" {
		t.Error(diff)
	}
	for _, call := range r.Calls(discordtest.GetMessages) {
		if call.Values["channel"] == quiet {
			t.Error("the history of a channel with nothing newer was read")
		}
	}
}

// Where the bot never heard anything, what was written while it was away comes, too, and before
// what is told live: in direct chats once the person writes again, in guilds at once.
func TestMissedInPlacesWithoutAMarkIsReadBeforeWhatComes(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]int{"a bot that was never there": 0, "a bot that was away": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			bob := r.AddUser("Bob")
			quiet := r.AddChannel(r.guild, "quiet").ID
			if heard > 0 {
				r.run(t)
				r.Say(r.ada.ID, "one")
				r.Took(t, heard)
				r.halt(t)
			}
			r.Say(bob.ID, "missed 1")
			r.Say(bob.ID, "missed 2")
			r.SayIn(quiet, r.ada.ID, "<@"+r.Bot().ID+"> missed")
			r.Forget()
			r.c = client(t, r.APIURL(), r.Token())
			r.run(t)
			r.Took(t, heard+1)
			r.Say(bob.ID, "live 1")
			r.Say(bob.ID, "live 2")
			r.Took(t, heard+5)
			want := []string{"missed", "missed 1", "missed 2", "live 1", "live 2"}
			if diff := cmp.Diff(want, r.Sink.Texts()[heard:]); diff != "" {
				t.Error(diff)
			}
			if calls := len(r.Calls(discordtest.GetMessages)); calls > 2+2*heard {
				t.Errorf("the history was read %d times", calls)
			}
		})
	}
}

// History that was read and not taken when the connection ended is read again.
func TestHistoryThatWasNotTakenIsReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.halt(t)
	r.Say(r.ada.ID, "two")
	r.Forget()
	r.c = client(t, r.APIURL(), r.Token())
	r.Sink.Fail(1 << 30)
	read := len(r.Calls(discordtest.GetMessages))
	r.again(t)
	r.until(t, func() bool { return len(r.Calls(discordtest.GetMessages)) > read })
	time.Sleep(20 * time.Millisecond) // it is being handed in; either way nothing is lost
	r.DropGateway()
	r.until(t, func() bool { return r.Resumes() > 0 })
	r.Sink.Fail(0)
	r.Took(t, 2)
	if diff := cmp.Diff([]string{"one", "two"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

// A platform whose history cannot be read holds back that conversation alone.
func TestUnreadableHistoryHoldsBackItsConversationAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob")
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.halt(t)
	r.Say(r.ada.ID, "two")
	r.Forget()
	r.c = client(t, r.APIURL(), r.Token())
	r.Break(discordtest.Fault{Method: discordtest.GetMessages, Times: -1, Status: 502, Body: "<html>"})
	r.run(t)
	r.Say(r.ada.ID, "three")
	r.SayIn(r.general, bob.ID, "from bob")
	r.Took(t, 2)
	if got := r.Sink.Texts()[1]; got != "from bob" {
		t.Errorf("%q came", got)
	}
	r.halt(t)
	if n := r.Unacknowledged(); n < 2 {
		t.Error("what is held back counts as committed")
	}
	r.Mend()
	r.run(t)
	r.Took(t, 4)
	if diff := cmp.Diff([]string{"one", "from bob", "two", "three"}, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

// Events that are told under load stay in order, through losses.
func TestEventsKeepTheirOrderUnderLoss(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.again(t)
	const n = 300
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i))
		r.Say(r.ada.ID, want[i])
		switch {
		case i%60 == 30:
			r.DropGateway()
		case i%60 == 50:
			r.Sink.Fail(2)
		}
	}
	r.Took(t, n)
	if diff := cmp.Diff(want, r.Sink.Texts()); diff != "" {
		t.Error(diff)
	}
}

func TestUnreachablePlatformIsNotConnected(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	c := client(t, "http://"+listener.Addr().String(), "MTIzNDU2Nzg5MDEyMzQ1Njc4.x.abcdefghijkl")
	if err := c.Run(t.Context(), channelstest.NewSink()); !errors.Is(err, channels.ErrNotConnected) {
		t.Errorf("Run returned %v", err)
	}
}

// Where the address of a session is gone, it is resumed where the platform says that sessions begin.
func TestSessionWhoseAddressIsGoneIsResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.halt(t)
	r.c.session.url = "ws://127.0.0.1:1/"
	r.Say(r.ada.ID, "two")
	r.again(t)
	r.Took(t, 2)
	if r.Identifies() != 1 || r.Resumes() != 1 {
		t.Errorf("%d sessions, %d resumed", r.Identifies(), r.Resumes())
	}
}

// A session that a killed process left is resumed by the next one, so that also a direct chat that
// nobody heard of, and an edit, are told.
func TestSessionOfAFormerProcessIsResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := r.AddUser("Bob")
	r.run(t)
	first := r.Say(r.ada.ID, "one")
	r.Took(t, 1)
	r.halt(t)
	r.Edit(first.ChannelID, first.ID, "one, changed")
	r.Say(bob.ID, "from bob")
	r.SayIn(r.general, r.ada.ID, "general")
	r.c = client(t, r.APIURL(), r.Token())
	r.run(t)
	r.Took(t, 4)
	texts := r.Sink.Texts()
	if diff := cmp.Diff([]string{"one", "one, changed"}, texts[:2]); diff != "" {
		t.Error(diff)
	}
	if slices.Sort(texts); !slices.Equal(texts, []string{"from bob", "general", "one", "one, changed"}) || r.Identifies() != 1 {
		t.Errorf("%q; %d sessions", texts, r.Identifies())
	}
}
