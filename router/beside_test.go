package router_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/doctor"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

// keeper keeps channels of which a test comes to its end when it is let.
type keeper struct {
	goOn  chan struct{}
	tests atomic.Int64
}

func (k *keeper) Channels(*time.Location) []doctor.Channel {
	names := []string{"console", "play", "play-2"}
	list := make([]doctor.Channel, len(names))
	for i, name := range names {
		list[i] = doctor.Channel{Status: channels.Status{Name: name, Kind: "scripted", State: channels.StateConnected}, Is: name + " has been *connected*", Rules: "direct allowlist", Fixed: i == 0}
	}
	list[2].State, list[2].LastEvent = channels.StateDisabled, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return list
}

func (k *keeper) TestChannel(ctx context.Context, name string, _ *time.Location) []doctor.Finding {
	k.tests.Add(1)
	if name == "play-2" {
		panic("a broken adapter")
	}
	select {
	case <-k.goOn:
	case <-ctx.Done():
	}
	return []doctor.Finding{{OK: true, Text: "the token is good: @*bot*"}, {Text: "it is deaf", Fix: "shout"}}
}

func (r *rig) kept() *keeper {
	k := &keeper{goOn: make(chan struct{})}
	r.Commands = doctor.ChannelCommands(k, nil)
	return k
}

// What a command has go on beside keeps nobody waiting, and is answered once, when it is done.
func TestWhatGoesOnBesideKeepsNobodyWaiting(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		k := r.kept()
		r.Channel.Groups, r.Channel.RequireMention = "open", false
		r.Start()
		ask := routertest.Event(1, "adas", "ada", "/channel play test")
		for range 2 { // the platform hands it in again
			r.Accept(ask)
		}
		r.Shows(1, "Checking the channel play; I'll report here in a minute.")
		if got := r.Asks("adas", "ada", "hello"); got != "re: hello" {
			t.Errorf("meanwhile she reads %q", got)
		}
		close(k.goOn)
		r.Mentions(3, "play is not well; the check took ", "- the token is good: @*bot*", "FAIL", "it is deaf – fix: shout")
		r.Accept(ask)
		if got := r.Asks("adas", "ada", "/channel play-2 test"); !strings.HasPrefix(got, "Checking") {
			t.Errorf("she reads %q", got)
		}
		r.Mentions(5, "That failed; my log says how.")
		if n := k.tests.Load(); n != 2 {
			t.Errorf("it was tested %d times", n)
		}
		if got := r.Asks("bobs", "bob", "/channel play test"); !strings.Contains(got, "I do not know /channel") {
			t.Errorf("a user reads %q", got)
		}
	})
}

// At most so many things go on beside.
func TestFewThingsGoOnBeside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		k := r.kept()
		r.Start()
		for i := range 4 {
			r.Accept(routertest.Event(i, "adas", "ada", "/channel play test"))
		}
		r.Until("four are at it", func() bool { return k.tests.Load() == 4 })
		r.Accept(routertest.Event(9, "adas", "ada", "/channel play test"))
		r.Until("the fifth is refused", func() bool {
			return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), "I am busy with 4 such things already.")
		})
		close(k.goOn)
		r.Await(10)
	})
}

// An engine that stops says nothing of what it has not done, and does not wait for it.
func TestStopDoesNotWaitForWhatGoesOnBeside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		k := r.kept()
		r.Start()
		r.Platform.Say("adas", "ada", "/channel play test")
		r.Shows(1, "Checking the channel play; I'll report here in a minute.")
		r.End()
		r.Start()
		close(k.goOn)
		if got := r.Asks("adas", "ada", "/channel play test"); !strings.HasPrefix(got, "Checking") {
			t.Errorf("she reads %q", got)
		}
		r.Mentions(3, "play is not well")
		r.SettledAs("sent", 3)
	})
}

// Who was removed meanwhile is told nothing, nor is who is no admin any more.
func TestWhoMayNoMoreHearsNothingOfWhatWentOnBeside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		k := r.kept()
		r.Start()
		change := func(kind people.ChangeKind, name, role string) {
			c := &people.Change{Kind: kind, Person: core.Person{Name: name, Role: role, Identities: []string{"scripted:" + name}}}
			if err := r.Router.Change(t.Context(), c, people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range []string{"eve", "fay"} {
			change(people.ChangeAdd, name, core.RoleAdmin)
			r.Platform.Say(name+"s", name, "/channel play test")
			r.Shows(i+1, "Checking the channel play; I'll report here in a minute.")
		}
		change(people.ChangeRemove, "eve", "")
		change(people.ChangeRole, "fay", core.RoleUser)
		close(k.goOn)
		r.End()
		if sent := routertest.Texts(r.Platform.Sent()); len(sent) != 2 {
			t.Errorf("they read %q", sent)
		}
	})
}

func TestChannelsAreShown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.kept()
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		for _, c := range []struct{ says, want, buttons string }{
			{"/channels", "- play has been *connected* (scripted)\n", "More of console, More of play, More of play-2"},
			{"/channels after play-2", "There are no more channels.", ""},
			{"/channel", "Write: `/channel NAME` says", ""},
			{"/channel play", "play has been *connected*.\n\n- kind scripted\n- direct allowlist", "Test"},
			{"/channel console", "console has been *connected*", ""},
			{"/channel play-2", "the last event came 2026-01-02 04:04:05", "Test, Enable"},
			{"/channel play disable", "Here you speak with me: once it is off I cannot hear you confirm it.", ""},
			{"/channel console disable", "Nobody switches that one on or off", ""},
			{"/channel plai", `There is no channel plai; did you mean play? "/channels" lists them.`, ""},
			{"/channel nothing_like_it", "There is no channel nothing_like_it.", ""},
			{"/channel play explode", "Write: `/channel NAME` says", ""},
		} {
			r.Asks("adas", "ada", c.says)
			sent := r.Platform.SentIn("adas")
			last := sent[len(sent)-1]
			var labels []string
			for _, b := range last.Buttons {
				labels = append(labels, b.Label)
			}
			if got := strings.Join(labels, ", "); !strings.Contains(last.Text, c.want) || got != c.buttons {
				t.Errorf("%s: %q with %q", c.says, last.Text, got)
			}
		}
	})
}

// The doctor's answer is short, and its button asks for all of it.
func TestDoctorIsAskedInADirectChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var once sync.Mutex
		examined := 0
		r.Commands = []commands.Command{doctor.Command(func(context.Context) ([]doctor.Finding, bool) {
			once.Lock()
			defer once.Unlock()
			examined++
			return []doctor.Finding{
				{Check: "data", OK: true, Text: "much room"},
				{Check: "sandbox", OK: true, Warn: true, Text: "not *confined*", Fix: "confine it"},
				{Check: "model", Text: "no answer\nat all", Fix: "try `again`"},
			}, examined == 1
		})}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		r.Asks("adas", "ada", "/doctor")
		r.Mentions(2, "WARN", "sandbox: not *confined* – fix: confine it", "model: no answer at all – fix: try `again`", "3 checks, 1 ok.")
		if got := r.Platform.Sent()[1].Text; strings.Contains(got, "much room") {
			t.Errorf("it says %q", got)
		}
		r.Platform.Press("adas", "ada", "List all")
		r.Mentions(4, "data: much room", "Not everything answered in time.")
		if got := r.Asks("adas", "ada", "/doctor everything"); !strings.Contains(got, "`/doctor all` everything") {
			t.Errorf("she reads %q", got)
		}
		if got := r.Asks("bobs", "bob", "/doctor"); !strings.Contains(got, "I do not know /doctor") {
			t.Errorf("a user reads %q", got)
		}
	})
}
